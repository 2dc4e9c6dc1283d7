"""A store in memory: the plainest statement of the semantics, for tests and simulations. Nothing survives it."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Callable

from controlplane.store.errors import Compacted, Conflict, FutureRevision, StoreClosed
from controlplane.store.following import Feed, LogWatch
from controlplane.store.interface import EMPTY_REVISION, Change, Changes, Listener, Page, Record

_revision_of = operator.attrgetter("revision")


class MemoryStore:
    """All history in one list, each key's history in another; every call scans, which is fine for small stores."""

    def __init__(self) -> None:
        self._log: list[Change] = []
        self._histories: dict[str, list[Change]] = {}
        self._revision = EMPTY_REVISION
        self._compacted = 0
        self._feed = Feed()

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def compacted(self) -> int:
        return self._compacted

    async def get(self, key: str, *, revision: int = 0) -> Record | None:
        return self._record(key, self._readable(revision))

    async def list(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        at = self._readable(revision)
        keys = sorted(key for key in self._histories if key.startswith(prefix) and key > after)
        records = [record for key in keys if (record := self._record(key, at)) is not None]
        shown = records[:limit] if limit else records
        return Page(shown, at, len(records) - len(shown))

    async def write(self, key: str, value: bytes | None, *, expect: int | None) -> int:
        current = self._record(key, self._readable(0))
        found = 0 if current is None else current.mod_revision
        if expect is not None and expect != found:
            raise Conflict(key, expect, current)
        if value is None and current is None:
            return self._revision
        self._revision += 1
        created = self._revision if current is None else current.create_revision
        change = Change(key, value, created, found, self._revision)
        self._log.append(change)
        self._histories.setdefault(key, []).append(change)
        self._feed.publish([change])
        return change.revision

    def watch(self, prefix: str, *, after: int) -> LogWatch:
        return LogWatch(self, self._feed, prefix, after)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._feed.subscribe(listener)

    async def read_changes(self, prefix: str, after: int, until: int) -> tuple[Changes, int]:
        """See `following.Log`."""
        self._readable(0)
        start = bisect.bisect_right(self._log, after, key=_revision_of)
        stop = bisect.bisect_right(self._log, until, key=_revision_of)
        return [change for change in self._log[start:stop] if change.key.startswith(prefix)], until

    async def compact(self, revision: int) -> None:
        self._readable(0)
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        if revision <= self._compacted:
            return
        self._compacted = revision
        del self._log[: bisect.bisect_right(self._log, revision, key=_revision_of)]
        for key, history in list(self._histories.items()):
            newest = bisect.bisect_right(history, revision, key=_revision_of) - 1
            if newest >= 0:
                del history[: newest if history[newest].value is not None else newest + 1]
            if not history:
                del self._histories[key]

    async def close(self) -> None:
        self._feed.close()

    def _readable(self, revision: int) -> int:
        if self._feed.closed:
            raise StoreClosed
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        if revision and revision < self._compacted:
            raise Compacted(revision, self._compacted)
        return revision or self._revision

    def _record(self, key: str, revision: int) -> Record | None:
        history = self._histories.get(key, ())
        newest = bisect.bisect_right(history, revision, key=_revision_of) - 1
        if newest < 0:
            return None
        change = history[newest]
        if change.value is None:
            return None
        return Record(key, change.value, change.create_revision, change.revision)
