"""The SQL of the embedded store: one table that is the log of changes, and with it the state at every kept revision.

A row is a change; the newest row of a key at or below a revision is the key's state then. Compaction deletes the rows
that a later row at or below the compacted revision has replaced, walking the log once in small transactions; how far it
has come is stored with them, so that it goes on there after a failure.

Everything here blocks and is called from one thread. Errors of the library are translated in this module and nowhere
else.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from controlplane.store.errors import Compacted, CorruptStore, ReadFailed, WriteFailed
from controlplane.store.interface import EMPTY_REVISION, Change, Record
from controlplane.store.keys import prefix_end

SCHEMA = """
CREATE TABLE changes (
    revision INTEGER PRIMARY KEY,
    key      TEXT NOT NULL,
    created  INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    value    BLOB
);
CREATE INDEX changes_by_key ON changes (key);
CREATE TABLE progress (name TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO progress VALUES ('compacted', 0), ('swept', 0);
"""

WAL_PAGES = 512
"""Pages in the write-ahead log at which it is copied into the file: 4 MiB of pages of 8 KiB."""

_ROWS_PER_STATEMENT = 64
_PAGES_PER_COMMIT = 5
_FREE_PAGES_KEPT = 512
_PAST_ALL_KEYS = "\U0010ffff"

_INSERT = ["INSERT INTO changes VALUES " + ", ".join(["(?, ?, ?, ?, ?)"] * n) for n in range(_ROWS_PER_STATEMENT + 1)]

_RECORD = "SELECT revision, created, value FROM changes WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1"

# In a query with one max(), SQLite takes the other columns from the row that has the maximum.
_STATE = """
SELECT key, max(revision), created, value FROM changes WHERE key >= ? AND key < ? AND revision <= ?
GROUP BY key HAVING value IS NOT NULL ORDER BY key LIMIT ?
"""
_COUNT = """
SELECT count(*) FROM (
    SELECT max(revision), value IS NULL AS gone FROM changes WHERE key >= ? AND key < ? AND revision <= ? GROUP BY key
) WHERE NOT gone
"""
_HEADS = "SELECT key, max(revision), created FROM changes GROUP BY key HAVING value IS NOT NULL"

# The plus sign keeps the planner from the index on keys: what is wanted is a short run of revisions.
_LOG = """
SELECT key, value, created, previous, revision FROM changes
WHERE revision > ? AND revision <= ? AND +key >= ? AND +key < ? ORDER BY revision
"""

_DROP_REPLACED = """
DELETE FROM changes WHERE revision IN
    (SELECT previous FROM changes WHERE revision > ? AND revision <= ? AND previous > 0)
"""
_DROP_TOMBSTONES = "DELETE FROM changes WHERE revision > ? AND revision <= ? AND value IS NULL"


class Database:
    """An open file. `revision`, `compacted` and `swept` mirror what is committed in it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._wal_pages = 0.0
        with reading("read the state of the store"):
            self.page_size: int = self._single("PRAGMA page_size")
            progress = dict(connection.execute("SELECT name, revision FROM progress").fetchall())
            self.compacted: int = progress["compacted"]
            self.swept: int = progress["swept"]
            self.revision = self.newest_on_disk()

    def heads(self) -> dict[str, tuple[int, int]]:
        """(create revision, mod revision) of every key there is."""
        with reading("read the keys of the store"):
            return {key: (created, modified) for key, modified, created in self._connection.execute(_HEADS)}

    def newest_on_disk(self) -> int:
        """The newest revision that is committed, read anew: the truth after a commit that failed half-way."""
        with reading("read the newest revision"):
            newest: int = self._single("SELECT coalesce(max(revision), 0) FROM changes")
            return max(newest, self.compacted, EMPTY_REVISION)

    def append(self, changes: list[Change]) -> None:
        """Commit changes that follow on the newest revision. Raises WriteFailed, and then nothing or all is written.

        Up to a certain number they are one statement and so one call into SQLite: each call gives up the interpreter's
        lock, and getting it back from a busy event loop costs more than the insert.
        """
        rows = [(c.revision, c.key, c.create_revision, c.previous_revision, c.value) for c in changes]
        with writing(f"commit {len(rows)} changes"):
            if len(rows) <= _ROWS_PER_STATEMENT:
                self._insert(rows)
            else:
                with self._transaction():
                    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
                        self._insert(rows[start : start + _ROWS_PER_STATEMENT])
        self.revision = changes[-1].revision
        size = sum(len(change.value or b"") + 2 * len(change.key) for change in changes)
        self._wal_pages += _PAGES_PER_COMMIT + size / self.page_size * 1.25

    def record(self, key: str, revision: int) -> Record | None:
        """A key as of a revision. Raises Compacted."""
        self._check_kept(revision)
        with reading(f"read {key}"):
            row = self._connection.execute(_RECORD, (key, revision)).fetchone()
        if row is None or row[2] is None:
            return None
        return Record(key, row[2], row[1], row[0])

    def records(self, prefix: str, after: str, limit: int, revision: int) -> list[Record]:
        """At most `limit` records under a prefix as of a revision, in key order. Raises Compacted."""
        self._check_kept(revision)
        low, high = _bounds(prefix, after)
        with reading(f"list {prefix}"):
            rows = self._connection.execute(_STATE, (low, high, revision, limit)).fetchall()
        return [Record(key, value, created, modified) for key, modified, created, value in rows]

    def count(self, prefix: str, after: str, revision: int) -> int:
        """How many records `records` would find without a limit. Raises Compacted."""
        self._check_kept(revision)
        low, high = _bounds(prefix, after)
        with reading(f"count {prefix}"):
            return self._single(_COUNT, (low, high, revision))

    def changes(self, prefix: str, after: int, until: int) -> list[Change]:
        """The changes under a prefix with a revision in (`after`, `until`]. Raises Compacted."""
        self._check_kept(after)
        low, high = _bounds(prefix, "")
        with reading(f"read the log of {prefix}"):
            return [Change(*row) for row in self._connection.execute(_LOG, (after, until, low, high))]

    def begin_compaction(self, revision: int) -> None:
        """Give up history before a revision; `sweep` then frees it. Never goes back. Raises WriteFailed."""
        if revision <= self.compacted:
            return
        with writing(f"compact to revision {revision}"):
            self._connection.execute("UPDATE progress SET revision = ? WHERE name = 'compacted'", (revision,))
        self.compacted = revision
        self._wal_pages += 2

    def sweep(self, revisions: int) -> bool:
        """Free what compaction gave up, over the next so many revisions of the log, in one transaction.

        Returns whether more is left. Raises WriteFailed; what was swept before stays swept.
        """
        start, end = self.swept, min(self.swept + revisions, self.compacted)
        if start >= end:
            return False
        with writing(f"compact revisions {start} to {end}"), self._transaction():
            dropped = self._connection.execute(_DROP_REPLACED, (start, end)).rowcount
            dropped += self._connection.execute(_DROP_TOMBSTONES, (start, end)).rowcount
            self._connection.execute("UPDATE progress SET revision = ? WHERE name = 'swept'", (end,))
        self.swept = end
        self._wal_pages += 4 + dropped
        return end < self.compacted

    def shrink(self, pages: int) -> bool:
        """Give up to so many free pages at the end of the file back to the disk; returns whether more should be.

        A stock of free pages is kept, since the store will want them again. Raises WriteFailed.
        """
        with writing("shrink the file"):
            free: int = self._single("PRAGMA freelist_count")
            total: int = self._single("PRAGMA page_count")
            surplus = free - max(_FREE_PAGES_KEPT, total // 5)
            if surplus <= 0:
                return False
            # Each step of this pragma frees one page without yielding a row: `execute` would make only the first.
            self._connection.executescript(f"PRAGMA incremental_vacuum({min(pages, surplus)})")
        self._wal_pages += min(pages, surplus)
        return surplus > pages

    @property
    def wal_is_full(self) -> bool:
        """Whether the write-ahead log should be checkpointed now."""
        return self._wal_pages >= WAL_PAGES

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file and start it anew. Raises WriteFailed.

        Commits stay durable without it. It is asked for again only after another log's worth of commits.
        """
        self._wal_pages = 0
        with writing("checkpoint the write-ahead log"):
            busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if busy:
                raise WriteFailed("checkpoint the write-ahead log", "a reader is in the way")

    def close(self) -> None:
        """Checkpoint and let go of the file. Raises WriteFailed when the former is impossible; no commit is lost."""
        try:
            with writing("checkpoint the write-ahead log"):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self._connection.close()

    def _insert(self, rows: list[tuple[int, str, int, int, bytes | None]]) -> None:
        self._connection.execute(_INSERT[len(rows)], [column for row in rows for column in row])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _single(self, sql: str, parameters: tuple[object, ...] = ()) -> int:
        value: int = self._connection.execute(sql, parameters).fetchone()[0]
        return value

    def _check_kept(self, revision: int) -> None:
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)


@contextlib.contextmanager
def writing(step: str) -> Iterator[None]:
    """Translate the library's errors: damage is CorruptStore, everything else WriteFailed."""
    try:
        yield
    except sqlite3.Error as error:
        raise _damage(step, error) or WriteFailed(step, _cause(error)) from error


@contextlib.contextmanager
def reading(step: str) -> Iterator[None]:
    """Translate the library's errors: damage is CorruptStore, everything else ReadFailed."""
    try:
        yield
    except sqlite3.Error as error:
        raise _damage(step, error) or ReadFailed(step, _cause(error)) from error


def _damage(step: str, error: sqlite3.Error) -> CorruptStore | None:
    if _name(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CorruptStore(f"{step}: {_cause(error)}; the file is checked when the store is opened again")
    return None


def _cause(error: sqlite3.Error) -> str:
    name = _name(error)
    return f"{error} ({name})" if name else str(error)


def _name(error: sqlite3.Error) -> str:
    # Absent from errors that the Python layer raises itself.
    return getattr(error, "sqlite_errorname", "")


def _bounds(prefix: str, after: str) -> tuple[str, str]:
    """The keys under a prefix and behind `after`, as a half-open range."""
    low = after + "\0" if after >= prefix else prefix
    return low, prefix_end(prefix) or _PAST_ALL_KEYS
