"""The API server as a process: it starts, tells strangers so, and stops in order."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import time
from pathlib import Path

import pytest

from controlplane.pki import certificates
from controlplane.pki.profiles import profiles
from tests.node.apiserver.server_process import Connection, connected, server

pytestmark = pytest.mark.node

MAPS = "/api/v1/namespaces/default/configmaps"


def stranger(folder: Path, now: float, ca_key: bytes, ca: bytes) -> ssl.SSLContext:
    """A client that trusts the server, with an administrator's certificate of some authority at some time."""
    admin = next(profile for profile in profiles("node", ["127.0.0.1"], "10.43.0.0/16") if profile.name == "admin")
    key = certificates.new_key()
    pem = folder / "stranger.pem"
    pem.write_bytes(certificates.issue(admin, key, ca, ca_key, now) + key)
    tls = ssl.create_default_context(cafile=str(folder / "pki" / "ca.crt"))
    tls.load_cert_chain(str(pem))
    return tls


async def test_strangers_get_a_status_they_can_read(tmp_path: Path, unused_tcp_port: int) -> None:
    async with server(tmp_path, unused_tcp_port):
        await connected(unused_tcp_port, tmp_path)
        key = certificates.new_key()
        foreign = stranger(tmp_path, time.time(), key, certificates.issue_ca(key, time.time(), "foreign-ca"))
        own_key, own = ((tmp_path / "pki" / f"ca.{kind}").read_bytes() for kind in ("key", "crt"))
        expired = stranger(tmp_path, time.time() - 10 * 365 * 86400, own_key, own)
        nobody = ssl.create_default_context(cafile=str(tmp_path / "pki" / "ca.crt"))
        for tls in (foreign, expired, nobody):
            async with Connection(unused_tcp_port, tls) as connection:
                status, body = await connection.request("GET", "/api/v1/namespaces")
                document = json.loads(body)
                assert (status, document["kind"], document["reason"]) == (401, "Status", "Unauthorized")
                assert (await connection.request("GET", "/healthz"))[0] == (200 if tls is nobody else 401)


async def test_stopping_ends_watches_and_finishes_writes(tmp_path: Path, unused_tcp_port: int) -> None:
    async with server(tmp_path, unused_tcp_port) as process:
        tls = await connected(unused_tcp_port, tmp_path)
        async with Connection(unused_tcp_port, tls) as watcher:
            watcher.writer.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await asyncio.wait_for(watcher.reader.readuntil(b"\r\n\r\n"), 10)
            answers = []

            async def write(number: int) -> None:
                async with Connection(unused_tcp_port, tls) as connection:
                    body = {"metadata": {"name": f"m{number}"}, "data": {"x": "y" * 10_000}}
                    answers.append((await connection.request("POST", MAPS, body))[0])

            async with asyncio.TaskGroup() as group:
                for number in range(20):
                    group.create_task(write(number))
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            rest = await asyncio.wait_for(watcher.reader.read(), 20)
            assert rest.endswith(b"0\r\n\r\n")
            assert rest.count(b'"type":"ADDED"') == 20
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert answers == [201] * 20
    async with server(tmp_path, unused_tcp_port):
        tls = await connected(unused_tcp_port, tmp_path)
        async with Connection(unused_tcp_port, tls) as connection:
            _, body = await connection.request("GET", MAPS)
            assert len([item for item in json.loads(body)["items"] if item["metadata"]["name"].startswith("m")]) == 20
