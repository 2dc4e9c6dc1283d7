"""Events are forgotten after an hour, as upstream's are.

All live equally long, so the order in which they were last written is the order in which they expire: one queue and
one timer for the first of it. Nothing is scanned; a write costs one append.
"""

from __future__ import annotations

import asyncio
from collections import deque

from api import core_v1 as core
from api.times import MicroTime, Time
from client.clock import Clock
from controlplane.apiserver.caching.entries import Entry
from controlplane.apiserver.registry.registry import Registry
from controlplane.store.errors import Conflict, StoreError

#: Seconds.
EVENT_LIFETIME = 3600.0

#: Seconds between two rounds at least, and deletes of one round at most: expiry stays in the background.
_ROUND = 5.0
_BATCH = 200


class Expiry:
    """Deletes the objects of one registry `lifetime` seconds after their last write."""

    def __init__(self, registry: Registry, clock: Clock, lifetime: float = EVENT_LIFETIME) -> None:
        self._registry = registry
        self._clock = clock
        self._lifetime = lifetime
        self._queue: deque[tuple[float, str, str, int]] = deque()
        self._arrived = asyncio.Event()
        registry.source.on_change(self._changed)

    def seed(self) -> None:
        """Take up what was stored before this server started; call once, with the caches filled."""
        cache = self._registry.cache
        now_wall, now = self._clock.now(), self._clock.monotonic()
        ages = []
        for entry in cache.entries():
            written = last_written(cache.object(entry))
            left = self._lifetime if written is None else written + self._lifetime - now_wall
            ages.append((now + min(max(left, 0.0), self._lifetime), entry))
        ages.sort(key=lambda pair: pair[0])
        self._queue = deque((due, entry.namespace, entry.name, entry.mod_revision) for due, entry in ages)
        self._arrived.set()

    async def run(self) -> None:
        """Expire until cancelled."""
        while True:
            while not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            wait = self._queue[0][0] - self._clock.monotonic()
            await self._clock.sleep(max(wait, _ROUND))
            await self._round()

    async def _round(self) -> None:
        now = self._clock.monotonic()
        for _ in range(_BATCH):
            if not self._queue or self._queue[0][0] > now:
                return
            _, namespace, name, revision = self._queue.popleft()
            entry = self._registry.cache.get(namespace, name)
            if entry is None or entry.mod_revision != revision:
                continue  # written again since: it stands further back in the queue
            try:
                await self._registry.remove(entry)
            except Conflict:
                continue
            except StoreError:
                self._queue.appendleft((now, namespace, name, revision))
                return

    def _changed(self, old: Entry | None, new: Entry | None) -> None:
        if new is not None:
            due = self._clock.monotonic() + self._lifetime
            self._queue.append((due, new.namespace, new.name, new.mod_revision))
            self._arrived.set()


def last_written(event: core.Event) -> float | None:
    """When an event was last reported, in epoch seconds, as far as it says."""
    series = event.series.last_observed_time if event.series is not None else None
    stamps: tuple[Time | MicroTime | None, ...] = (
        series,
        event.last_timestamp,
        event.event_time,
        event.metadata.creation_timestamp,
    )
    return next((stamp.timestamp() for stamp in stamps if stamp), None)
