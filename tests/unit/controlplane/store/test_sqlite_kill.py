"""`kill -9` at any moment: every acknowledged write is there afterwards, and the store goes on where it was."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.store.sqlite import open_store

WRITER = """
import asyncio, os, pathlib, sys
from controlplane.store.sqlite import open_store

async def main():
    store = await open_store(pathlib.Path(sys.argv[1]))
    async def write(worker):
        key = f"/w/{worker}"
        record = await store.get(key)
        revision = record.mod_revision if record else 0
        while True:
            count = int(record.value.split()[0]) + 1 if record else 1
            value = b"%d " % count + b"x" * 2000
            revision = await store.write(key, value, expect=revision)
            os.write(1, b"%d %d %d\\n" % (worker, count, revision))
            record = type(record)(key, value, 0, revision) if record else await store.get(key)
    async def compact():
        while True:
            await asyncio.sleep(0.02)
            await store.compact(store.revision - 20 if store.revision > 30 else 1)
    await asyncio.gather(compact(), *(write(worker) for worker in range(8)))

asyncio.run(main())
"""


async def run_and_kill(path: Path, after: float) -> dict[int, tuple[int, int]]:
    """Let a process write until it is killed; the last (count, revision) that each of its workers had acknowledged."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(path), stdout=subprocess.PIPE)
    assert child.stdout is not None
    acknowledged: dict[int, tuple[int, int]] = {}

    def note(line: bytes) -> None:
        worker, count, revision = map(int, line.split())
        acknowledged[worker] = (count, revision)

    async with asyncio.timeout(60):
        note(await child.stdout.readline())
        killer = asyncio.get_running_loop().call_later(after, child.send_signal, signal.SIGKILL)
        while line := await child.stdout.readline():
            if line.endswith(b"\n"):
                note(line)
        await child.wait()
    killer.cancel()
    assert child.returncode == -signal.SIGKILL
    return acknowledged


async def kill_again_and_again(path: Path, times: int, seed: int) -> None:
    dice = random.Random(seed)
    newest = 1
    for _ in range(times):
        acknowledged = await run_and_kill(path, dice.uniform(0.0, 0.4))
        store = await open_store(path)
        for worker, (count, revision) in acknowledged.items():
            record = await store.get(f"/w/{worker}")
            assert record is not None
            found = int(record.value.split()[0])
            # One write per worker may have been committed without the answer having come through.
            assert found in (count, count + 1)
            assert (record.mod_revision == revision) == (found == count)
        assert store.revision >= max([newest, *(revision for _, revision in acknowledged.values())])
        newest = store.revision
        await store.close()


async def test_acknowledged_writes_survive_kill(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path / "state.db", times=4, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_acknowledged_writes_survive_a_hundred_kills(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path / "state.db", times=100, seed=2)
