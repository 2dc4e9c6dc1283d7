"""When history is forgotten: by age, and sooner when a lot happens.

Readers that page through a long list, and servers that restart, need some minutes of history; more only costs disk. As
upstream, what is older than five minutes goes. And since a burst of writes can fill a disk in less, history is also
bounded by its length. The compaction itself is the store's; a failed one is tried again at the next occasion.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from client.clock import Clock
from controlplane.store.errors import StoreClosed, StoreError
from controlplane.store.interface import Changes, Store

_log = logging.getLogger(__name__)

KEEP = 300.0
"""Seconds of history kept at least, unless there is too much of it."""

MAX_REVISIONS = 20_000
"""Revisions kept at most after a compaction; it is due at twice as many."""

_LOOKS_PER_KEEP = 5


class Compactor:
    """Compacts a store for as long as `run` runs."""

    def __init__(self, store: Store, clock: Clock, *, keep: float = KEEP, max_revisions: int = MAX_REVISIONS) -> None:
        self._store = store
        self._clock = clock
        self._keep = keep
        self._max_revisions = max_revisions
        self._marks: deque[tuple[float, int]] = deque()
        self._too_many = asyncio.Event()

    async def run(self) -> None:
        """Look at the age of the history every fifth of `keep`, and at its length after each change.

        Runs until it is cancelled, or until it finds the store closed.
        """
        unsubscribe = self._store.subscribe(self._on_changes)
        try:
            while True:
                self._marks.append((self._clock.monotonic(), self._store.revision))
                await self._compact()
                try:
                    async with self._clock.timeout(self._keep / _LOOKS_PER_KEEP):
                        await self._too_many.wait()
                except TimeoutError:
                    continue
        except StoreClosed:
            return
        finally:
            unsubscribe()

    def target(self, now: float) -> int:
        """The revision to compact to at a moment (monotonic seconds); 0 when there is nothing to forget."""
        while len(self._marks) > 1 and self._marks[1][0] <= now - self._keep:
            self._marks.popleft()
        aged = self._marks[0][1] if self._marks and self._marks[0][0] <= now - self._keep else 0
        revision = self._store.revision
        crowded = revision - self._max_revisions if revision - self._store.compacted >= 2 * self._max_revisions else 0
        target = max(aged, crowded)
        return target if target > self._store.compacted else 0

    async def _compact(self) -> None:
        target = self.target(self._clock.monotonic())
        if target:
            try:
                await self._store.compact(target)
            except StoreClosed:
                raise
            except StoreError as error:
                _log.error("compaction failed revision=%d cause=%r", target, str(error))
                # Not at once again for its length: a disk that refuses needs time, not more work.
                await self._clock.sleep(self._keep / _LOOKS_PER_KEEP)
        self._too_many.clear()

    def _on_changes(self, changes: Changes) -> None:
        if changes[-1].revision - self._store.compacted >= 2 * self._max_revisions:
            self._too_many.set()
