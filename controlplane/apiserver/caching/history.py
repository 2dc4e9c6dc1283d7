"""The recent changes of one resource, from which watches are served.

A ring bounded by count and by bytes. Every change has a place: a number that grows by one, so that a watcher is no more
than a place in here plus somewhere to write to. Who falls behind the oldest place has missed something and must list
again.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apiserver.caching.entries import Entry, Selection

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"

Encode = Callable[[str, Entry], bytes]
"""Turns an event's type and object into the bytes that go on the wire."""


class TooOld(Exception):
    """History behind the revision asked for is no longer here: 410 Gone, reason Expired."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {revision} ({oldest})")
        self.revision = revision
        self.oldest = oldest


class Overtaken(Exception):
    """The ring has moved on past a place that was still to be read."""


class Event:
    """One change: the object before and after (None: absent), and the bytes already made of it."""

    __slots__ = ("_encoded", "_last", "new", "old", "revision")

    def __init__(self, revision: int, old: Entry | None, new: Entry | None) -> None:
        self.revision = revision
        self.old = old
        self.new = new
        self._last: Entry | None = None
        self._encoded: dict[tuple[str, Encode], bytes] = {}

    def seen_by(self, selection: Selection) -> str:
        """The type this change has for a watcher: an object that comes into view is added, one that leaves deleted.

        Returns "" when the watcher sees nothing of it.
        """
        now = self.new is not None and selection.matches(self.new)
        before = self.old is not None and selection.matches(self.old)
        if now:
            return MODIFIED if before else ADDED
        return DELETED if before else ""

    def encoded(self, kind: str, encode: Encode) -> bytes:
        """The event in the form of `encode`, made once however many watchers there are.

        A deleted object is shown in its last state, stamped with the revision of the deletion.
        """
        found = self._encoded.get((kind, encode))
        if found is None:
            found = self._encoded[kind, encode] = encode(kind, self._subject(kind))
        return found

    def forget_encoded(self) -> None:
        """Free the encoded forms; they are made again if a late watcher needs them."""
        self._encoded.clear()

    @property
    def size(self) -> int:
        """Roughly how many bytes keeping this event costs."""
        subject = self.new or self.old
        return 400 + (len(subject.raw) if subject is not None else 0)

    def _subject(self, kind: str) -> Entry:
        if kind != DELETED and self.new is not None:
            return self.new
        if self._last is None:
            if self.old is None:
                raise ValueError("a creation cannot be seen as a deletion")
            self._last = self.old.at(self.revision)
        return self._last


class History:
    """The ring. `floor` is the revision after which all changes are still here."""

    def __init__(self, *, max_events: int = 4096, max_bytes: int = 8 << 20) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: dict[int, Event] = {}
        self._bytes = 0
        self.first = 0
        self.next = 0
        self.floor = 0
        self.newest = 0

    def restart(self, revision: int) -> None:
        """Begin anew: nothing before `revision` is known."""
        self._events.clear()
        self._bytes = 0
        self.first = self.next
        self.floor = self.newest = revision

    def append(self, event: Event) -> None:
        """Add the newest change and let go of the oldest beyond the bounds."""
        self._events[self.next] = event
        self.next += 1
        self.newest = event.revision
        self._bytes += event.size
        while len(self._events) > self._max_events or (self._bytes > self._max_bytes and len(self._events) > 1):
            dropped = self._events.pop(self.first)
            self.first += 1
            self.floor = dropped.revision
            self._bytes -= dropped.size

    def place_after(self, revision: int) -> int:
        """The place of the first change after `revision`. Raises TooOld."""
        if revision < self.floor:
            raise TooOld(revision, self.floor)
        low, high = self.first, self.next
        while low < high:
            middle = (low + high) // 2
            if self._events[middle].revision > revision:
                high = middle
            else:
                low = middle + 1
        return low

    def between(self, place: int, end: int) -> list[Event]:
        """The events from `place` to before `end`. Raises Overtaken when the first of them are gone."""
        if place < self.first:
            raise Overtaken
        events = self._events
        return [events[index] for index in range(place, min(end, self.next))]
