"""The thread that owns the file: batches of writes with one fsync each, reads and compaction steps between them.

While one batch is being flushed the next gathers, so the more writers wait the fewer flushes each costs. Conditions are
judged here, against an index of every key's revisions and in the order the writes came, so a batch may hold several
writes of one key. Nothing is told to anyone before it is durable.

Results go back to the event loop in one call per batch: waking the loop is a system call and a fight for the
interpreter's lock.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from controlplane.store.errors import Conflict, CorruptStore, ReadFailed, StoreClosed, StoreError, WriteFailed
from controlplane.store.interface import Change, Record
from controlplane.store.sqlite.database import Database

_log = logging.getLogger(__name__)

MAX_BATCH = 512
"""Writes in one commit: bounds how long the first of them waits for the last."""


@dataclass(slots=True, eq=False)
class Write:
    """A write that waits, and whom to tell."""

    key: str
    value: bytes | None
    expect: int | None
    future: asyncio.Future[int]


@dataclass(slots=True, eq=False)
class Job:
    """Anything else the thread is to do with the file: a read, a step of compaction."""

    work: Callable[..., Any]
    args: tuple[Any, ...]
    future: asyncio.Future[Any]


@dataclass(slots=True)
class Outcome:
    """What a batch came to: the changes that are now durable, and the answer to every write whose caller waits."""

    batch: list[Write]
    changes: list[Change]
    answers: list[tuple[asyncio.Future[int], int | StoreError]]


@dataclass(slots=True)
class _Staged:
    """A batch as judged, before it is committed: its changes, and what they make of the keys they touch."""

    changes: list[Change] = field(default_factory=list)
    heads: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    newest: dict[str, Change] = field(default_factory=dict)
    answers: list[tuple[asyncio.Future[int], int | StoreError]] = field(default_factory=list)


Item = list[Write] | Job | None
"""What the thread is handed; None ends it."""


class Storage:
    """The thread and what it knows. Made on the event loop; everything with an underscore runs in the thread."""

    def __init__(
        self,
        open_file: Callable[[], Database],
        loop: asyncio.AbstractEventLoop,
        deliver: Callable[[Outcome], None],
    ) -> None:
        self.inbox: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self.opened: asyncio.Future[Database] = loop.create_future()
        self.stopped: asyncio.Future[None] = loop.create_future()
        self._open_file = open_file
        self._loop = loop
        self._deliver = deliver
        self._heads: dict[str, tuple[int, int]] = {}
        self._taken: Item = None
        self._held: list[Item] = []
        self._unsettled: _Staged | None = None
        self._broken: CorruptStore | None = None
        # A daemon, so that a process that dies without closing the store is not held up; what is committed is safe.
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            database = self._open_file()
            self._heads = database.heads()
        except (StoreError, OSError) as error:
            self._tell(self.opened, error)
            return
        self._tell(self.opened, database)
        try:
            self._serve(database)
        finally:
            try:
                database.close()
            except StoreError as error:
                _log.error("close the store cause=%r", str(error))
            self._tell(self.stopped, None)

    def join(self) -> None:
        """After `stopped`: wait the moment that the thread still takes to be gone, its last words included."""
        self._thread.join()

    def abandon(self) -> None:
        """After the thread has ended: tell those it did not get to, on the event loop."""
        left: list[Item] = [self._taken]
        while not self.inbox.empty():
            left.append(self.inbox.get_nowait())
        for item in left:
            if isinstance(item, Job):
                resolve(item.future, StoreClosed())
            for write in item if isinstance(item, list) else ():
                resolve(write.future, StoreClosed())

    def _serve(self, database: Database) -> None:
        while True:
            item = self._held.pop() if self._held else self.inbox.get()
            if item is None:
                return
            self._taken = item
            if isinstance(item, Job):
                self._do(database, item)
            else:
                self._taken = batch = self._gather(item)
                self._loop.call_soon_threadsafe(self._deliver, self._commit(database, batch))
                if database.wal_is_full:
                    self._checkpoint(database)
            self._taken = None

    def _gather(self, batch: list[Write]) -> list[Write]:
        """Add the writes that came while the last batch was flushed."""
        while len(batch) < MAX_BATCH:
            try:
                item = self.inbox.get_nowait()
            except queue.Empty:
                break
            if not isinstance(item, list):
                self._held.append(item)
                break
            batch = batch + item
        return batch

    def _commit(self, database: Database, batch: list[Write]) -> Outcome:
        staged = _Staged()
        settled: list[Change] = []
        try:
            if self._broken is not None:
                raise self._broken
            settled = self._settle(database)
            for write in batch:
                if not write.future.cancelled():
                    staged.answers.append((write.future, self._judge(database, staged, write)))
            if staged.changes:
                self._append(database, staged)
        except StoreError as error:
            if isinstance(error, CorruptStore):
                self._broken = error
                _log.critical("the store is damaged, no more writes cause=%r", str(error))
            return Outcome(batch, settled, [(write.future, error) for write in batch])
        self._adopt(staged)
        return Outcome(batch, settled + staged.changes, staged.answers)

    def _judge(self, database: Database, staged: _Staged, write: Write) -> int | StoreError:
        """Check a write's condition and stage its change; returns its revision, or the conflict."""
        key = write.key
        head = staged.heads[key] if key in staged.heads else self._heads.get(key)
        found = 0 if head is None else head[1]
        if write.expect is not None and write.expect != found:
            return Conflict(key, write.expect, self._current(database, staged, key, found))
        revision = database.revision + len(staged.changes)
        if write.value is None and head is None:
            return revision
        revision += 1
        created = revision if head is None else head[0]
        change = Change(key, write.value, created, found, revision)
        staged.changes.append(change)
        staged.newest[key] = change
        staged.heads[key] = None if write.value is None else (created, revision)
        return revision

    def _current(self, database: Database, staged: _Staged, key: str, found: int) -> Record | None:
        if not found:
            return None
        change = staged.newest.get(key)
        if change is not None and change.value is not None:
            return Record(key, change.value, change.create_revision, change.revision)
        return database.record(key, database.revision)

    def _append(self, database: Database, staged: _Staged) -> None:
        try:
            database.append(staged.changes)
        except WriteFailed as failure:
            # Whether it is there is only known by looking; if that fails too, the next batch has to look first.
            self._unsettled = staged
            try:
                settled = self._settle(database)
            except ReadFailed:
                raise failure from None
            if not settled:
                raise

    def _settle(self, database: Database) -> list[Change]:
        """Find out what became of a commit that failed; returns its changes when they are there after all."""
        staged = self._unsettled
        if staged is None:
            return []
        newest = database.newest_on_disk()
        self._unsettled = None
        if newest == database.revision:
            return []
        _log.warning("a commit that was reported as failed is on disk revision=%d", newest)
        database.revision = newest
        self._adopt(staged)
        return staged.changes

    def _adopt(self, staged: _Staged) -> None:
        for key, head in staged.heads.items():
            if head is None:
                self._heads.pop(key, None)
            else:
                self._heads[key] = head

    def _checkpoint(self, database: Database) -> None:
        try:
            database.checkpoint()
        except StoreError as error:
            # Durability does not depend on it; it is tried again after another log's worth of commits.
            _log.error("checkpoint cause=%r", str(error))

    def _do(self, database: Database, job: Job) -> None:
        if job.future.cancelled():
            return
        try:
            self._tell(job.future, job.work(database, *job.args))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's, and the others need the thread
            self._tell(job.future, error)

    def _tell(self, future: asyncio.Future[Any], result: Any) -> None:
        self._loop.call_soon_threadsafe(resolve, future, result)


def resolve(future: asyncio.Future[Any], result: Any) -> None:
    """Give a future its result, or its exception, unless its owner has left."""
    if future.done():
        return
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)
