"""What a store can say instead of an answer.

    StoreError
    ├── Conflict          the key is not in the state the writer required
    ├── Compacted         the revision asked for is no longer kept
    ├── FutureRevision    the revision asked for does not exist yet
    ├── StoreBusy         too many writes wait already; nothing was written
    ├── WriteFailed       the engine could not commit; the write may or may not be there
    ├── ReadFailed        the engine could not read
    ├── StoreClosed       the store is closed or was closed while the call waited
    ├── StoreInUse        another process holds the file
    └── CorruptStore      what is on disk cannot be trusted

Engines map the errors of the library below them at one place, so that callers never see `sqlite3.Error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controlplane.store.interface import Record


class StoreError(Exception):
    """Any failure of a store."""


class Conflict(StoreError):
    """The key's mod revision is not the expected one.

    `current` is the record that stands in the way, or None when the key is absent.
    """

    def __init__(self, key: str, expected: int, current: Record | None) -> None:
        found = "absent" if current is None else f"at revision {current.mod_revision}"
        wanted = "absent" if expected == 0 else f"at revision {expected}"
        super().__init__(f"write {key}: must be {wanted}, is {found}")
        self.key = key
        self.expected = expected
        self.current = current


class Compacted(StoreError):
    """History before `compacted` is gone; `revision` was asked for."""

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest kept is {compacted}")
        self.revision = revision
        self.compacted = compacted


class FutureRevision(StoreError):
    """The store has only come to revision `current`."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the newest is {current}")
        self.revision = revision
        self.current = current


class StoreBusy(StoreError):
    """The queue of writes is full. Nothing was written: try again a little later."""

    def __init__(self, key: str, waiting: int) -> None:
        super().__init__(f"write {key}: {waiting} writes wait already")
        self.key = key
        self.waiting = waiting


class WriteFailed(StoreError):
    """A commit failed (disk full, I/O error, deadline). As with any broken call, the write may still have happened."""

    def __init__(self, step: str, cause: str) -> None:
        super().__init__(f"{step}: {cause}")
        self.step = step
        self.cause = cause


class ReadFailed(StoreError):
    """The engine could not read (I/O error)."""

    def __init__(self, step: str, cause: str) -> None:
        super().__init__(f"{step}: {cause}")
        self.step = step
        self.cause = cause


class StoreClosed(StoreError):
    """The store takes no more calls."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


class StoreInUse(StoreError):
    """Another process holds the file, and kept it for as long as we were willing to wait."""


class CorruptStore(StoreError):
    """The file is damaged, or of a schema this program does not know. The message names what was done with it."""
