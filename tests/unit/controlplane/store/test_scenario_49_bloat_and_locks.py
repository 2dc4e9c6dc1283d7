"""Scenario 49: what embedded stores died of in the field. Endless growth, compaction that never recovers, locks.

Modelled on reports about SQLite behind kine (k3s): a WAL of 240 GB, 34,000 revisions of one lease kept, a compaction
transaction too long to ever commit, "database is locked" under load.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from client.clock import FakeClock
from controlplane.store.compacting import Compactor
from controlplane.store.errors import WriteFailed
from controlplane.store.interface import Changes
from controlplane.store.memory import MemoryStore
from controlplane.store.sqlite import open_store
from controlplane.store.sqlite.database import Database

MIB = 1 << 20


def rows(path: Path) -> int:
    raw = sqlite3.connect(path)
    try:
        count: int = raw.execute("SELECT count(*) FROM changes").fetchone()[0]
        return count
    finally:
        raw.close()


async def test_renewing_leases_for_ever_takes_bounded_space(tmp_path: Path) -> None:
    """30 leases renewed 500 times and a job loader beside them, compacted as it goes: megabytes, not gigabytes."""
    path = tmp_path / "state.db"
    store = await open_store(path)
    # What the server runs, with a short memory: a day's load passes in seconds here.
    compactor = Compactor(store, FakeClock(autojump=False), max_revisions=500)
    largest = {"state.db": 0, "state.db-wal": 0}
    async with asyncio.TaskGroup() as group:
        running = group.create_task(compactor.run())
        for turn in range(500):
            await asyncio.gather(
                *(store.write(f"/leases/node-{n}", b"%d " % turn + b"l" * 700, expect=None) for n in range(30)),
                store.write(f"/jobs/{turn}", b"j" * 3000, expect=0),
                store.write(f"/jobs/{turn - 5}", None, expect=None),
            )
            for name in largest:
                largest[name] = max(largest[name], (tmp_path / name).stat().st_size)
        running.cancel()
    assert store.revision > 15_000
    assert store.revision - store.compacted <= 1500
    await store.compact(store.revision)
    await store.close()
    assert rows(path) == 30 + 5
    # 15 MiB of values went through.
    assert largest["state.db"] < 12 * MIB
    assert largest["state.db-wal"] < 12 * MIB
    assert path.stat().st_size < 6 * MIB
    assert not (tmp_path / "state.db-wal").exists()


async def test_a_file_that_has_grown_shrinks_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    store = await open_store(path)
    for start in range(0, 4000, 200):
        await asyncio.gather(*(store.write(f"/k/{n}", b"x" * 8000, expect=0) for n in range(start, start + 200)))
    for start in range(0, 4000, 200):
        await asyncio.gather(*(store.write(f"/k/{n}", None, expect=None) for n in range(start, start + 200)))
    await store.compact(store.revision)
    await store.close()
    assert path.stat().st_size < 6 * MIB


async def test_writes_go_on_while_a_long_history_is_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_store(tmp_path / "state.db")
    for start in range(0, 6000, 300):
        await asyncio.gather(*(store.write(f"/k/{n % 7}", b"x" * 300, expect=None) for n in range(start, start + 300)))
    steps: list[str] = []
    real = Database.sweep

    def sweep(self: Database, revisions: int) -> bool:
        steps.append("sweep")
        return real(self, revisions)

    monkeypatch.setattr(Database, "sweep", sweep)
    store.subscribe(lambda _: steps.append("write"))
    async with asyncio.TaskGroup() as group:
        compaction = group.create_task(store.compact(store.revision))
        while not compaction.done():
            await store.write("/live", b"", expect=None)
    assert steps.count("sweep") >= 12
    longest = max(len(run) for run in "".join(step[0] for step in steps).split("w"))
    assert longest <= 2
    await store.close()


async def test_a_compaction_that_fails_half_way_goes_on_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.db"
    store = await open_store(path)
    for start in range(0, 3000, 300):
        await asyncio.gather(*(store.write(f"/k/{n % 5}", b"x", expect=None) for n in range(start, start + 300)))
    real = Database.sweep
    swept: list[int] = []

    def sweep(self: Database, revisions: int) -> bool:
        if len(swept) == 2:
            raise WriteFailed("compact", "took too long")
        swept.append(self.swept)
        return real(self, revisions)

    monkeypatch.setattr(Database, "sweep", sweep)
    with pytest.raises(WriteFailed):
        await store.compact(store.revision)
    # What it had given up stays given up, and what was swept is not swept again.
    assert store.compacted == store.revision
    monkeypatch.setattr(Database, "sweep", real)
    await store.close()
    assert 1500 < rows(path) < 2500

    store = await open_store(path)
    assert store.compacted == store.revision
    await store.compact(store.compacted)
    assert len((await store.list("/k/")).records) == 5
    await store.close()
    assert rows(path) == 5


async def test_the_compactor_survives_a_store_that_fails_and_catches_up() -> None:
    class Stubborn(MemoryStore):
        failures = 3

        async def compact(self, revision: int) -> None:
            if self.failures:
                self.failures -= 1
                raise WriteFailed("compact", "disk full")
            await super().compact(revision)

    clock = FakeClock(autojump=False)
    store = Stubborn()
    async with asyncio.TaskGroup() as group:
        group.create_task(Compactor(store, clock, keep=300.0).run())
        for _ in range(40):
            await store.write("/lease", b"", expect=None)
            await clock.advance(60)
        assert store.failures == 0
        # A write a minute, five minutes kept.
        assert store.revision - store.compacted in (5, 6)
        await store.close()
        await clock.advance(60)


async def test_a_burst_is_compacted_before_its_time() -> None:
    store = MemoryStore()
    compacted: list[int] = []

    def note(changes: Changes) -> None:
        compacted.append(store.compacted)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(Compactor(store, FakeClock(autojump=False), max_revisions=100).run())
        await asyncio.sleep(0)
        store.subscribe(note)
        for _ in range(1000):
            await store.write("/lease", b"", expect=None)
            await asyncio.sleep(0)
        assert store.revision - store.compacted < 200
        running.cancel()
    assert compacted[150] == 0


async def test_a_strangers_reader_or_writer_cannot_get_in_the_way(tmp_path: Path) -> None:
    """While we hold the file nobody else can start a transaction in it, so nobody can keep the log from shrinking."""
    path = tmp_path / "state.db"
    store = await open_store(path)
    await store.write("/a", b"", expect=0)
    stranger = (
        "import sqlite3, sys\n"
        "for sql in ('BEGIN; SELECT count(*) FROM changes', 'BEGIN IMMEDIATE'):\n"
        "    try:\n"
        "        sqlite3.connect(sys.argv[1], timeout=0.05).executescript(sql)\n"
        "        print('let in')\n"
        "    except sqlite3.OperationalError as error:\n"
        "        print(error)\n"
    )
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", stranger, str(path), stdout=subprocess.PIPE)
    async with asyncio.timeout(60):
        said, _ = await child.communicate()
    assert said == b"database is locked\ndatabase is locked\n"
    for number in range(50):
        await store.write(f"/{number}", b"x" * 200_000, expect=None)
    assert (tmp_path / "state.db-wal").stat().st_size < 12 * MIB
    await store.close()
