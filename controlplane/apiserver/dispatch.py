"""From an authorized request to its handler: one table for resources, one for other paths.

The table is built once, at start, from the scheme. What is not in it does not exist: a path outside the API is a plain
404 as upstream's, a resource or verb inside it a Status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from api import errors
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.metrics import Labels
from controlplane.apiserver.request import RequestInfo

Handler = Callable[[Exchange], Awaitable[Reply | None]]
PathHandler = Callable[[Exchange], Reply]

_VERBS = frozenset(
    {
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
        "head",
        "post",
        "put",
        "options",
    }
)
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_ACROSS_NAMESPACES = frozenset({"list", "watch"})
_NAMELESS = frozenset({"list", "watch", "create", "deletecollection"})


class Endpoint:
    """A resource and what can be done with it. `handlers` are found by (verb, subresource)."""

    __slots__ = ("deprecation", "handlers", "namespaced", "resource", "subresources")

    def __init__(self, resource: errors.GroupName, *, namespaced: bool) -> None:
        self.resource = resource
        self.namespaced = namespaced
        self.handlers: dict[tuple[str, str], Handler] = {}
        self.subresources: set[str] = {""}
        #: A warning that goes with every answer.
        self.deprecation = ""

    def add(self, verb: str, handler: Handler, subresource: str = "") -> None:
        """Serve a verb."""
        self.handlers[verb, subresource] = handler
        self.subresources.add(subresource)


class Dispatcher:
    """The two tables."""

    def __init__(self) -> None:
        self._endpoints: dict[tuple[str, str, str], Endpoint] = {}
        self._paths: dict[str, PathHandler] = {}
        self._prefixes: list[tuple[str, PathHandler]] = []
        self._labels: dict[tuple[str, str, str, str, str], Labels] = {}

    def add_endpoint(self, version: str, endpoint: Endpoint) -> None:
        """Serve a resource under a version of its group."""
        group, plural = endpoint.resource
        self._endpoints[group, version, plural] = endpoint

    def add_path(self, path: str, handler: PathHandler) -> None:
        """Serve one path outside the resources; it need not end in the same slash."""
        self._paths[path.rstrip("/") or "/"] = handler

    def add_prefix(self, prefix: str, handler: PathHandler) -> None:
        """Serve all paths below a prefix (that ends in a slash)."""
        self._prefixes.append((prefix, handler))

    @property
    def paths(self) -> list[str]:
        """All single paths served, sorted."""
        return sorted(self._paths)

    def labels(self, info: RequestInfo) -> Labels:
        """What a request is counted as; unknown resources are all counted as one."""
        verb = info.verb if info.verb in _VERBS else "other"
        if not info.is_resource:
            return (verb, "", "", "", "")
        key = (verb, info.group, info.version, info.resource, info.subresource)
        found = self._labels.get(key)
        if found is None:
            endpoint = self._endpoints.get(key[1:4])
            if endpoint is None:
                return (verb, "", "", "", "")
            if info.subresource not in endpoint.subresources:
                return (*key[:4], "")
            found = self._labels[key] = key
        return found

    async def __call__(self, exchange: Exchange) -> Reply | None:
        """Run the handler of a request; raises StatusError (NotFound, MethodNotAllowed) when there is none."""
        info = exchange.info
        if not info.is_resource:
            return self._serve_path(exchange)
        endpoint = self._endpoints.get((info.group, info.version, info.resource))
        if endpoint is None:
            raise unknown_resource()
        handler = endpoint.handlers.get((info.verb, info.subresource))
        # A path can ask for a watch whatever the method; only GET may.
        misused = exchange.method not in _METHODS or (info.verb == "watch" and exchange.method != "GET")
        if handler is None or misused or not self._fits(endpoint, info):
            raise self._refusal(endpoint, info)
        if endpoint.deprecation:
            exchange.warn(endpoint.deprecation)
        return await handler(exchange)

    def _fits(self, endpoint: Endpoint, info: RequestInfo) -> bool:
        """Whether namespace and name are there where the verb needs them, and not where it does not."""
        if endpoint.namespaced:
            if not info.namespace and (info.verb not in _ACROSS_NAMESPACES or info.subresource):
                return False
        elif info.namespace and info.resource != "namespaces":
            return False
        return info.subresource != "" or (info.verb in _NAMELESS) == (not info.name) or info.verb in ("list", "watch")

    def _refusal(self, endpoint: Endpoint, info: RequestInfo) -> errors.StatusError:
        misplaced = bool(info.namespace) != endpoint.namespaced and info.resource != "namespaces"
        if info.subresource not in endpoint.subresources or (misplaced and info.name):
            return unknown_resource()
        return errors.method_not_supported(endpoint.resource, info.verb or "this method")

    def _serve_path(self, exchange: Exchange) -> Reply:
        path = exchange.path
        handler = self._paths.get(path.rstrip("/") or "/")
        if handler is None:
            for prefix, candidate in self._prefixes:
                if path.startswith(prefix):
                    handler = candidate
                    break
            else:
                return not_found_page()
        if exchange.method not in ("GET", "HEAD"):
            return Reply(405, b"405: Method Not Allowed", "text/plain; charset=utf-8", (("Allow", "GET"),))
        return handler(exchange)


def not_found_page() -> Reply:
    """The answer to paths nobody serves."""
    nosniff = (("X-Content-Type-Options", "nosniff"),)
    return Reply(404, b"404 page not found\n", "text/plain; charset=utf-8", nosniff)


def unknown_resource() -> errors.StatusError:
    """The answer to resources nobody serves, in the words clients put to it."""
    return errors.generic_server_response(404, "GET")
