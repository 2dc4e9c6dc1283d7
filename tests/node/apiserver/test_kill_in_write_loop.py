"""An acknowledged write is there after `kill -9`, whenever it strikes.

A real server process with its embedded store; eight clients create, change and delete objects as fast as they can. What
each of them was told is held against what the next server finds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from client.kubeconfig import load

pytestmark = pytest.mark.node

CLIENTS = 8
MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class Claims:
    """What the server has said: name to value, None for deleted; and for each client what it was about to hear."""

    acknowledged: dict[str, str | None] = field(default_factory=dict)
    in_flight: dict[str, str | None] = field(default_factory=dict)


class Connection:
    """One keep-alive connection."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port, self._tls = port, tls

    async def __aenter__(self) -> Connection:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls, limit=1 << 24)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def request(self, method: str, target: str, body: object = None) -> tuple[int, bytes]:
        data = b"" if body is None else json.dumps(body).encode()
        self.writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
        )
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)


@asynccontextmanager
async def server(folder: Path, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "controlplane.apiserver", "--data-dir", str(folder), "--port", str(port)),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def connected(port: int, folder: Path) -> ssl.SSLContext:
    """Wait until the server answers; the TLS context of its administrator."""
    async with asyncio.timeout(60):
        while True:
            try:
                pki = folder / "pki"
                tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
                tls.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))
                async with Connection(port, tls) as connection:
                    status, _ = await connection.request("GET", "/readyz")
                    if status == 200:
                        return tls
            except (OSError, EOFError):
                pass
            await asyncio.sleep(0.05)


async def write_until_cut_off(client: int, turn: int, port: int, tls: ssl.SSLContext, claims: Claims) -> None:
    try:
        async with Connection(port, tls) as connection:
            for number in range(1_000_000):
                name = f"r{turn}-c{client}-n{number}"
                steps: list[tuple[str, str, str | None]] = [("POST", MAPS, "1"), ("PUT", f"{MAPS}/{name}", "2")]
                if number % 3 == 0:
                    steps.append(("DELETE", f"{MAPS}/{name}", None))
                for method, target, value in steps:
                    claims.in_flight[name] = value
                    body = None if value is None else {"metadata": {"name": name}, "data": {"v": value}}
                    status, text = await connection.request(method, target, body)
                    assert status < 300, text
                    claims.acknowledged[name] = value
                    del claims.in_flight[name]
    except (OSError, EOFError, IndexError):
        return  # cut off, perhaps in the middle of an answer: that one was not heard


async def verify(port: int, tls: ssl.SSLContext, claims: Claims) -> None:
    async with Connection(port, tls) as connection:
        status, body = await connection.request("GET", MAPS)
    assert status == 200
    found = {item["metadata"]["name"]: item["data"]["v"] for item in json.loads(body)["items"] if "data" in item}
    for name, value in claims.acknowledged.items():
        possible = {value, claims.in_flight.get(name, value)}
        assert found.get(name) in possible, (name, found.get(name), possible)
    for name in claims.in_flight.keys() - claims.acknowledged.keys():
        assert found.get(name) in (None, claims.in_flight[name])
    # What was under way is settled now, one way or the other.
    for name in claims.in_flight:
        claims.acknowledged[name] = found.get(name)
    claims.in_flight.clear()


async def rounds(folder: Path, port: int, count: int) -> None:
    chance = random.Random(count)
    claims = Claims()
    for turn in range(count):
        async with server(folder, port) as process:
            tls = await connected(port, folder)
            await verify(port, tls, claims)
            async with asyncio.TaskGroup() as group:
                for client in range(CLIENTS):
                    group.create_task(write_until_cut_off(client, turn, port, tls, claims))
                await asyncio.sleep(chance.uniform(0.05, 0.5))
                os.kill(process.pid, signal.SIGKILL)
    assert len(claims.acknowledged) > count * CLIENTS
    async with server(folder, port):
        await verify(port, await connected(port, folder), claims)


async def test_five_kills_in_a_write_loop(tmp_path: Path, unused_tcp_port: int) -> None:
    await rounds(tmp_path, unused_tcp_port, 5)
    assert load(tmp_path / "config" / "admin.kubeconfig").server


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_hundred_kills_in_a_write_loop(tmp_path: Path, unused_tcp_port: int) -> None:
    await rounds(tmp_path, unused_tcp_port, 100)
