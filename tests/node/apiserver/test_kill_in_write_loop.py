"""An acknowledged write is there after `kill -9`, whenever it strikes.

A real server process with its embedded store; eight clients create, change and delete objects as fast as they can. What
each of them was told is held against what the next server finds.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from client.kubeconfig import load
from tests.node.apiserver.server_process import Connection, connected, server

pytestmark = pytest.mark.node

CLIENTS = 8
MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class Claims:
    """What the server has said: name to value, None for deleted; and for each client what it was about to hear."""

    acknowledged: dict[str, str | None] = field(default_factory=dict)
    in_flight: dict[str, str | None] = field(default_factory=dict)


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
                process.kill()
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
