"""One resource as the verbs see it: find an object, store it, know what it will be served as.

A registry ties together the cache it reads from, the store it writes to and the strategy of its kind. It works on bytes
and revisions; decoding happens where an object is changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from api import codec, errors
from api.scheme import Resource
from controlplane.apiserver.cache import Cache, Listing
from controlplane.apiserver.caching.encoding import WatchEncoding
from controlplane.apiserver.caching.entries import Entry, Selection, Shape
from controlplane.apiserver.caching.splicing import splice
from controlplane.apiserver.metrics import Metrics
from controlplane.apiserver.registry.strategy import Strategy
from controlplane.store.errors import Conflict
from controlplane.store.interface import Store


class Readable(Protocol):
    """What the verbs ask of a cache."""

    shape: Shape

    @property
    def revision(self) -> int: ...

    def get(self, namespace: str, name: str) -> Entry | None: ...

    def object(self, entry: Entry) -> Any: ...

    def entries(self, namespace: str = "") -> Iterator[Entry]: ...

    def list(self, selection: Selection = ..., *, limit: int = 0, after: str = "") -> Listing: ...

    async def list_at(
        self, revision: int, selection: Selection = ..., *, limit: int = 0, after: str = ""
    ) -> Listing: ...


class Registry:
    """Everything the server keeps of one resource."""

    #: Field labels that the cache knows by other names (see :mod:`controlplane.apiserver.registry.versions`).
    field_names: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        resource: Resource,
        strategy: Strategy,
        source: Cache,
        store: Store,
        metrics: Metrics,
        cache: Readable | None = None,
    ) -> None:
        """`source` has the stored objects; `cache` shows them in the version served, if that is another."""
        self.resource = resource
        #: The declared type, looked up once.
        self.type = resource.type
        self.strategy = strategy
        self.source = source
        self.cache: Readable = cache or source
        self.group_resource = strategy.group_resource
        self.group_kind = strategy.group_kind
        self.store = store
        self.metrics = metrics
        self._label = str(self.group_resource)

    def key(self, namespace: str, name: str) -> str:
        """The store key of an object."""
        return self.cache.shape.key(namespace, name)

    def find(self, namespace: str, name: str) -> Entry:
        """The newest state of an object; raises StatusError (NotFound)."""
        entry = self.cache.get(namespace, name)
        if entry is None:
            raise errors.not_found(self.group_resource, name)
        return entry

    def decode(self, entry: Entry) -> Any:
        """A decoded object of the caller's own, free to be changed, with its resourceVersion."""
        return codec.decode(entry.raw, self.type)

    def encode(self, obj: Any) -> bytes:
        """The bytes to store: the object without its resourceVersion, which is the revision of the write itself."""
        metadata = obj.metadata
        version, metadata.resource_version = metadata.resource_version, ""
        link, metadata.self_link = metadata.self_link, ""
        try:
            return codec.encode(obj)
        finally:
            metadata.resource_version, metadata.self_link = version, link

    async def create(self, namespace: str, name: str, value: bytes) -> bytes:
        """Store a new object; returns it as served. Raises StatusError (AlreadyExists)."""
        started = time.perf_counter()
        try:
            revision = await self.store.write(self.key(namespace, name), value, expect=0)
        except Conflict:
            error = errors.already_exists(self.group_resource, name)
            existing = self.cache.get(namespace, name)
            if existing is not None and b'"deletionTimestamp":' in existing.raw:
                error.status.message = f"object is being deleted: {error.status.message}"
            raise error from None
        self.metrics.store_write("create", self._label, time.perf_counter() - started)
        return splice(value, revision)

    async def replace(self, entry: Entry, value: bytes) -> bytes:
        """Store a changed object in place of `entry`; returns it as served. Raises the store's Conflict."""
        started = time.perf_counter()
        revision = await self.store.write(entry.key, value, expect=entry.mod_revision)
        self.metrics.store_write("update", self._label, time.perf_counter() - started)
        return splice(value, revision)

    async def remove(self, entry: Entry) -> Entry:
        """Delete `entry`; returns its last state stamped with the deletion. Raises the store's Conflict."""
        started = time.perf_counter()
        revision = await self.store.write(entry.key, None, expect=entry.mod_revision)
        self.metrics.store_write("delete", self._label, time.perf_counter() - started)
        return entry.at(revision)

    def watched_as(self, encoding: WatchEncoding) -> WatchEncoding:
        """The encoding by which watchers of this resource get what the cache's history holds."""
        return encoding
