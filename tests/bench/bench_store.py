"""What a write to the embedded store costs: writes a second, latency and CPU at several numbers of writers.

Run by hand: `python -m tests.bench.bench_store [folder]`; the folder decides which disk is measured. With `--busy` the
event loop also burns half a core in short pieces, as a server under load does: the thread then has to win the
interpreter's lock back from it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from controlplane.store.interface import Store
from controlplane.store.sqlite import open_store

COURSES = ((1, 3000), (10, 10_000), (32, 20_000), (100, 30_000))


async def measure(store: Store, writers: int, writes: int, value: bytes) -> None:
    left, latencies = writes, []

    async def write() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            begun = time.perf_counter()
            await store.write(f"/registry/pods/default/{writers}-{left}", value, expect=0)
            latencies.append(time.perf_counter() - begun)

    begun, cpu = time.perf_counter(), _cpu()
    await asyncio.gather(*(write() for _ in range(writers)))
    took, used = time.perf_counter() - begun, _cpu() - cpu
    latencies.sort()
    print(
        f"{writers:4} writers: {writes / took:7.0f} writes/s, p50 {latencies[writes // 2] * 1e3:.2f} ms, "
        f"p99 {latencies[writes * 99 // 100] * 1e3:.2f} ms, {used / writes * 1e6:.0f} us of CPU each"
    )


async def burn() -> None:
    while True:
        until = time.perf_counter() + 0.0005
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0.0005)


async def main(folder: str | None, busy: bool) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as directory:
        store = await open_store(Path(directory) / "state.db")
        load = asyncio.ensure_future(burn()) if busy else None
        for writers, writes in COURSES:
            await measure(store, writers, writes, os.urandom(3600))
        if load is not None:
            load.cancel()
        begun = time.perf_counter()
        await store.compact(store.revision)
        print(f"compaction of {store.revision} revisions: {time.perf_counter() - begun:.2f} s")
        await store.close()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    for option in sys.argv[1:]:
        if option.startswith("--switch-interval="):
            sys.setswitchinterval(float(option.partition("=")[2]))
    uvloop.run(main(arguments[0] if arguments else None, "--busy" in sys.argv))
