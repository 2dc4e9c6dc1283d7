"""The errors of the CNI protocol, as its specification numbers them (spec 1.1, section "Error").

::

    CniError (code, msg, details)
    ├── IncompatibleVersion      1
    ├── UnsupportedField         2
    ├── UnknownContainer         3   the runtime need not call DEL
    ├── InvalidEnvironment       4
    ├── IOFailure                5
    ├── DecodingFailure          6
    ├── InvalidConfiguration     7
    ├── TryAgainLater           11
    ├── NotAvailable            50   STATUS: no ADD can be served
    ├── LimitedConnectivity     51   STATUS: nor do existing attachments work fully
    └── PluginFailure      100 and up, the plugin's own
"""

from __future__ import annotations

from typing import ClassVar


class CniError(Exception):
    """A failure that a plugin reports, or one of calling it. `msg` is one line, `details` may be longer."""

    default_code: ClassVar[int] = 999

    def __init__(self, msg: str, details: str = "", *, code: int = 0) -> None:
        super().__init__(f"{msg}: {details}" if details else msg)
        self.code = code or self.default_code
        self.msg = msg
        self.details = details


class IncompatibleVersion(CniError):
    default_code = 1


class UnsupportedField(CniError):
    default_code = 2


class UnknownContainer(CniError):
    default_code = 3


class InvalidEnvironment(CniError):
    default_code = 4


class IOFailure(CniError):
    default_code = 5


class DecodingFailure(CniError):
    default_code = 6


class InvalidConfiguration(CniError):
    default_code = 7


class TryAgainLater(CniError):
    default_code = 11


class NotAvailable(CniError):
    default_code = 50


class LimitedConnectivity(CniError):
    default_code = 51


class PluginFailure(CniError):
    default_code = 100


_BY_CODE = {cls.default_code: cls for cls in CniError.__subclasses__()}


def from_code(code: int, msg: str, details: str = "") -> CniError:
    """The error that a plugin's answer with `code` stands for."""
    return _BY_CODE.get(code, PluginFailure if code >= 100 else CniError)(msg, details, code=code)
