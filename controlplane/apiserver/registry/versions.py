"""A resource served in another version than its objects are stored in.

Everything is converted on the way: entries when they are read, objects when they are written. Such resources are asked
for rarely, so nothing of it is kept but the encoding watchers share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from api import codec
from controlplane.apiserver.cache import Listing
from controlplane.apiserver.caching.encoding import PLAIN, WatchEncoding
from controlplane.apiserver.caching.entries import EVERYTHING, Entry, Selection, Shape
from controlplane.apiserver.caching.splicing import splice
from controlplane.apiserver.registry.conversions import Conversion
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.strategy import Strategy


class ConvertedCache:
    """The cache of the stored version, seen in the served one."""

    def __init__(self, stored: Registry, shape: Shape, conversion: Conversion) -> None:
        self.shape = shape
        self._stored = stored
        self._cache = stored.source
        self._conversion = conversion

    @property
    def revision(self) -> int:
        """The revision the cache stands at."""
        return self._cache.revision

    def convert(self, entry: Entry) -> Entry:
        """An entry of the stored version in the served one."""
        if entry.shape is self.shape:
            return entry
        obj = self._conversion.to_served(self._stored.decode(entry))
        metadata = obj.metadata
        metadata.resource_version = ""
        raw = splice(codec.encode(obj), entry.mod_revision)
        return Entry(self.shape, entry.namespace, entry.name, raw, entry.create_revision, entry.mod_revision)

    def get(self, namespace: str, name: str) -> Entry | None:
        """See `cache.Cache`."""
        entry = self._cache.get(namespace, name)
        return None if entry is None else self.convert(entry)

    def object(self, entry: Entry) -> Any:
        """See `cache.Cache`."""
        return codec.decode(self.convert(entry).raw, self._type)

    @property
    def _type(self) -> type[Any]:
        return type(self._conversion.to_served(self._stored.type()))

    def entries(self, namespace: str = "") -> Iterator[Entry]:
        """See `cache.Cache`."""
        return map(self.convert, self._cache.entries(namespace))

    def list(self, selection: Selection = EVERYTHING, *, limit: int = 0, after: str = "") -> Listing:
        """See `cache.Cache`; the selection is in the stored version's words."""
        return self._convert_all(self._cache.list(selection, limit=limit, after=after))

    async def list_at(
        self, revision: int, selection: Selection = EVERYTHING, *, limit: int = 0, after: str = ""
    ) -> Listing:
        """See `cache.Cache`; the selection is in the stored version's words."""
        return self._convert_all(await self._cache.list_at(revision, selection, limit=limit, after=after))

    def _convert_all(self, page: Listing) -> Listing:
        return replace(page, entries=[self.convert(entry) for entry in page.entries])


class ConvertedRegistry(Registry):
    """A registry whose objects another one stores."""

    def __init__(self, stored: Registry, strategy: Strategy, shape: Shape, conversion: Conversion) -> None:
        cache = ConvertedCache(stored, shape, conversion)
        super().__init__(strategy.resource, strategy, stored.source, stored.store, stored.metrics, cache)
        self.stored = stored
        self.field_names = conversion.fields
        self._conversion = conversion
        self._converted = cache
        self._plain = _ConvertedEvents(cache, PLAIN)

    async def create(self, namespace: str, name: str, value: bytes) -> bytes:
        """See `Registry`."""
        return self._to_served(await self.stored.create(namespace, name, self._to_stored(value)))

    async def replace(self, entry: Entry, value: bytes) -> bytes:
        """See `Registry`."""
        return self._to_served(await self.stored.replace(entry, self._to_stored(value)))

    def watched_as(self, encoding: WatchEncoding) -> WatchEncoding:
        """See `Registry`."""
        return self._plain if encoding is PLAIN else _ConvertedEvents(self._converted, encoding)

    def _to_stored(self, value: bytes) -> bytes:
        return codec.encode(self._conversion.to_stored(codec.decode(value, self.type)))

    def _to_served(self, value: bytes) -> bytes:
        """What was stored, as it will be read: the conversion there may have defaulted something."""
        stored = codec.decode(value, self.stored.type)
        revision = int(stored.metadata.resource_version)
        served = self._conversion.to_served(stored)
        served.metadata.resource_version = ""
        return splice(codec.encode(served), revision)


class _ConvertedEvents:
    """Converts what another encoding then puts into events."""

    def __init__(self, cache: ConvertedCache, inner: WatchEncoding) -> None:
        self._cache = cache
        self._inner = inner

    def event(self, kind: str, entry: Entry) -> bytes:
        return self._inner.event(kind, self._cache.convert(entry))

    def bookmark(self, shape: Shape, revision: int, *, initial_events_end: bool) -> bytes:
        return self._inner.bookmark(self._cache.shape, revision, initial_events_end=initial_events_end)
