"""From method and path to a :class:`RequestInfo`, by the same grammar as upstream.

    /api/{version}/[namespaces/{namespace}/]{resource}[/{name}[/{subresource}…]]
    /apis/{group}/{version}/…          the same for named groups
    …/{version}/watch/…                the older way to ask for a watch

Authorization decides on what this module says, so it parses by form alone and never looks up whether a resource
exists (source: k8s.io/apiserver, request.RequestInfoFactory).
"""

from __future__ import annotations

from urllib.parse import unquote

from controlplane.apiserver.query import Query
from controlplane.apiserver.request import RequestInfo

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

#: Parts of the path after a namespace's name that belong to the namespace itself.
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class MalformedPath(ValueError):
    """The path has the form of a resource request but ends too early."""


def split_target(target: str) -> tuple[str, str]:
    """The request target as decoded path and raw query string."""
    path, _, query = target.partition("?")
    if "%" in path:
        path = unquote(path)
    return path, query


def parse(method: str, path: str, query: Query) -> RequestInfo:
    """What is asked; raises :class:`MalformedPath` for a watch or proxy prefix with nothing behind it."""
    parts = path.strip("/").split("/")
    prefix = parts[0]
    if prefix == "api":
        if len(parts) < 3:
            return RequestInfo(verb=method.lower(), path=path)
        group, rest = "", 1
    elif prefix == "apis":
        if len(parts) < 4:
            return RequestInfo(verb=method.lower(), path=path)
        group, rest = parts[1], 2
    else:
        return RequestInfo(verb=method.lower(), path=path)
    version = parts[rest]
    parts = parts[rest + 1 :]

    by_path = parts[0] in ("watch", "proxy")
    if by_path:
        if len(parts) < 2:
            raise MalformedPath(f"unable to determine kind and namespace from url, {path}")
        verb = parts[0]
        parts = parts[1:]
    else:
        verb = _VERBS.get(method, "")

    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]

    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    field_equals: tuple[tuple[str, str], ...] = ()
    if not name:
        if verb == "get":
            verb = "watch" if query.flag("watch") else "list"
            field_equals = _required_fields(query.first("fieldSelector"))
            name = _single_name(field_equals)
        elif verb == "delete":
            verb = "deletecollection"
    return RequestInfo(verb, group, version, resource, subresource, namespace, name, path, True, field_equals)


def _required_fields(selector: str) -> tuple[tuple[str, str], ...]:
    """The terms of a field selector that demand a value (`a=b`, `a==b`), for authorization to look at."""
    found = []
    for term in selector.split(",") if selector else ():
        field, operator, value = term.partition("=")
        if operator and not field.endswith("!"):
            found.append((field, value.removeprefix("=")))
    return tuple(found)


def _single_name(required: tuple[tuple[str, str], ...]) -> str:
    """The name when a field selector asks for exactly one `metadata.name`, else ""."""
    for field, value in required:
        if field == "metadata.name" and value and value not in (".", "..") and "/" not in value and "%" not in value:
            return value
    return ""


def watches_by_path(path: str) -> bool:
    """Whether the path itself asks for a watch, the older way."""
    parts = path.strip("/").split("/", 4)
    skip = 2 if parts[0] == "api" else 3
    return len(parts) > skip and parts[skip] == "watch"
