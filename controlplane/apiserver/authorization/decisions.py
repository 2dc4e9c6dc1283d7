"""What an authorizer answers, and how a refusal is worded.

Kept apart from the authorizers, so that each of them, admission and the review APIs can speak of decisions without
importing one another.
"""

from __future__ import annotations

from dataclasses import dataclass

from api import errors
from api.rendering import quote
from controlplane.apiserver.request import RequestInfo, User


@dataclass(frozen=True, slots=True)
class Decision:
    """Allowed or not (there is no outright denial here: what nobody allows is refused), and why."""

    allowed: bool
    reason: str = ""


NO_OPINION = Decision(False)

# Quotes are fine in a message, but nothing that a browser could take for HTML.
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden(user: User, info: RequestInfo, reason: str) -> errors.StatusError:
    """The 403 for a request that was not allowed, in upstream's words."""
    message = _refusal(user, info).translate(_HTML)
    if reason:
        message = f"{message}: {reason}"
    return errors.forbidden(errors.GroupName(info.group, info.resource), info.name, message)


def _refusal(user: User, info: RequestInfo) -> str:
    if not info.is_resource:
        return f"User {quote(user.name)} cannot {info.verb} path {quote(info.path)}"
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    scope = f"in the namespace {quote(info.namespace)}" if info.namespace else "at the cluster scope"
    return (
        f"User {quote(user.name)} cannot {info.verb} resource {quote(resource)} "
        f"in API group {quote(info.group)} {scope}"
    )
