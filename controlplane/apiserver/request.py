"""What one request is, and the narrow doors through which its guards see the cluster.

Authentication, authorization and admission are written against these few types and never against the HTTP server,
the store or the caches. This module therefore imports nothing but the nouns, and decides nothing: parsing a path
into a :class:`RequestInfo` lives in :mod:`controlplane.apiserver.routing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from api.meta_v1 import Object
    from api.scheme import Resource

#: A browser's WebSocket cannot set headers, so its token travels as a subprotocol, which nobody speaks.
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."

_NO_EXTRA: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class User:
    """Who asks: the outcome of authentication (upstream's `user.Info`)."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_EXTRA, hash=False)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What is asked, in the words authorization uses (upstream's `request.RequestInfo`).

    `verb` is get, list, watch, create, update, patch, delete or deletecollection for resources, and the lower-case
    HTTP method for other paths. `resource` is the plural; `name` is also set for a list or watch that a field selector
    narrows to one `metadata.name`. `field_equals` are the (field, value) pairs a list or watch is narrowed to.
    """

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = False
    field_equals: tuple[tuple[str, str], ...] = ()


class ObjectReader(Protocol):
    """Decoded objects as of the newest revision. They are shared and memoised: treat them as immutable."""

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """The object, or None when there is none; `namespace` is "" for cluster-scoped resources."""
        ...

    def list(self, resource: Resource, namespace: str = "") -> list[Object]:
        """All objects, of one namespace or ("") of all, in key order."""
        ...

    def on_change(self, resource: Resource, callback: Callable[[Object | None, Object | None], None]) -> None:
        """Call back with (old, new) after each change, in revision order, before the write is acknowledged.

        `old` is None for a creation, `new` for a deletion. Callbacks run on the event loop and must not block.
        """
        ...

    def on_touch(self, resource: Resource, callback: Callable[[str, str], None]) -> None:
        """Call back with namespace and name at each change: `on_change` for those who may look later, or never.

        Nothing is decoded for it.
        """
        ...


class ObjectWriter(Protocol):
    """Writes of the server itself (bootstrap): validated and defaulted, but not authorized nor admitted."""

    async def create(self, resource: Resource, obj: Object, namespace: str = "") -> Object:
        """Store a new object; raises :class:`api.errors.StatusError` (AlreadyExists, Invalid)."""
        ...

    async def update(self, resource: Resource, obj: Object, namespace: str = "") -> Object:
        """Replace an object, status included; raises StatusError (NotFound, Conflict, Invalid)."""
        ...
