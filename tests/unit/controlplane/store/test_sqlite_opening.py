"""Opening the embedded store: fresh, again, damaged, foreign, in use."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from client.clock import FakeClock
from controlplane.store.errors import CorruptStore, StoreInUse
from controlplane.store.interface import Change, Record
from controlplane.store.sqlite import open_store

CLOCK = FakeClock(0.0, autojump=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "state.db"


async def fill(path: Path, count: int = 200) -> None:
    store = await open_store(path)
    for number in range(count):
        await store.write(f"/k/{number:05}", b"v" * 500, expect=0)
    await store.close()


async def test_it_is_private_to_its_owner(path: Path) -> None:
    store = await open_store(path)
    await store.write("/secret", b"s", expect=0)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    await store.close()


async def test_what_was_written_is_there_after_a_restart(path: Path) -> None:
    store = await open_store(path)
    await store.write("/a", b"1", expect=0)
    await store.write("/a", b"2", expect=2)
    await store.write("/b", b"x", expect=0)
    await store.write("/b", None, expect=None)
    await store.close()
    assert [file.name for file in path.parent.iterdir()] == ["state.db"]

    store = await open_store(path)
    assert store.revision == 5
    assert await store.get("/a") == Record("/a", b"2", 2, 3)
    assert await store.get("/a", revision=2) == Record("/a", b"1", 2, 2)
    assert await anext(store.watch("/b", after=3)) == [
        Change("/b", b"x", 4, 0, 4),
        Change("/b", None, 4, 4, 5),
    ]
    assert await store.write("/a", b"3", expect=3) == 6
    await store.close()


async def test_a_second_server_is_refused(path: Path) -> None:
    store = await open_store(path)
    second = (
        "import asyncio, pathlib, sys\n"
        "from controlplane.store.sqlite import open_store\n"
        "from controlplane.store.errors import StoreInUse\n"
        "async def main():\n"
        "    try:\n"
        "        await open_store(pathlib.Path(sys.argv[1]), lock_timeout=0.1)\n"
        "    except StoreInUse as error:\n"
        "        print(error)\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", second, str(path), stdout=subprocess.PIPE)
    async with asyncio.timeout(60):
        said, _ = await child.communicate()
    assert said == b"open the store: another process holds the file\n"
    await store.write("/still", b"ours", expect=0)
    await store.close()


@pytest.mark.parametrize("damage", ["page", "cut", "header", "garbage"])
async def test_a_damaged_file_is_kept_and_nothing_is_served_until_someone_decides(path: Path, damage: str) -> None:
    await fill(path)
    content = bytearray(path.read_bytes())
    match damage:
        case "page":
            content[8192 * 3 : 8192 * 3 + 4000] = b"\xff" * 4000
        case "cut":
            del content[len(content) // 2 :]
        case "header":
            content[:100] = b"\0" * 100
        case "garbage":
            content = bytearray(b"not a database " * 1000)
    path.write_bytes(content)
    path.with_name("state.db-wal").write_bytes(b"log")

    with pytest.raises(CorruptStore, match=r"state\.db\.damaged-19700101T000000Z") as caught:
        await open_store(path, clock=CLOCK)
    assert "Put a backup" in str(caught.value)
    kept = path.with_name("state.db.damaged-19700101T000000Z")
    assert kept.exists()
    assert not path.exists()
    assert not path.with_name("state.db-wal").exists()

    with pytest.raises(CorruptStore, match="there is none, but a damaged one was kept"):
        await open_store(path, clock=CLOCK)
    assert not path.exists()

    elsewhere = path.parent.parent / "elsewhere"
    kept.rename(elsewhere)
    store = await open_store(path, clock=CLOCK)
    assert store.revision == 1
    await store.close()


async def test_a_crash_while_setting_aside_is_made_up_for(path: Path) -> None:
    """Killed between moving the file and its log: the log must not be taken for that of a backup put in place."""
    await fill(path, 5)
    path.rename(path.with_name("state.db.damaged-19700101T000000Z"))
    path.with_name("state.db-wal").write_bytes(b"log")
    with pytest.raises(CorruptStore):
        await open_store(path, clock=CLOCK)
    assert path.with_name("state.db.damaged-19700101T000000Z-wal").read_bytes() == b"log"
    assert not path.with_name("state.db-wal").exists()


async def test_a_log_without_its_file_is_not_replayed_into_a_new_one(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("state.db-wal").write_bytes(b"log of another life")
    store = await open_store(path, clock=CLOCK)
    assert store.revision == 1
    await store.close()
    assert (path.parent / "state.db-wal.damaged-19700101T000000Z").read_bytes() == b"log of another life"


async def test_a_start_that_was_killed_before_the_tables_were_made(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    store = await open_store(path)
    assert await store.write("/a", b"", expect=0) == 2
    await store.close()


async def test_files_of_others_and_of_newer_programs_are_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    with pytest.raises(CorruptStore, match="another program"):
        await open_store(path)
    path.unlink()

    await fill(path, 3)
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(CorruptStore, match="schema version 99"):
        await open_store(path)
    assert [file.name for file in path.parent.iterdir() if "damaged" in file.name] == []


async def test_a_reader_that_holds_the_file_delays_the_start_and_nothing_more(path: Path) -> None:
    await fill(path, 3)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM changes").fetchone()
    with pytest.raises(StoreInUse):
        await open_store(path, lock_timeout=0.1)
    reader.close()
    store = await open_store(path)
    assert store.revision == 4
    await store.close()
