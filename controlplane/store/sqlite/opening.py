"""Opening the store's file: make it, or prove that it is whole, before anyone reads from it.

A damaged file is moved aside with its write-ahead log and never touched again, and the store then refuses to open until
someone has decided: to put a backup in its place, or to move the damaged copy away and start empty. Starting empty by
itself would lose the cluster's state and, worse, tell the node that none of its pods should be running.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from client.files import make_directory, set_aside, sync_directory
from controlplane.store.errors import CorruptStore, StoreInUse
from controlplane.store.sqlite.database import SCHEMA, WAL_PAGES, Database, reading, writing

APPLICATION_ID = 0x4F524C50
"""Marks the file as ours ("ORLP") for `file` and for us."""

SCHEMA_VERSION = 1

_PAGE_SIZE = 8192
_WAL_BYTES_KEPT = 2 * WAL_PAGES * _PAGE_SIZE
_COMPANIONS = ("-wal", "-shm", "-journal")


def open_database(path: Path, *, now: float, lock_timeout: float) -> Database:
    """Open or create the file. `now` (seconds since the epoch) stamps the name of a damaged file that is set aside.

    Raises StoreInUse when another process keeps it for `lock_timeout` seconds, CorruptStore when it cannot be trusted,
    ReadFailed or WriteFailed when the disk does not play along.
    """
    make_directory(path.parent)
    fresh = not path.exists()
    if fresh:
        _clear_the_place(path, now)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(
        path, timeout=lock_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        damage = _prepare(connection)
        if not damage:
            sync_directory(path.parent)
            return Database(connection)
    except BaseException:
        connection.close()
        raise
    connection.close()
    kept = _set_aside(path, now)
    raise CorruptStore(
        f"open {path}: {damage}; the damaged file was kept as {kept}. Put a backup at {path} and start again, "
        f"or move {kept.name} to another folder to start with an empty store"
    )


def _prepare(connection: sqlite3.Connection) -> str:
    """Bring the connection into the state the store relies on; returns what is wrong with the file, or ""."""
    try:
        # Taken before the first access in WAL mode, so that the index of the log is kept in memory and not shared.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {2 * WAL_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")
        connection.execute("PRAGMA secure_delete = OFF")
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            return f"integrity check: {found}"
        _ensure_schema(connection)
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return str(error)
        if name.startswith("SQLITE_BUSY"):
            raise StoreInUse("open the store: another process holds the file") from error
        with reading("read the file of the store"):
            raise
    return ""


def _ensure_schema(connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if not tables and not application:
        with writing("create the tables of the store"):
            connection.executescript(
                f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
    elif application != APPLICATION_ID:
        raise CorruptStore("open the store: the file is a database of another program; it was left as it is")
    elif version != SCHEMA_VERSION:
        raise CorruptStore(
            f"open the store: the file has schema version {version}, this program knows {SCHEMA_VERSION}; "
            "it was left as it is"
        )


def _clear_the_place(path: Path, now: float) -> None:
    """Before a new file is made: refuse after damage, and leave no old log that SQLite would take for its own."""
    kept = sorted(path.parent.glob(f"{path.name}.damaged-*[0-9Z]"))
    if kept:
        _move_companions(path, kept[-1])
        raise CorruptStore(
            f"open {path}: there is none, but a damaged one was kept as {kept[-1]}. Put a backup at {path}, "
            f"or move {kept[-1].name} to another folder to start with an empty store"
        )
    for suffix in _COMPANIONS:
        companion = path.with_name(path.name + suffix)
        if companion.exists():
            set_aside(companion, now)


def _set_aside(path: Path, now: float) -> Path:
    """Move the file, then its companions: without its log it might pass for whole, so it must not stay alone."""
    kept = set_aside(path, now)
    _move_companions(path, kept)
    return kept


def _move_companions(path: Path, kept: Path) -> None:
    for suffix in _COMPANIONS:
        companion = path.with_name(path.name + suffix)
        if companion.exists():
            companion.rename(kept.with_name(kept.name + suffix))
    sync_directory(path.parent)
