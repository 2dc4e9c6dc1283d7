"""When the disk does not play along: clear errors, and a store that stays consistent with what is on it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controlplane.store.errors import CorruptStore, ReadFailed, StoreBusy, StoreClosed, WriteFailed
from controlplane.store.interface import Change
from controlplane.store.sqlite import SqliteStore, open_store
from controlplane.store.sqlite.database import Database


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(tmp_path / "state.db")
    yield opened
    await opened.close()


def failing(monkeypatch: pytest.MonkeyPatch, method: str, error: Exception, *, times: int = 1, done: bool) -> None:
    """Let a method of the database fail so many times, after it was done or instead."""
    real = getattr(Database, method)
    left = times

    def call(self: Database, *args: object) -> object:
        nonlocal left
        left -= 1
        if left >= 0 and not done:
            raise error
        revision = self.revision
        result = real(self, *args)
        if left >= 0:
            self.revision = revision
            raise error
        return result

    monkeypatch.setattr(Database, method, call)


async def test_a_full_disk_fails_writes_and_nothing_else(tmp_path: Path) -> None:
    """A real limit on the size of files, in a process of its own: writes fail, reads go on, and space heals it."""
    script = """
import asyncio, json, pathlib, resource, signal, sys
from controlplane.store.sqlite import open_store
from controlplane.store.errors import WriteFailed
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
async def main():
    store = await open_store(pathlib.Path(sys.argv[1]))
    acknowledged, failures = {}, set()
    async def write(key, value):
        try:
            acknowledged[key] = await store.write(key, value, expect=0)
        except WriteFailed as error:
            failures.add(str(error))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    for start in range(0, 400, 10):
        await asyncio.gather(*(write(f"/full/{n}", b"x" * 5000) for n in range(start, start + 10)))
    readable = len((await store.list("/full/")).records)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await write("/after", b"y")
    result = dict(acknowledged=acknowledged, failures=sorted(failures), readable=readable, revision=store.revision)
    await store.close()
    print(json.dumps(result))
asyncio.run(main())
"""
    path = tmp_path / "state.db"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(path), stdout=subprocess.PIPE)
    async with asyncio.timeout(60):
        said, _ = await child.communicate()
    assert child.returncode == 0
    result = json.loads(said)
    acknowledged = result["acknowledged"]
    assert result["failures"]
    assert all(failure.startswith("commit ") for failure in result["failures"])
    assert 0 < result["readable"] < 400
    assert result["readable"] == len(acknowledged) - 1
    assert "/after" in acknowledged

    store = await open_store(path)
    records = (await store.list("/")).records
    assert {record.key: record.mod_revision for record in records} == acknowledged
    assert store.revision == result["revision"]
    await store.close()


async def test_a_failed_commit_takes_no_revisions(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Change] = []
    store.subscribe(seen.extend)
    await store.write("/a", b"1", expect=0)
    failing(monkeypatch, "append", WriteFailed("commit 3 changes", "disk full"), done=False)
    writes = (store.write(key, b"2", expect=None) for key in ("/a", "/b", "/c"))
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert [str(answer) for answer in answers] == ["commit 3 changes: disk full"] * 3
    assert await store.write("/b", b"3", expect=0) == 3
    assert await store.write("/a", b"4", expect=2) == 4
    assert [(change.key, change.value) for change in seen] == [("/a", b"1"), ("/b", b"3"), ("/a", b"4")]


async def test_a_commit_that_failed_and_is_there_after_all_counts(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Change] = []
    store.subscribe(seen.extend)
    failing(monkeypatch, "append", WriteFailed("commit", "I/O error"), done=True)
    assert await store.write("/a", b"1", expect=0) == 2
    assert await store.write("/a", b"2", expect=2) == 3
    assert [change.revision for change in seen] == [2, 3]


async def test_when_nobody_can_tell_the_next_write_finds_out(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit fails, the look at what is there fails too: the writer hears of a failure, listeners get the truth."""
    seen: list[Change] = []
    store.subscribe(seen.extend)
    failing(monkeypatch, "append", WriteFailed("commit", "I/O error"), done=True)
    failing(monkeypatch, "newest_on_disk", ReadFailed("read the newest revision", "I/O error"), times=2, done=False)
    with pytest.raises(WriteFailed, match="commit: I/O error"):
        await store.write("/a", b"1", expect=0)
    with pytest.raises(ReadFailed):
        await store.write("/b", b"1", expect=0)
    assert seen == []
    assert await store.write("/b", b"2", expect=0) == 3
    assert [(change.key, change.revision) for change in seen] == [("/a", 2), ("/b", 3)]
    record = await store.get("/a")
    assert record is not None
    assert record.value == b"1"


async def test_damage_found_while_running_stops_all_writes(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "append", CorruptStore("commit: database disk image is malformed"), done=False)
    for _ in range(2):
        with pytest.raises(CorruptStore):
            await store.write("/a", b"1", expect=0)


async def test_a_failing_checkpoint_costs_no_write(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "checkpoint", WriteFailed("checkpoint", "disk full"), times=3, done=False)
    for number in range(40):
        await store.write(f"/{number}", b"x" * 500_000, expect=0)
    assert store.revision == 41


async def test_the_queue_is_bounded(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "state.db", max_waiting=10, max_waiting_bytes=1000)
    writes = [asyncio.ensure_future(store.write(f"/{n}", b"x", expect=0)) for n in range(30)]
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert len([answer for answer in answers if isinstance(answer, StoreBusy)]) == 20
    big = [asyncio.ensure_future(store.write(f"/big/{n}", b"x" * 600, expect=0)) for n in range(4)]
    answers = await asyncio.gather(*big, return_exceptions=True)
    assert [isinstance(answer, StoreBusy) for answer in answers] == [False, False, True, True]
    assert await store.write("/again", b"", expect=0) == 14
    await store.close()


async def test_a_bug_in_the_thread_closes_the_store_instead_of_hanging_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    failing(monkeypatch, "append", ZeroDivisionError("a bug"), done=False)
    async with asyncio.timeout(10):
        with pytest.raises(StoreClosed):
            await store.write("/a", b"1", expect=0)
        with pytest.raises(StoreClosed):
            await store.get("/a")
        await store.close()  # waits for the thread's last word, while nobody listens for it


async def test_keys_that_are_no_text_are_refused(store: SqliteStore) -> None:
    with pytest.raises(UnicodeEncodeError):
        await store.write("/\ud800", b"", expect=0)
    with pytest.raises(UnicodeEncodeError):
        await store.get("/\ud800")
    assert await store.write("/ok", b"", expect=0) == 2


async def test_the_revision_outlives_everything_it_counted(tmp_path: Path) -> None:
    """What the file holds after everything was deleted and compacted is an empty log, and the revision goes on."""
    path = tmp_path / "state.db"
    store = await open_store(path)
    for number in range(20):
        await store.write(f"/{number}", b"", expect=0)
    for number in range(20):
        await store.write(f"/{number}", None, expect=None)
    await store.compact(store.revision)
    await store.close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT count(*) FROM changes").fetchone() == (0,)
    raw.close()
    store = await open_store(path)
    assert store.revision == 41
    await store.close()
