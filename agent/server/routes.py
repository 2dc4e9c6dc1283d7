"""The paths of the agent's API, and the permission on the node that each asks for.

A request is authorized as a verb on a subresource of this node. Some paths have a subresource of their own; some of
those may be used with `nodes/proxy` as well, which stands for everything else. Source: kubernetes.io, "Kubelet
authentication/authorization"; KEP-2862.
"""

from __future__ import annotations

from dataclasses import dataclass

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OWN = {"stats": "stats", "metrics": "metrics", "logs": "log", "checkpoint": "checkpoint"}
_OWN_OR_PROXY = {"pods": "pods", "runningpods": "pods", "healthz": "healthz", "configz": "configz"}

READING = ("GET",)
PROBING = ("GET", "HEAD")
STREAMING = ("GET", "POST")  # WebSocket upgrades come as GET
METHODS = {
    "containerLogs": READING, "pods": READING, "runningpods": READING, "configz": READING, "debug": READING,
    "healthz": PROBING, "metrics": PROBING,
    "exec": STREAMING, "attach": STREAMING, "portForward": STREAMING,
}  # fmt: skip
"""What may be done with each action."""


@dataclass(frozen=True, slots=True)
class Route:
    """What a path asks for; `action` is its first part."""

    action: str
    namespace: str = ""
    pod: str = ""
    uid: str = ""
    container: str = ""
    rest: str = ""


def route(path: str) -> Route | None:
    """The route of a path, None for one that is not served."""
    parts = [part for part in path.split("/") if part]
    if not parts:
        return None
    match parts[0], parts[1:]:
        case "containerLogs", [namespace, pod, container]:
            return Route("containerLogs", namespace, pod, "", container)
        case ("exec" | "attach") as action, [namespace, pod, container]:
            return Route(action, namespace, pod, "", container)
        case ("exec" | "attach") as action, [namespace, pod, uid, container]:
            return Route(action, namespace, pod, uid, container)
        case "portForward", [namespace, pod]:
            return Route("portForward", namespace, pod)
        case "portForward", [namespace, pod, uid]:
            return Route("portForward", namespace, pod, uid)
        case ("pods" | "runningpods" | "metrics" | "configz") as action, []:
            return Route(action)
        case "healthz", rest if len(rest) <= 1:
            return Route("healthz", rest="".join(rest))
        case "debug", ["pods"]:
            return Route("debug")
    return None


def is_known(path: str) -> bool:
    """Whether there is something of that name, though not in this form."""
    return path.strip("/").partition("/")[0] in METHODS


def permissions(method: str, path: str) -> tuple[str, list[str]]:
    """The verb of a request, and the subresources of the node of which one must allow it."""
    verb = _VERBS.get(method, method.lower())
    first = path.strip("/").partition("/")[0]
    if first in _OWN:
        return verb, [_OWN[first]]
    return verb, [_OWN_OR_PROXY[first], "proxy"] if first in _OWN_OR_PROXY else ["proxy"]
