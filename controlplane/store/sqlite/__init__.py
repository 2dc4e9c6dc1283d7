"""The embedded engine: one SQLite file, one thread that owns it, and commits shared by the writers that wait.

    store.py       what the event loop sees: the `Store` interface, futures, the queue
    storage.py     the thread: batches of writes, one fsync each; reads and compaction steps between them
    database.py    the SQL, synchronous, knowing nothing of threads or loops
    opening.py     creating, checking and setting aside the file

The thread holds the file exclusively. So no stranger's read transaction can keep the WAL from being checkpointed and no
stranger's lock can make a write fail (both are how embedded stores of this kind have died), and two servers can never
write to one file.
"""

from controlplane.store.sqlite.store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
