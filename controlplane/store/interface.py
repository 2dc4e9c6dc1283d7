"""The seam between the API server and whatever keeps its objects.

A store is an ordered map of keys to opaque bytes with one global revision: every change of any key takes the next one.
It keeps its history until told to compact it, so that it can be read and watched as of any kept revision. These are
etcd's semantics (revision 1 is the empty store, the first change is revision 2), because etcd is one of the engines.

The store knows nothing of Kubernetes: not what the values are, nor that a resourceVersion exists. It belongs to the
event loop it was opened on and must be used from there only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

EMPTY_REVISION = 1
"""The revision of a store in which nothing has happened yet."""


@dataclass(frozen=True, slots=True)
class Record:
    """One key as it was at some revision."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the log. `value` is None for a deletion.

    `create_revision` is that of the life of the key this change belongs to; `previous_revision` is the mod revision the
    key had before, 0 for a creation. The previous value is not carried: who follows the log from a list has it already.
    """

    key: str
    value: bytes | None
    create_revision: int
    previous_revision: int
    revision: int


@dataclass(frozen=True, slots=True)
class Page:
    """A run of records in key order, as of `revision`; `remaining` counts the matching keys beyond it."""

    records: list[Record]
    revision: int
    remaining: int


Changes = list[Change]

Listener = Callable[[Changes], None]
"""Called on the event loop with changes in revision order; must neither block nor raise."""


class Watch(Protocol):
    """Changes under a prefix, in revision order, as non-empty batches.

    Iterating raises Compacted when the reader fell so far behind that history was compacted under it, and ends with
    StopAsyncIteration once the store is closed or `close` was called.
    """

    def __aiter__(self) -> AsyncIterator[list[Change]]: ...

    async def __anext__(self) -> list[Change]: ...

    def close(self) -> None:
        """Stop; a waiting `__anext__` ends."""


class Store(Protocol):
    """An ordered, versioned map of keys to bytes. Any call raises StoreClosed after `close`."""

    @property
    def revision(self) -> int:
        """The newest revision whose change was handed to the listeners."""

    @property
    def compacted(self) -> int:
        """History older than this is gone: reads before it and watches after an earlier revision raise Compacted."""

    async def get(self, key: str, *, revision: int = 0) -> Record | None:
        """The record of a key as of `revision` (0: now). Raises Compacted or FutureRevision."""

    async def list(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        """Records whose key starts with `prefix` and comes after `after`, at most `limit` (0: all), as of `revision`.

        Raises Compacted or FutureRevision.
        """

    async def write(self, key: str, value: bytes | None, *, expect: int | None) -> int:
        """Set a key, or delete it when `value` is None; returns the revision of the change once it is durable.

        `expect` is the mod revision the key must have: 0 for "must be absent", None for no condition. Raises Conflict
        when it has another; StoreBusy when too many writes wait; WriteFailed when the engine could not commit, in which
        case (as when the caller is cancelled) the change may still be there. Deleting an absent key without a condition
        changes nothing and returns the current revision.
        """

    def watch(self, prefix: str, *, after: int) -> Watch:
        """Changes under `prefix` with a revision above `after`. Raises Compacted when those are not all kept."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have every change handed over as it happens, before the write that made it returns.

        A listener that keeps a copy therefore never lags behind an acknowledged write. Returns what ends it.
        """

    async def compact(self, revision: int) -> None:
        """Forget what no reader at or after `revision` needs. Raises FutureRevision; older than `compacted` is a no-op.

        Reads before `revision` fail from the moment this is called; it returns when the space has been freed.
        """

    async def close(self) -> None:
        """Finish the writes that wait, then let go of everything. May be called twice."""
