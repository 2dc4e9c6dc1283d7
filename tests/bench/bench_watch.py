"""What a delivery costs: one server process, many TLS watchers, CPU of the server per event and watcher.

Run by hand: `python -m tests.bench.bench_watch [watchers] [events]`. The server writes ready chunks to uvloop's
transports; there is no HTTP parsing in the figure, as there is none in a watch that is under way. The watchers live in
a child process, so that only the server's CPU is counted.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import ssl
import sys
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import cast

import uvloop

from client.clock import SystemClock
from controlplane.apiserver.cache import Caches
from controlplane.apiserver.caching.encoding import PLAIN
from controlplane.apiserver.caching.entries import EVERYTHING, Shape
from controlplane.apiserver.watching import Fanout, Watcher
from controlplane.pki import Pki, ensure_pki
from controlplane.store.memory import MemoryStore

SHAPE = Shape("/registry/configmaps/", True, "v1", "ConfigMap", json.loads)


class Connection(asyncio.Protocol):
    """A watcher's connection on the server's side."""

    def __init__(self, fanout: Fanout, group: asyncio.TaskGroup) -> None:
        self._fanout = fanout
        self._group = group
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's TLS transport is none of asyncio's by class, only by its methods.
        writing = cast(asyncio.WriteTransport, transport)
        self.write = writing.write
        self.buffered = writing.get_write_buffer_size
        self._group.create_task(Watcher(self._fanout, self, EVERYTHING, PLAIN, bookmarks=True).run(3600))

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def drain(self) -> None:
        await self._room.wait()


def listen(ca: Path, port: int, watchers: int, events: int, ready: Event) -> None:
    """The child: connect, count what comes, leave."""

    connected = 0

    async def one(context: ssl.SSLContext) -> None:
        nonlocal connected
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        connected += 1
        if connected == watchers:
            ready.set()
        seen = 0
        while seen < events:
            seen += (await reader.read(1 << 16)).count(b'"ADDED"')
        writer.close()

    async def main() -> None:
        context = ssl.create_default_context(cafile=str(ca))
        await asyncio.gather(*(one(context) for _ in range(watchers)))

    uvloop.run(main())


async def serve(pki: Pki, watchers: int, events: int) -> None:
    store = MemoryStore()
    caches = Caches(store)
    cache = caches.declare(SHAPE)
    await caches.start()
    fanout = Fanout(cache, SystemClock())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.apiserver.certificate, pki.apiserver.key)
    async with asyncio.TaskGroup() as group:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(fanout, group), "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        spawning = multiprocessing.get_context("spawn")
        ready = spawning.Event()
        child = spawning.Process(target=listen, args=(pki.ca.certificate, port, watchers, events, ready))
        child.start()
        async with asyncio.timeout(60):
            await asyncio.to_thread(ready.wait)
            await asyncio.sleep(1)
        begun, cpu = time.perf_counter(), _cpu()
        for number in range(events):
            metadata = {"name": f"w{number}", "namespace": "default"}
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v" * 512}}
            await store.write(
                SHAPE.key("default", f"w{number}"), json.dumps(document).replace(" ", "").encode(), expect=0
            )
            await asyncio.sleep(0.02)
        await asyncio.to_thread(child.join, 120)
        used = _cpu() - cpu
        print(
            f"{watchers} watchers, {events} events: {used / watchers / events * 1e6:.1f} us of CPU a delivery, "
            f"{time.perf_counter() - begun:.2f} s"
        )
        server.close()
        fanout.close()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    watchers, events = (int(argument) for argument in [*sys.argv[1:], "1000", "50"][:2])
    with tempfile.TemporaryDirectory() as folder:
        pki = ensure_pki(Path(folder), Path(folder) / "etc", "bench", [], "10.43.0.0/16", SystemClock())
        uvloop.run(serve(pki, watchers, events))


if __name__ == "__main__":
    main()
