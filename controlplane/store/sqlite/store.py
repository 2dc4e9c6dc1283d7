"""The embedded store as the event loop sees it: futures, a bounded queue, and the order in which news is told.

Writes of one turn of the loop are handed to the thread together. Reads go through the same thread, at a fixed revision
and in short slots, so that a long list neither tears nor holds up a write; they are not the hot path, since the API
server's caches hold the newest state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from client.clock import Clock, SystemClock
from controlplane.store.errors import Compacted, FutureRevision, StoreBusy, StoreClosed
from controlplane.store.following import Feed, LogWatch
from controlplane.store.interface import Changes, Listener, Page, Record
from controlplane.store.sqlite.database import Database
from controlplane.store.sqlite.opening import open_database
from controlplane.store.sqlite.storage import Job, Outcome, Storage, Write, resolve

T = TypeVar("T")
P = ParamSpec("P")

_LIST_SLOT = 500
_LOG_SLOT = 1000
_SWEEP_SLOT = 500
_SHRINK_SLOT = 128


async def open_store(
    path: Path,
    *,
    clock: Clock | None = None,
    lock_timeout: float = 10.0,
    max_waiting: int = 4096,
    max_waiting_bytes: int = 64 << 20,
) -> SqliteStore:
    """Open the store in `path`, or create it there, for use on the running event loop.

    `lock_timeout` is in seconds; `max_waiting` and `max_waiting_bytes` bound the queue of writes. Raises StoreInUse
    when another process has it, CorruptStore when it is damaged (the message says where it was kept), OSError or
    another StoreError when the disk refuses.
    """
    now = (clock or SystemClock()).now()
    store = SqliteStore(lambda: open_database(path, now=now, lock_timeout=lock_timeout), max_waiting, max_waiting_bytes)
    await store.ready()
    return store


class SqliteStore:
    """See `controlplane.store.interface.Store`. Made by `open_store`."""

    def __init__(self, open_file: Callable[[], Database], max_waiting: int, max_waiting_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._storage = Storage(open_file, self._loop, self._on_outcome)
        self._feed = Feed()
        self._revision = 0
        self._compacted = 0
        self._closing = False
        self._outgoing: list[Write] = []
        self._waiting = 0
        self._waiting_bytes = 0
        self._max_waiting = max_waiting
        self._max_waiting_bytes = max_waiting_bytes

    async def ready(self) -> None:
        """Wait until the file is open. Raises as `open_store` does."""
        database = await self._storage.opened
        self._revision = database.revision
        self._compacted = database.compacted
        self._storage.stopped.add_done_callback(self._on_stopped)

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def compacted(self) -> int:
        return self._compacted

    async def get(self, key: str, *, revision: int = 0) -> Record | None:
        while True:
            at = self._readable(revision)
            try:
                return await self._do(Database.record, key, at)
            except Compacted:
                if revision:
                    raise

    async def list(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        while True:
            try:
                return await self._list_at(prefix, after, limit, self._readable(revision))
            except Compacted:
                if revision:
                    raise

    async def write(self, key: str, value: bytes | None, *, expect: int | None) -> int:
        if self._closing:
            raise StoreClosed
        if self._waiting >= self._max_waiting or self._waiting_bytes >= self._max_waiting_bytes:
            raise StoreBusy(key, self._waiting)
        key.encode()
        future: asyncio.Future[int] = self._loop.create_future()
        if not self._outgoing:
            self._loop.call_soon(self._hand_over)
        self._outgoing.append(Write(key, value, expect, future))
        self._waiting += 1
        self._waiting_bytes += len(value or b"")
        return await future

    def watch(self, prefix: str, *, after: int) -> LogWatch:
        return LogWatch(self, self._feed, prefix, after)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._feed.subscribe(listener)

    async def read_changes(self, prefix: str, after: int, until: int) -> tuple[Changes, int]:
        """See `following.Log`."""
        end = min(until, after + _LOG_SLOT)
        return await self._do(Database.changes, prefix, after, end), end

    async def compact(self, revision: int) -> None:
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        if revision > self._compacted:
            await self._do(Database.begin_compaction, revision)
            self._compacted = max(self._compacted, revision)
        # Also what an earlier compaction, failed or killed, has left to do.
        while await self._do(Database.sweep, _SWEEP_SLOT):
            pass
        while await self._do(Database.shrink, _SHRINK_SLOT):
            pass

    async def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._hand_over()
            self._storage.inbox.put(None)
        await asyncio.shield(self._storage.stopped)
        self._storage.join()

    async def _list_at(self, prefix: str, after: str, limit: int, at: int) -> Page:
        records: list[Record] = []
        while True:
            want = min(limit - len(records), _LIST_SLOT) if limit else _LIST_SLOT
            start = records[-1].key if records else after
            found = await self._do(Database.records, prefix, start, want, at)
            records += found
            if len(found) < want:
                return Page(records, at, 0)
            if len(records) == limit:
                last = records[-1].key
                return Page(records, at, await self._do(Database.count, prefix, last, at))

    def _readable(self, revision: int) -> int:
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        if revision and revision < self._compacted:
            raise Compacted(revision, self._compacted)
        return revision or self._revision

    async def _do(self, work: Callable[Concatenate[Database, P], T], *args: P.args, **_: P.kwargs) -> T:
        """Have the thread call a method of the database."""
        if self._closing:
            raise StoreClosed
        future: asyncio.Future[T] = self._loop.create_future()
        self._storage.inbox.put(Job(work, args, future))
        return await future

    def _hand_over(self) -> None:
        if self._outgoing:
            batch, self._outgoing = self._outgoing, []
            self._storage.inbox.put(batch)

    def _on_outcome(self, outcome: Outcome) -> None:
        """Tell the listeners first: who reads after its write was acknowledged must find it in every cache."""
        self._waiting -= len(outcome.batch)
        self._waiting_bytes -= sum(len(write.value or b"") for write in outcome.batch)
        try:
            if outcome.changes:
                self._revision = outcome.changes[-1].revision
                self._feed.publish(outcome.changes)
        finally:
            for future, answer in outcome.answers:
                resolve(future, answer)

    def _on_stopped(self, _: asyncio.Future[None]) -> None:
        self._closing = True
        self._feed.close()
        self._hand_over()
        self._storage.abandon()
