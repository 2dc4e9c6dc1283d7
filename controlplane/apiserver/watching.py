"""Watches: every change of a resource to everyone who asked for it, encoded once.

A watcher is a place in the resource's history and a sink. Those that keep up are *live*: after each batch of changes
one pass over them writes the shared bytes. One whose connection has stopped draining leaves the pass, waits for its
client in its own task, then reads on from its place; if history has moved past it, or it takes nothing for too long,
it is cut. So nothing is queued per watcher, and a slow one stalls nobody.

HTTP is not known here: a `Sink` is where bytes go, and the encodings decide what they look like.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import random
from collections.abc import Callable
from typing import Protocol

from client.clock import Clock, Timer
from controlplane.apiserver.cache import Cache
from controlplane.apiserver.caching.encoding import WatchEncoding
from controlplane.apiserver.caching.entries import Entry, Selection
from controlplane.apiserver.caching.history import ADDED, Overtaken

_log = logging.getLogger(__name__)

HIGH_WATER = 256 << 10
"""Bytes a connection may hold back before its watcher leaves the live pass."""

DRAIN_DEADLINE = 30.0
"""Seconds in which a connection that is full must take something."""

BOOKMARK_PERIOD = 60.0
"""Seconds between two bookmarks, as upstream; up to a quarter is added so that they do not come all at once."""

_PASS = 128
"""Watchers served before other work gets its turn."""

_BURST = 128 << 10
"""Bytes of initial events joined into one write."""


class Sink(Protocol):
    """Where the bytes of one watch go: a connection."""

    def write(self, data: bytes) -> None:
        """Send, or keep to be sent; never blocks. Writing to a closed connection does nothing."""

    def buffered(self) -> int:
        """Bytes written but not yet taken by the network."""

    async def drain(self) -> None:
        """Return when there is room again. Raises ConnectionError when the connection is gone."""


class End(enum.Enum):
    """Why a watch ended."""

    TIMEOUT = "timeout"
    SLOW = "slow"
    GONE = "gone"
    CLOSED = "closed"
    FAILED = "failed"


class Fanout:
    """Brings the changes of one cache to its live watchers."""

    def __init__(self, cache: Cache, clock: Clock, jitter: Callable[[], float] = random.random) -> None:
        self.cache = cache
        self.clock = clock
        self.jitter = jitter
        self._live: dict[Watcher, None] = {}
        self._pass: list[Watcher] = []
        self._pass_end = 0
        self._encoded_until = 0
        self._scheduled = False
        cache.on_event(self._on_event)

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, watcher: object) -> bool:
        return watcher in self._live

    def join(self, watcher: Watcher) -> None:
        """Serve a watcher that has caught up."""
        self._live[watcher] = None

    def leave(self, watcher: Watcher) -> None:
        """Stop serving a watcher."""
        self._live.pop(watcher, None)

    def close(self) -> None:
        """End all live watches: the server is stopping."""
        for watcher in tuple(self._live):
            watcher.stop(End.CLOSED)

    def _on_event(self) -> None:
        if not self._scheduled and self._live:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_pass)

    def _begin_pass(self) -> None:
        self._pass = list(self._live)
        self._pass_end = self.cache.history.next
        self._continue_pass()

    def _continue_pass(self) -> None:
        history = self.cache.history
        end = history.next
        shared: dict[object, bytes] = {}
        batch = self._pass[:_PASS]
        del self._pass[:_PASS]
        for watcher in batch:
            if watcher in self._live:
                try:
                    watcher.deliver(end, shared)
                except Exception:  # noqa: BLE001 - an event that cannot be encoded for one is its trouble alone
                    _log.exception("watch failed resource=%s", self.cache.shape.prefix)
                    watcher.stop(End.FAILED)
        loop = asyncio.get_running_loop()
        if self._pass:
            loop.call_soon(self._continue_pass)
        elif history.next != self._pass_end:
            loop.call_soon(self._begin_pass)
        else:
            self._scheduled = False
            self._forget_encoded(end)

    def _forget_encoded(self, end: int) -> None:
        """Everyone has the bytes; only a watcher that lags will want them again, and can make them."""
        for event in self.cache.history.between(max(self._encoded_until, self.cache.history.first), end):
            event.forget_encoded()
        self._encoded_until = end


class Watcher:
    """One watch. Make it, say where it starts, then `run` it in the task of its request."""

    def __init__(
        self,
        fanout: Fanout,
        sink: Sink,
        selection: Selection,
        encoding: WatchEncoding,
        *,
        bookmarks: bool = False,
    ) -> None:
        self._fanout = fanout
        self._history = fanout.cache.history
        self._sink = sink
        self._selection = selection
        self._encoding = encoding
        self._shared = selection.shared
        self._bookmarks = bookmarks
        self._place = self._history.next
        self._skip_until = 0
        self._initial: list[Entry] = []
        self._initial_end: int | None = None
        self._parked: asyncio.Future[End | None] | None = None
        self._stopped: End | None = None
        self._bookmark_timer: Timer | None = None

    def start_after(self, revision: int) -> None:
        """Send what happens after `revision`, which may also be in the future. Raises history.TooOld."""
        self._place = self._history.place_after(revision)
        if revision > self._fanout.cache.revision:
            self._skip_until = revision
            self._shared = None

    def start_with_all(self, *, mark_end: bool = False) -> None:
        """Send everything there is as ADDED first, then what happens after.

        `mark_end` closes the first part with the bookmark that a streaming list waits for.
        """
        cache = self._fanout.cache
        self._initial = cache.list(self._selection).entries
        self._initial_end = cache.revision if mark_end else None
        self._place = self._history.next

    async def run(self, timeout: float) -> End:
        """Serve until `timeout` seconds have passed, the client is gone or too slow, or the server stops."""
        try:
            async with self._fanout.clock.timeout(timeout):
                return await self._serve()
        except TimeoutError:
            self._send_bookmark()
            return End.TIMEOUT
        except ConnectionError:
            return End.GONE
        except Overtaken:
            return End.SLOW
        finally:
            self._fanout.leave(self)
            if self._bookmark_timer is not None:
                self._bookmark_timer.cancel()

    def stop(self, reason: End) -> None:
        """End the watch: at once when it is live, else as soon as it would be."""
        self._stopped = reason
        self._fanout.leave(self)
        self._unpark(reason)

    def deliver(self, end: int, shared: dict[object, bytes]) -> None:
        """Write what happened up to the place `end`; called in a pass over the live watchers.

        `shared` holds what was already made in this pass for watchers with the same view and place.
        """
        if self._place >= end:
            return
        key = None if self._shared is None else (self._place, self._encoding, self._shared)
        data = None if key is None else shared.get(key)
        if data is None:
            try:
                data = self._render(end)
            except Overtaken:
                self.stop(End.SLOW)
                return
            if key is not None:
                shared[key] = data
        self._place = end
        if data:
            self._sink.write(data)
            if self._sink.buffered() > HIGH_WATER:
                self._fanout.leave(self)
                self._unpark(None)

    async def _serve(self) -> End:
        await self._send_initial()
        self._schedule_bookmark()
        while True:
            await self._catch_up()
            reason = await self._stay_live()
            if reason is not None:
                return reason
            await self._drain()

    async def _send_initial(self) -> None:
        burst: list[bytes] = []
        size = 0
        for entry in self._initial:
            data = self._encoding.event(ADDED, entry)
            burst.append(data)
            size += len(data)
            if size >= _BURST:
                await self._write(b"".join(burst))
                burst.clear()
                size = 0
        self._initial = []
        if self._initial_end is not None:
            shape = self._fanout.cache.shape
            burst.append(self._encoding.bookmark(shape, self._initial_end, initial_events_end=True))
        if burst:
            await self._write(b"".join(burst))

    async def _catch_up(self) -> None:
        """Read on from our place until there is nothing left; does not yield to the loop after its last look."""
        while self._place < self._history.next:
            end = min(self._place + _PASS, self._history.next)
            data = self._render(end)
            self._place = end
            if data:
                await self._write(data)

    async def _stay_live(self) -> End | None:
        """Be served by the passes; returns None when the connection is full."""
        if self._stopped is not None:
            return self._stopped
        self._parked = asyncio.get_running_loop().create_future()
        self._fanout.join(self)
        try:
            return await self._parked
        finally:
            self._parked = None

    async def _write(self, data: bytes) -> None:
        self._sink.write(data)
        if self._sink.buffered() > HIGH_WATER:
            await self._drain()

    async def _drain(self) -> None:
        try:
            async with self._fanout.clock.timeout(DRAIN_DEADLINE):
                await self._sink.drain()
        except TimeoutError as error:
            raise Overtaken from error

    def _render(self, end: int) -> bytes:
        encode = self._encoding.event
        selection = self._selection
        frames = []
        for event in self._history.between(self._place, end):
            if event.revision <= self._skip_until:
                continue
            kind = event.seen_by(selection)
            if kind:
                frames.append(event.encoded(kind, encode))
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def _unpark(self, reason: End | None) -> None:
        if self._parked is not None and not self._parked.done():
            self._parked.set_result(reason)

    def _schedule_bookmark(self) -> None:
        if self._bookmarks:
            delay = BOOKMARK_PERIOD * (1 + self._fanout.jitter() / 4)
            self._bookmark_timer = self._fanout.clock.call_later(delay, self._on_bookmark_due)

    def _on_bookmark_due(self) -> None:
        self._send_bookmark()
        self._schedule_bookmark()

    def _send_bookmark(self) -> None:
        """Say how far we have come; left out while the client lags, since it has not come that far."""
        cache = self._fanout.cache
        if not self._bookmarks or self._place != self._history.next or self._initial:
            return
        if cache.revision >= self._skip_until and self._sink.buffered() <= HIGH_WATER:
            self._sink.write(self._encoding.bookmark(cache.shape, cache.revision, initial_events_end=False))
