"""What can go wrong in a call to the runtime, as one tree.

    CriError                    step, object and cause of any failed call
    ├── NotFound                the sandbox, container or image is not there (any more)
    ├── AlreadyExists
    ├── InvalidArgument
    ├── FailedPrecondition
    ├── PermissionDenied
    ├── ResourceExhausted       a reply over the size limit, or no room in the runtime
    ├── Unimplemented           the runtime is older than the call
    ├── Unavailable             nobody answers on the socket: not started, restarting, gone
    ├── DeadlineExceeded        no answer in time; the effect may or may not have happened
    └── RuntimeFailure          everything else the runtime reports (gRPC UNKNOWN, INTERNAL, …)

gRPC's own exceptions are turned into these at one place, `cri.transport`. Catch the leaf whose meaning matters and let
the others be `CriError`: runtimes disagree about codes, and containerd says UNKNOWN for most of its failures.
"""

from __future__ import annotations


class CriError(Exception):
    """A call to the runtime failed.

    `step` is what was tried ("stop container"), `object` whom it concerned ("container 1f0c…", "" for the runtime as a
    whole), `cause` the runtime's own words.
    """

    code = "Unknown"

    def __init__(self, step: str, object: str, cause: str) -> None:  # noqa: A002 - the field's name in every error of ours
        super().__init__(step, object, cause)
        self.step = step
        self.object = object
        self.cause = cause

    def __str__(self) -> str:
        where = f"{self.object}: {self.step}" if self.object else self.step
        return f"{where}: {self.cause}"

    @property
    def status_text(self) -> str:
        """The failure as Go programs print a gRPC status: upstream's events and conditions carry this form."""
        return f"rpc error: code = {self.code} desc = {self.cause}"


class NotFound(CriError):
    code = "NotFound"


class AlreadyExists(CriError):
    code = "AlreadyExists"


class InvalidArgument(CriError):
    code = "InvalidArgument"


class FailedPrecondition(CriError):
    code = "FailedPrecondition"


class PermissionDenied(CriError):
    code = "PermissionDenied"


class ResourceExhausted(CriError):
    code = "ResourceExhausted"


class Unimplemented(CriError):
    code = "Unimplemented"


class Unavailable(CriError):
    code = "Unavailable"


class DeadlineExceeded(CriError):
    code = "DeadlineExceeded"


class RuntimeFailure(CriError):
    """A failure whose code says nothing more; `code` keeps what the runtime sent."""

    def __init__(self, step: str, object: str, cause: str, code: str = "Unknown") -> None:  # noqa: A002
        super().__init__(step, object, cause)
        self.code = code


_BY_CODE: dict[str, type[CriError]] = {
    leaf.code: leaf
    for leaf in (
        NotFound,
        AlreadyExists,
        InvalidArgument,
        FailedPrecondition,
        PermissionDenied,
        ResourceExhausted,
        Unimplemented,
        Unavailable,
        DeadlineExceeded,
    )
}


def error_for(code: str, step: str, object: str, cause: str) -> CriError:  # noqa: A002
    """The error for a gRPC status code named as Go names it ("NotFound")."""
    leaf = _BY_CODE.get(code)
    if leaf is not None:
        return leaf(step, object, cause)
    return RuntimeFailure(step, object, cause, code)
