"""The watch caches: every object of every served resource as bytes, in key order, always as new as the store.

The store hands each change over before the write that made it is acknowledged, so a get or list after a write sees it
without asking the store. Lists of an older revision (the later pages of a long list) are read from the store, unless
nothing has changed since. The caches know bytes, keys and revisions; HTTP, identity and the types are elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from controlplane.apiserver.caching.entries import EVERYTHING, DecodedObjects, Entry, Selection, Shape
from controlplane.apiserver.caching.history import Event, History
from controlplane.apiserver.caching.ordering import OrderedEntries
from controlplane.store.interface import Change, Store

_log = logging.getLogger(__name__)

OnChange = Callable[[Entry | None, Entry | None], None]

_PAGE_FROM_STORE = 500


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a list, as of `revision`.

    `last` is the path of the last entry looked at when more may follow, else ""; `remaining` is how many follow, or
    None when that is not known (a selector is at work).
    """

    entries: list[Entry]
    revision: int
    last: str = ""
    remaining: int | None = None


class Cache:
    """The objects of one resource."""

    def __init__(self, shape: Shape, store: Store, decoded: DecodedObjects, history: History) -> None:
        self.shape = shape
        self.history = history
        self._store = store
        self._decoded = decoded
        self._entries = OrderedEntries()
        self._callbacks: list[OnChange] = []
        self._notify: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def revision(self) -> int:
        """The revision of the whole store, which this cache is always as new as."""
        return self._store.revision

    def get(self, namespace: str, name: str) -> Entry | None:
        """The newest state of an object, or None."""
        return self._entries.get(namespace, name)

    def object(self, entry: Entry) -> Any:
        """The decoded object of an entry, memoised. It is shared: treat it as immutable."""
        return self._decoded.get(entry)

    def entries(self, namespace: str = "") -> Iterator[Entry]:
        """All entries in key order; do not await while iterating."""
        return self._entries.iterate(namespace)

    def count(self, namespace: str = "") -> int:
        """How many objects there are."""
        return self._entries.count(namespace)

    def on_change(self, callback: OnChange) -> None:
        """Call back with (old, new) at each change, after the cache has it and before the write is acknowledged."""
        self._callbacks.append(callback)

    def on_event(self, notify: Callable[[], None]) -> None:
        """Call back when the history has grown."""
        self._notify.append(notify)

    def list(self, selection: Selection = EVERYTHING, *, limit: int = 0, after: str = "") -> Listing:
        """The newest state of all that `selection` matches, in key order.

        `after` is a path (`namespace/name`, or `name` when a namespace is selected) to go on behind.
        """
        if selection.name:
            return Listing([*self._single(selection, after)], self.revision)
        behind = self._behind(selection, after)
        found = self._entries.iterate(selection.namespace, behind)
        if not selection.selective:
            if not limit:
                return Listing(list(found), self.revision)
            entries = list(islice(found, limit))
            remaining = sum(1 for _ in found)
            last = self._path(selection, entries[-1]) if remaining else ""
            return Listing(entries, self.revision, last, remaining if remaining else None)
        matching = (entry for entry in found if selection.matches(entry))
        if not limit:
            return Listing(list(matching), self.revision)
        entries = list(islice(matching, limit))
        more = next(found, None) is not None
        return Listing(entries, self.revision, self._path(selection, entries[-1]) if more and entries else "")

    async def list_at(
        self, revision: int, selection: Selection = EVERYTHING, *, limit: int = 0, after: str = ""
    ) -> Listing:
        """As `list`, as of an older revision. Raises the store's Compacted or FutureRevision."""
        if self.history.newest <= revision <= self.revision and revision >= self._store.compacted:
            now = self.list(selection, limit=limit, after=after)
            return Listing(now.entries, revision, now.last, now.remaining)
        prefix = self.shape.prefix + (f"{selection.namespace}/" if selection.namespace else "")
        start = prefix + after if after else ""
        if not selection.selective and not selection.name:
            page = await self._store.list(prefix, after=start, limit=limit, revision=revision)
            entries = [self.shape.entry(r.key, r.value, r.create_revision, r.mod_revision) for r in page.records]
            last = page.records[-1].key[len(prefix) :] if page.remaining else ""
            return Listing(entries, revision, last, page.remaining or None)
        matching: list[Entry] = []
        while True:
            page = await self._store.list(prefix, after=start, limit=_PAGE_FROM_STORE, revision=revision)
            for position, record in enumerate(page.records, 1):
                entry = self.shape.entry(record.key, record.value, record.create_revision, record.mod_revision)
                if not selection.matches(entry):
                    continue
                matching.append(entry)
                if len(matching) == limit:
                    more = page.remaining or position < len(page.records)
                    return Listing(matching, revision, record.key[len(prefix) :] if more else "")
            if not page.remaining:
                return Listing(matching, revision)
            start = page.records[-1].key

    def seed(self, records: Iterable[tuple[str, bytes, int, int]], revision: int) -> None:
        """Fill an empty cache with (key, value, create revision, mod revision) as of `revision`."""
        for key, value, created, modified in records:
            entry = self._readable(key, value, created, modified)
            if entry is not None:
                self._entries.put(entry)
        self.history.restart(revision)

    def apply(self, change: Change) -> None:
        """Take in the next change of this resource."""
        namespace, name = self.shape.split(change.key)
        old = self._entries.get(namespace, name)
        new: Entry | None = None
        if change.value is not None:
            new = self._readable(change.key, change.value, change.create_revision, change.revision)
        if new is not None:
            self._entries.put(new)
        elif old is not None:
            self._entries.remove(namespace, name)
        self.history.append(Event(change.revision, old, new))
        for callback in self._callbacks:
            try:
                callback(old, new)
            except Exception:  # noqa: BLE001 - the other followers, and the writer who waits, have no part in it
                _log.exception("follower failed key=%s revision=%d", change.key, change.revision)
        for notify in self._notify:
            notify()

    def _readable(self, key: str, value: bytes, created: int, modified: int) -> Entry | None:
        """The entry, or None for a value some stranger put there: one bad object must not hide all the others."""
        try:
            return self.shape.entry(key, value, created, modified)
        except ValueError as error:
            _log.error("skip object key=%s revision=%d cause=%r", key, modified, str(error))
            return None

    def _single(self, selection: Selection, after: str) -> Iterator[Entry]:
        namespaces = [selection.namespace] if selection.namespace or not self.shape.namespaced else None
        if namespaces is not None:
            entry = self._entries.get(namespaces[0], selection.name)
            found = iter(() if entry is None else (entry,))
        else:
            found = (entry for entry in self._entries.iterate() if entry.name == selection.name)
        return (entry for entry in found if selection.matches(entry) and self._path(selection, entry) > after)

    def _behind(self, selection: Selection, after: str) -> tuple[str, str] | None:
        if not after:
            return None
        if selection.namespace or not self.shape.namespaced:
            return selection.namespace, after
        namespace, _, name = after.partition("/")
        return namespace, name

    def _path(self, selection: Selection, entry: Entry) -> str:
        if selection.namespace or not self.shape.namespaced:
            return entry.name
        return f"{entry.namespace}/{entry.name}"


class Caches:
    """The caches of all resources, fed from one subscription to the store.

    Declare the resources, then `start` once; from then on they are current.
    """

    def __init__(self, store: Store, *, decoded_bytes: int = 2 << 20, replay: int = 4096) -> None:
        self._store = store
        self._decoded = DecodedObjects(decoded_bytes)
        self._replay = replay
        self._by_prefix: dict[str, Cache] = {}
        self._started = False
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._held: list[Change] | None = []
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def revision(self) -> int:
        """The revision all caches stand at."""
        return self._store.revision

    def declare(self, shape: Shape, history: History | None = None) -> Cache:
        """Make the cache of a resource; before `start`."""
        if self._started:
            raise RuntimeError(f"declare {shape.prefix}: the caches have started")
        if shape.prefix in self._by_prefix:
            raise ValueError(f"declare {shape.prefix}: declared twice")
        cache = Cache(shape, self._store, self._decoded, history or History())
        self._by_prefix[shape.prefix] = cache
        return cache

    async def start(self) -> None:
        """Fill the caches from the store.

        The last changes before now are replayed from its log, so that watchers that were connected to a server before
        this one can go on where they were.
        """
        self._started = True
        self._unsubscribe = self._store.subscribe(self._on_changes)
        now = self._store.revision
        since = max(self._store.compacted, now - self._replay, 1)
        for cache in self._by_prefix.values():
            page = await self._store.list(cache.shape.prefix, revision=since)
            cache.seed(((r.key, r.value, r.create_revision, r.mod_revision) for r in page.records), since)
        if since < now:
            await self._replay_log(since, now)
        held, self._held = self._held, None
        if held:
            self._take_in(held)

    def stop(self) -> None:
        """Stop following the store."""
        if self._unsubscribe is not None:
            self._unsubscribe()

    async def wait_until(self, revision: int) -> None:
        """Return once the caches stand at `revision` or later; the caller sets the deadline."""
        if self._store.revision >= revision:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((revision, waiter))
        try:
            await waiter
        finally:
            self._waiting = [pair for pair in self._waiting if pair[1] is not waiter]

    async def _replay_log(self, since: int, now: int) -> None:
        watch = self._store.watch("", after=since)
        try:
            async for changes in watch:
                past = [change for change in changes if change.revision <= now]
                for change in past:
                    self._route(change)
                if changes[-1].revision >= now:
                    return
        finally:
            watch.close()

    def _on_changes(self, changes: list[Change]) -> None:
        if self._held is not None:
            self._held.extend(changes)
        else:
            self._take_in(changes)

    def _take_in(self, changes: list[Change]) -> None:
        revision = changes[-1].revision
        for change in changes:
            self._route(change)
        for wanted, waiter in self._waiting:
            if wanted <= revision and not waiter.done():
                waiter.set_result(None)

    def _route(self, change: Change) -> None:
        cache = self._find(change.key)
        if cache is not None:
            cache.apply(change)

    def _find(self, key: str) -> Cache | None:
        """The cache whose prefix the key has: resources lie one or two levels below the root."""
        end = key.find("/", key.find("/", 1) + 1)
        while end >= 0:
            cache = self._by_prefix.get(key[: end + 1])
            if cache is not None:
                return cache
            end = key.find("/", end + 1)
        return None
