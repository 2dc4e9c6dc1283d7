"""The eyes of the garbage collector: every kind is watched, and nothing is kept but what the graph keeps.

Kinds that the process holds copies of anyway are followed through those; the others are mirrored straight into the
graph.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence

from api import meta_v1 as meta
from api.scheme import SCHEME, Resource
from client.cache import Key, key_of
from client.clock import Clock
from client.informer import InformerFactory
from client.interface import Client, EventType, WatchEvent
from client.reflector import Reflector
from controlplane.controllers.garbage.graph import Graph, Work

SYNC_TIMEOUT = 30.0  # seconds
_START_TOGETHER = 4

log = logging.getLogger(__name__)

# Nobody owns events and they own nothing; they expire.
_IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})


def collectable_resources() -> Iterator[Resource]:
    """Every kind whose objects can own or be owned: each once, by its preferred version."""
    seen: set[str] = set()
    for resource in SCHEME.resources():
        if (resource.group, resource.plural) in _IGNORED or resource.group_resource in seen:
            continue
        if {"list", "watch", "delete"} <= set(resource.verbs):
            seen.add(resource.group_resource)
            yield resource


class _Mirror:
    """The sink of one kind's reflector: turns lists and events into changes of the graph."""

    def __init__(self, resource: Resource, graph: Graph, follow: Callable[[Work], None]) -> None:
        self.synced = asyncio.Event()
        self._resource = resource
        self._graph = graph
        self._follow = follow
        self._uids: dict[Key, str] = {}

    def replace(self, items: Sequence[meta.Object]) -> None:
        present = {key_of(item) for item in items}
        for key in [key for key in self._uids if key not in present]:
            self._gone(key)
        for item in items:
            self._seen(item)
        self.synced.set()

    def apply(self, event: WatchEvent[meta.Object]) -> None:
        if event.type is EventType.DELETED:
            self._gone(key_of(event.object))
        else:
            self._seen(event.object)

    def _seen(self, obj: meta.Object) -> None:
        key, uid = key_of(obj), obj.metadata.uid
        if self._uids.get(key, uid) != uid:
            self._gone(key)
        self._uids[key] = uid
        self._follow(self._graph.see(self._resource, obj.metadata))

    def _gone(self, key: Key) -> None:
        uid = self._uids.pop(key, None)
        if uid is not None:
            self._follow(self._graph.forget(uid))


class Watches:
    """Keeps the graph current; `follow` is told the work that each change makes."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        clock: Clock,
        shared: Collection[type[meta.Object]],
        graph: Graph,
        follow: Callable[[Work], None],
    ) -> None:
        self._clock = clock
        self._reflectors: list[tuple[Resource, Reflector[meta.Object], _Mirror]] = []
        self._shared = [informers.informer(cls) for cls in shared]
        for cls, informer in zip(shared, self._shared, strict=True):
            resource = SCHEME.of(cls)
            informer.add_handler(*_following(resource, graph, follow))
        names = {SCHEME.of(cls).group_resource for cls in shared}
        for resource in collectable_resources():
            if resource.group_resource not in names:
                mirror = _Mirror(resource, graph, follow)
                self._reflectors.append((resource, Reflector(client, resource.type, mirror, clock), mirror))

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for index, (resource, reflector, mirror) in enumerate(self._reflectors):
                group.create_task(reflector.run(), name=f"metadata-{resource.group_resource}")
                # Sixty handshakes at once would hold up everything else at start.
                if index % _START_TOGETHER == _START_TOGETHER - 1:
                    await self._wait(mirror)

    async def synced(self) -> None:
        """Wait for the first lists, but not for ever: what is deleted is verified anyway."""
        try:
            async with self._clock.timeout(SYNC_TIMEOUT):
                for informer in self._shared:
                    await informer.synced()
                for _, _, mirror in self._reflectors:
                    await mirror.synced.wait()
        except TimeoutError:
            missing = [res.group_resource for res, _, mirror in self._reflectors if not mirror.synced.is_set()]
            log.warning("garbage collection starts without some kinds missing=%s", ",".join(missing))

    async def _wait(self, mirror: _Mirror) -> None:
        try:
            async with self._clock.timeout(1.0):
                await mirror.synced.wait()
        except TimeoutError:
            return


def _following(
    resource: Resource, graph: Graph, follow: Callable[[Work], None]
) -> tuple[
    Callable[[meta.Object], None],
    Callable[[meta.Object, meta.Object], None],
    Callable[[meta.Object], None],
]:
    """The handlers of a shared informer."""

    def seen(obj: meta.Object) -> None:
        follow(graph.see(resource, obj.metadata))

    def changed(_: meta.Object, new: meta.Object) -> None:
        seen(new)

    def gone(obj: meta.Object) -> None:
        follow(graph.forget(obj.metadata.uid))

    return seen, changed, gone
