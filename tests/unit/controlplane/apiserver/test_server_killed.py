"""The API server, whole and in a process of its own, killed with signal 9 in the middle of a write loop.

Every write it has acknowledged is there when it is back, and a client that watched it has missed nothing.
"""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from client import kubeconfig
from client.clock import SystemClock
from client.errors import ClientError
from client.informer import Informer
from client.rest import ApiClient

SERVER = """
import asyncio, pathlib, sys
import uvloop
from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.server import run
folder = pathlib.Path(sys.argv[1])
uvloop.run(run(ServerConfig(data_dir=folder, config_dir=folder / "etc", port=int(sys.argv[2])), asyncio.Event()))
"""

WRITERS = 6


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A server's folder and port, over all its lives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()

    @asynccontextmanager
    async def life(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """From its start until it is killed."""
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SERVER, str(self.folder), str(self.port), stderr=subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(60):
                while not await self._answers():
                    assert child.returncode is None
                    await asyncio.sleep(0.02)
            yield child
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()

    def client(self) -> ApiClient:
        return ApiClient(kubeconfig.load(self.folder / "etc" / "admin.kubeconfig"))

    async def _answers(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True


def config_map(writer: int, count: int) -> core.ConfigMap:
    metadata = meta.ObjectMeta(name=f"writer-{writer}", namespace="default")
    return core.ConfigMap(metadata=metadata, data={"count": str(count), "filling": "x" * 1000})


class Ledger:
    """What each writer has had acknowledged, and after how many more the server is to die."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.left = 0
        self.enough = asyncio.Event()

    def note(self, writer: int, count: int) -> None:
        self.counts[writer] = count
        self.left -= 1
        if self.left <= 0:
            self.enough.set()


async def write(client: ApiClient, writer: int, ledger: Ledger) -> None:
    """Count up in an object of its own until the server is gone."""
    try:
        try:
            current = await client.get(core.ConfigMap, f"writer-{writer}", "default")
        except errors.StatusError:
            current = await client.create(config_map(writer, 0))
            ledger.note(writer, 0)
        while True:
            current.data["count"] = str(int(current.data["count"]) + 1)
            current = await client.update(current)
            ledger.note(writer, int(current.data["count"]))
    except ClientError:
        return


async def kill_in_a_write_loop(server: Server, ledger: Ledger, dice: random.Random) -> None:
    """One life of the server: it dies some milliseconds after some more acknowledged writes."""
    ledger.left = dice.randint(1, 200)
    ledger.enough.clear()
    async with server.life() as child, server.client() as client, asyncio.timeout(120), asyncio.TaskGroup() as group:
        for writer in range(WRITERS):
            group.create_task(write(client, writer, ledger))
        await ledger.enough.wait()
        await asyncio.sleep(dice.uniform(0, 0.01))
        child.kill()


async def kill_again_and_again(folder: Path, times: int, seed: int) -> None:
    dice = random.Random(seed)
    server = Server(folder)
    ledger = Ledger()
    await kill_in_a_write_loop(server, ledger, dice)
    async with asyncio.TaskGroup() as group, server.client() as watching_client:
        informer = Informer(watching_client, core.ConfigMap, "default", clock=SystemClock())
        watching = group.create_task(informer.run())
        for _ in range(times - 1):
            await kill_in_a_write_loop(server, ledger, dice)
        async with server.life(), server.client() as client, asyncio.timeout(120):
            for writer, count in ledger.counts.items():
                current = await client.get(core.ConfigMap, f"writer-{writer}", "default")
                found = int(current.data["count"])
                # One write may have been committed without its answer having come through.
                assert found in (count, count + 1)
                await seen_by(informer, current)
            watching.cancel()
    assert ledger.counts


async def seen_by(informer: Informer[core.ConfigMap], wanted: core.ConfigMap) -> None:
    """Wait until the informer shows an object as it is."""
    done = asyncio.Event()

    def look(*_: object) -> None:
        seen = informer.get("default", wanted.metadata.name)
        if seen is not None and seen.metadata.resource_version == wanted.metadata.resource_version:
            done.set()

    informer.add_handler(on_add=look, on_update=look)
    look()
    await done.wait()


async def test_acknowledged_writes_survive_the_server(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path, times=3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_acknowledged_writes_survive_a_hundred_deaths_of_the_server(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path, times=100, seed=2)
