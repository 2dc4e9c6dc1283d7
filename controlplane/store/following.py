"""Following a store's log: the listeners that are called, and the watches that are pulled.

A watch keeps nothing but the revision it has come to and reads on from the log, so a slow one costs no memory and
stalls nobody; it can only be overtaken by compaction, and then says so. Engines supply the reading.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from controlplane.store.errors import Compacted, StoreClosed
from controlplane.store.interface import Change, Listener

_log = logging.getLogger(__name__)


class Log(Protocol):
    """What a watch needs of the engine."""

    @property
    def revision(self) -> int: ...

    @property
    def compacted(self) -> int: ...

    def read_changes(self, prefix: str, after: int, until: int) -> Awaitable[tuple[list[Change], int]]:
        """Some changes under `prefix` in (`after`, `until`], and the revision up to which they are complete."""


class Feed:
    """Hands changes to listeners and wakes the watches."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed = False

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; the result removes it again."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def publish(self, changes: list[Change]) -> None:
        """Tell everyone of committed changes, in order."""
        for listener in tuple(self._listeners):
            try:
                listener(changes)
            except Exception:  # noqa: BLE001 - it broke its word; the others must hear all the same
                _log.exception("listener failed revision=%d", changes[-1].revision)
        self._wake()

    def close(self) -> None:
        """Let the watches end."""
        self._closed = True
        self._listeners.clear()
        self._wake()

    @property
    def closed(self) -> bool:
        return self._closed

    def waiter(self) -> asyncio.Future[None]:
        """A future that is done at the next publication, or when the feed is closed."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._closed:
            waiter.set_result(None)
        else:
            self._waiting.add(waiter)
            waiter.add_done_callback(self._waiting.discard)
        return waiter

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


class LogWatch:
    """A cursor over the log of a store: the `Watch` of every engine that keeps its log at hand."""

    def __init__(self, log: Log, feed: Feed, prefix: str, after: int) -> None:
        if feed.closed:
            raise StoreClosed
        if after < log.compacted:
            raise Compacted(after, log.compacted)
        self._log = log
        self._feed = feed
        self._prefix = prefix
        self._position = after
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    def __aiter__(self) -> LogWatch:
        return self

    async def __anext__(self) -> list[Change]:
        while not self._closed and not self._feed.closed:
            target = self._log.revision
            if target <= self._position:
                self._waiter = self._feed.waiter()
                await self._waiter
                continue
            if self._position < self._log.compacted:
                raise Compacted(self._position, self._log.compacted)
            try:
                changes, reached = await self._log.read_changes(self._prefix, self._position, target)
            except StoreClosed:
                break
            self._position = max(self._position, reached)
            if changes:
                return changes
        raise StopAsyncIteration

    def close(self) -> None:
        self._closed = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
