"""The `continue` token of a paged list, in upstream's form: base64url of {"v":"meta.k8s.io/v1","rv":…,"start":"…"}.

The start key is relative to the prefix that is listed and ends with a NUL: the smallest key behind the last one shown.
A revision of -1 means "go on at the newest", the choice offered to a client whose revision has been compacted.
"""

from __future__ import annotations

import base64
import binascii
import posixpath

import msgspec

NEWEST = -1

_VERSION = "meta.k8s.io/v1"


class InvalidContinue(ValueError):
    """The token was not made here; the message is upstream's."""


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def encode_continue(path: str, revision: int) -> str:
    """The token that goes on behind `path` (the last key shown, relative to the listed prefix)."""
    token = msgspec.json.encode(_Token(_VERSION, revision, path + "\0"))
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode()


def decode_continue(text: str) -> tuple[str, int]:
    """The path behind which to go on, and the revision to do it at. Raises InvalidContinue."""
    try:
        data = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(data, type=_Token)
    except (binascii.Error, UnicodeError, msgspec.DecodeError) as error:
        raise InvalidContinue(f"continue key is not valid: {error}") from error
    if token.v != _VERSION:
        raise InvalidContinue(f"continue key is not valid: server does not recognize this encoded version {token.v}")
    if token.rv == 0:
        raise InvalidContinue(
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        )
    if not token.start:
        raise InvalidContinue("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    rooted = token.start if token.start.startswith("/") else "/" + token.start
    if posixpath.normpath(rooted) != rooted or rooted.startswith("//"):
        raise InvalidContinue(f"continue key is not valid: {token.start}")
    return rooted[1:].removesuffix("\0"), token.rv
