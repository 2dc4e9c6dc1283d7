"""The server's own view of its objects: decoded, for its guards, and writable, for its bootstrap.

This implements the two seams of :mod:`controlplane.apiserver.request` over the registries. Clients never come this way.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast

from api import codec, errors
from api.defaults import set_defaults
from api.meta_v1 import Object
from api.scheme import Resource
from api.times import Time
from api.validation import validate_create, validate_update
from controlplane.apiserver.caching.entries import Entry
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.reservation import reserved
from controlplane.apiserver.registry.strategy import Write
from controlplane.apiserver.request import User
from controlplane.store.errors import Conflict

_SERVER = User("system:apiserver", groups=("system:masters",))


class Objects:
    """Reads decoded objects, and writes on behalf of the server itself."""

    def __init__(self, registries: Mapping[str, Registry], now: Callable[[], float] = time.time) -> None:
        self._registries = registries
        self._now = now

    # ObjectReader

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """See `request.ObjectReader`."""
        cache = self._registry(resource).cache
        entry = cache.get(namespace if resource.namespaced else "", name)
        return None if entry is None else cast(Object, cache.object(entry))

    def list(self, resource: Resource, namespace: str = "") -> list[Object]:
        """See `request.ObjectReader`."""
        cache = self._registry(resource).cache
        return [cast(Object, cache.object(entry)) for entry in cache.entries(namespace)]

    def on_change(self, resource: Resource, callback: Callable[[Object | None, Object | None], None]) -> None:
        """See `request.ObjectReader`."""
        registry = self._registry(resource)
        cache = registry.cache

        def changed(old: Entry | None, new: Entry | None) -> None:
            callback(
                None if old is None else cache.object(old),
                None if new is None else cache.object(new),
            )

        registry.source.on_change(changed)

    def on_touch(self, resource: Resource, callback: Callable[[str, str], None]) -> None:
        """See `request.ObjectReader`."""

        def changed(old: Entry | None, new: Entry | None) -> None:
            entry = new or old
            if entry is not None:
                callback(entry.namespace, entry.name)

        self._registry(resource).source.on_change(changed)

    # ObjectWriter

    async def create(self, resource: Resource, obj: Object, namespace: str = "") -> Object:
        """See `request.ObjectWriter`."""
        registry = self._registry(resource)
        obj = codec.deepcopy(obj)
        metadata = obj.metadata
        metadata.namespace = namespace if resource.namespaced else ""
        set_defaults(obj)
        metadata.uid = str(uuid.uuid4())
        metadata.creation_timestamp = Time.from_timestamp(self._now())
        metadata.resource_version = ""
        write = self._write()
        with reserved(registry.strategy.reserve_create(obj, write)):
            registry.strategy.prepare_create(obj, write)
            problems = validate_create(obj)
            if problems:
                raise errors.invalid(registry.group_kind, metadata.name, problems)
            served = await registry.create(metadata.namespace, metadata.name, registry.encode(obj))
        return codec.decode(served, registry.type)

    async def update(self, resource: Resource, obj: Object, namespace: str = "") -> Object:
        """See `request.ObjectWriter`."""
        registry = self._registry(resource)
        entry = registry.find(namespace if resource.namespaced else "", obj.metadata.name)
        old = registry.decode(entry)
        new = codec.deepcopy(obj)
        self._check_version(registry, new, entry)
        set_defaults(new)
        metadata = new.metadata
        metadata.namespace = entry.namespace
        metadata.uid = old.metadata.uid
        metadata.creation_timestamp = old.metadata.creation_timestamp
        metadata.generation = old.metadata.generation
        metadata.resource_version = old.metadata.resource_version
        registry.strategy.count_generation(new, old)
        problems = validate_update(new, old)
        if problems:
            raise errors.invalid(registry.group_kind, metadata.name, problems)
        try:
            served = await registry.replace(entry, registry.encode(new))
        except Conflict:
            raise errors.conflict(registry.group_resource, metadata.name) from None
        return codec.decode(served, registry.type)

    def _check_version(self, registry: Registry, new: Any, entry: Entry) -> None:
        version = new.metadata.resource_version
        if version and version != str(entry.mod_revision):
            raise errors.conflict(registry.group_resource, entry.name)

    def _registry(self, resource: Resource) -> Registry:
        return self._registries[registry_key(resource)]

    def _write(self) -> Write:
        return Write(_SERVER, self._now(), False, lambda _: None)


def registry_key(resource: Resource) -> str:
    """How registries are found: by group, version and plural."""
    return f"{resource.api_version}/{resource.plural}"
