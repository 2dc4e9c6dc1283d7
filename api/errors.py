"""Failures as the API states them: a Status with code, reason, message, details and causes.

`StatusError` is what a server raises to answer with a Status and what a client raises when it received one. The
constructors give the reasons, codes and messages of apimachinery's `api/errors` to the letter, since clients match on
them. This module must not know HTTP beyond the number of a code.

Resources are named as `pods` or `deployments.apps`, kinds as `Pod` or `Deployment.apps`: a `GroupName` or its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from api import meta_v1 as meta
from api.fields import FieldError, aggregate
from api.rendering import quote

OPTIMISTIC_LOCK: Final = "the object has been modified; please apply your changes to the latest version and try again"
"""The cause of a conflict when the resourceVersion of an update is not the newest."""


class Reason:
    """`Status.reason`: what went wrong, for machines."""

    UNKNOWN: Final = ""
    UNAUTHORIZED: Final = "Unauthorized"
    FORBIDDEN: Final = "Forbidden"
    NOT_FOUND: Final = "NotFound"
    ALREADY_EXISTS: Final = "AlreadyExists"
    CONFLICT: Final = "Conflict"
    GONE: Final = "Gone"
    INVALID: Final = "Invalid"
    SERVER_TIMEOUT: Final = "ServerTimeout"
    STORE_READ_ERROR: Final = "StorageReadError"
    TIMEOUT: Final = "Timeout"
    TOO_MANY_REQUESTS: Final = "TooManyRequests"
    BAD_REQUEST: Final = "BadRequest"
    METHOD_NOT_ALLOWED: Final = "MethodNotAllowed"
    NOT_ACCEPTABLE: Final = "NotAcceptable"
    REQUEST_ENTITY_TOO_LARGE: Final = "RequestEntityTooLarge"
    UNSUPPORTED_MEDIA_TYPE: Final = "UnsupportedMediaType"
    INTERNAL_ERROR: Final = "InternalError"
    EXPIRED: Final = "Expired"
    SERVICE_UNAVAILABLE: Final = "ServiceUnavailable"


class GroupName(NamedTuple):
    """A resource or a kind within its API group; the text is `name` in the core group, else `name.group`."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


Qualified = GroupName | str


def qualified(text: Qualified) -> GroupName:
    """`deployments.apps` taken apart; a `GroupName` passes through."""
    if isinstance(text, GroupName):
        return text
    name, _, group = text.partition(".")
    return GroupName(group, name)


class StatusError(Exception):
    """A failure that is a Status."""

    def __init__(self, status: meta.Status) -> None:
        super().__init__(status.message)
        self.status = status

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason

    @property
    def retry_after_seconds(self) -> int:
        """How long the server asks the client to wait; 0 when it did not."""
        return self.status.details.retry_after_seconds if self.status.details else 0

    @property
    def causes(self) -> list[meta.StatusCause]:
        return self.status.details.causes if self.status.details else []

    def has_cause(self, reason: str) -> bool:
        return any(cause.reason == reason for cause in self.causes)


def is_not_found(error: BaseException) -> bool:
    return isinstance(error, StatusError) and error.reason == Reason.NOT_FOUND


def is_already_exists(error: BaseException) -> bool:
    return isinstance(error, StatusError) and error.reason == Reason.ALREADY_EXISTS


def is_conflict(error: BaseException) -> bool:
    return isinstance(error, StatusError) and error.reason == Reason.CONFLICT


def is_expired(error: BaseException) -> bool:
    """True for both forms of 410: the history asked for is no longer kept."""
    return isinstance(error, StatusError) and error.reason in (Reason.EXPIRED, Reason.GONE)


def is_invalid(error: BaseException) -> bool:
    return isinstance(error, StatusError) and error.reason == Reason.INVALID


def is_forbidden(error: BaseException) -> bool:
    return isinstance(error, StatusError) and error.reason == Reason.FORBIDDEN


def _failure(code: int, reason: str, message: str, details: meta.StatusDetails | None = None) -> StatusError:
    return StatusError(meta.Status(status="Failure", code=code, reason=reason, message=message, details=details))


def _about(item: GroupName, name: str = "", retry_after: int = 0) -> meta.StatusDetails:
    return meta.StatusDetails(group=item.group, kind=item.name, name=name, retry_after_seconds=retry_after)


def not_found(resource: Qualified, name: str) -> StatusError:
    item = qualified(resource)
    return _failure(404, Reason.NOT_FOUND, f"{item} {quote(name)} not found", _about(item, name))


def already_exists(resource: Qualified, name: str) -> StatusError:
    item = qualified(resource)
    return _failure(409, Reason.ALREADY_EXISTS, f"{item} {quote(name)} already exists", _about(item, name))


def generate_name_conflict(resource: Qualified, name: str, retry_after: int) -> StatusError:
    """No free name was found for a `generateName`; `retry_after` in seconds."""
    item = qualified(resource)
    message = f"{item} {quote(name)} already exists, the server was not able to generate a unique name for the object"
    return _failure(409, Reason.ALREADY_EXISTS, message, _about(item, name, retry_after))


def unauthorized(message: str = "") -> StatusError:
    return _failure(401, Reason.UNAUTHORIZED, message or "not authorized")


def forbidden(resource: Qualified, name: str, cause: str) -> StatusError:
    """An action refused by authorization or admission; the resource may be empty (`forbidden: …`)."""
    item = qualified(resource)
    if not item.name and not item.group:
        message = f"forbidden: {cause}"
    elif not name:
        message = f"{item} is forbidden: {cause}"
    else:
        message = f"{item} {quote(name)} is forbidden: {cause}"
    return _failure(403, Reason.FORBIDDEN, message, _about(item, name))


def conflict(resource: Qualified, name: str, cause: str = OPTIMISTIC_LOCK) -> StatusError:
    item = qualified(resource)
    message = f"Operation cannot be fulfilled on {item} {quote(name)}: {cause}"
    return _failure(409, Reason.CONFLICT, message, _about(item, name))


def apply_conflict(causes: Iterable[meta.StatusCause], message: str) -> StatusError:
    """Server-side apply met fields owned by others."""
    return _failure(409, Reason.CONFLICT, message, meta.StatusDetails(causes=list(causes)))


def gone(message: str) -> StatusError:
    return _failure(410, Reason.GONE, message)


def expired(message: str) -> StatusError:
    """The resourceVersion asked for is older than the history kept."""
    return _failure(410, Reason.EXPIRED, message)


def invalid(kind: Qualified, name: str, errors: Sequence[FieldError]) -> StatusError:
    """An object with wrong fields: one cause each, and all of them in the message."""
    item = qualified(kind)
    details = _about(item, name)
    details.causes = [
        meta.StatusCause(reason=error.kind.value, message=error.body, field=str(error.path)) for error in errors
    ]
    message = f"{item} {quote(name)} is invalid"
    if errors:
        message = f"{message}: {aggregate(errors)}"
    return _failure(422, Reason.INVALID, message, details)


def bad_request(message: str) -> StatusError:
    return _failure(400, Reason.BAD_REQUEST, message)


def too_many_requests(message: str, retry_after: int) -> StatusError:
    """Try again after `retry_after` seconds (an eviction a disruption budget refuses, an overloaded server)."""
    return _failure(429, Reason.TOO_MANY_REQUESTS, message, meta.StatusDetails(retry_after_seconds=retry_after))


def service_unavailable(message: str) -> StatusError:
    return _failure(503, Reason.SERVICE_UNAVAILABLE, message)


def method_not_supported(resource: Qualified, action: str) -> StatusError:
    item = qualified(resource)
    message = f"{action} is not supported on resources of kind {quote(str(item))}"
    return _failure(405, Reason.METHOD_NOT_ALLOWED, message, _about(item))


def server_timeout(resource: Qualified, operation: str, retry_after: int) -> StatusError:
    item = qualified(resource)
    message = f"The {operation} operation against {item} could not be completed at this time, please try again."
    return _failure(500, Reason.SERVER_TIMEOUT, message, _about(item, operation, retry_after))


def internal(cause: str) -> StatusError:
    details = meta.StatusDetails(causes=[meta.StatusCause(message=cause)])
    return _failure(500, Reason.INTERNAL_ERROR, f"Internal error occurred: {cause}", details)


def timeout(message: str, retry_after: int = 0) -> StatusError:
    """The request ran out of time; what it asked for may still happen."""
    details = meta.StatusDetails(retry_after_seconds=retry_after)
    return _failure(504, Reason.TIMEOUT, f"Timeout: {message}", details)


def request_entity_too_large(message: str) -> StatusError:
    return _failure(413, Reason.REQUEST_ENTITY_TOO_LARGE, f"Request entity too large: {message}")


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """No media type of the Accept header can be served; `accepted` are those that can."""
    return _failure(406, Reason.NOT_ACCEPTABLE, "only the following media types are accepted: " + ", ".join(accepted))


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """The body's Content-Type is unknown; `accepted` are those that can be read."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return _failure(415, Reason.UNSUPPORTED_MEDIA_TYPE, message)


_GENERIC: Final[dict[int, tuple[str, str]]] = {
    400: (Reason.BAD_REQUEST, "the server rejected our request for an unknown reason"),
    401: (Reason.UNAUTHORIZED, "the server has asked for the client to provide credentials"),
    404: (Reason.NOT_FOUND, "the server could not find the requested resource"),
    405: (Reason.METHOD_NOT_ALLOWED, "the server does not allow this method on the requested resource"),
    409: (Reason.CONFLICT, "the server reported a conflict"),
    422: (Reason.INVALID, "the server rejected our request due to an error in our request"),
    429: (Reason.TOO_MANY_REQUESTS, "the server has received too many requests and has asked us to try again later"),
    503: (Reason.SERVICE_UNAVAILABLE, "the server is currently unable to handle the request"),
    504: (
        Reason.TIMEOUT,
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}


def generic_server_response(
    code: int,
    verb: str,
    resource: Qualified = "",
    name: str = "",
    server_message: str = "",
    retry_after: int = 0,
    unexpected: bool = False,
) -> StatusError:
    """A failure for an HTTP response that carried no Status; `verb` is the HTTP method or API verb used."""
    reason, message = _GENERIC.get(
        code, (Reason.UNKNOWN, f"the server responded with the status code {code} but did not return more information")
    )
    if code == 409 and verb.upper() == "POST":
        reason = Reason.ALREADY_EXISTS
    elif code == 403:
        reason, message = Reason.FORBIDDEN, server_message
    elif code == 415:
        reason, message = Reason.UNSUPPORTED_MEDIA_TYPE, server_message
    elif code == 406:
        unnamed = server_message in ("", "unknown")
        reason = Reason.NOT_ACCEPTABLE
        message = (
            "the server was unable to respond with a content type that the client supports"
            if unnamed
            else server_message
        )
    elif code >= 500 and code not in _GENERIC:
        reason = Reason.INTERNAL_ERROR
        message = f"an error on the server ({quote(server_message)}) has prevented the request from succeeding"
    item = qualified(resource)
    if item.name:
        target = f"{item} {name}" if name else str(item)
        message = f"{message} ({verb.lower()} {target})"
    details = _about(item, name, retry_after)
    if unexpected:
        details.causes = [meta.StatusCause(reason="UnexpectedServerResponse", message=server_message)]
    return _failure(code, reason, message, details)
