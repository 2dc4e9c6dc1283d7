"""Watches and logs for clients that speak WebSocket, over real connections."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.exchange import Exchange, Form, Reply
from controlplane.apiserver.http import HttpServer
from controlplane.apiserver.messages import frame
from tests.unit.controlplane.apiserver.server_harness import Harness, admin_certificate, start
from tests.unit.controlplane.apiserver.test_node_streams import PODS, FakeKubelet, converse, kubelet

__all__ = ["kubelet"]
CONFIG_MAPS = "/api/v1/namespaces/test/configmaps"


@asynccontextmanager
async def client_of(api: Harness) -> AsyncIterator[tuple[aiohttp.ClientSession, list[Exchange]]]:
    """A client of the server over HTTP, and the exchanges that are under way."""
    running: list[Exchange] = []

    async def handle(exchange: Exchange) -> Reply | None:
        exchange.peer_certificate = admin_certificate()
        running.append(exchange)
        try:
            return await api.server.handle(exchange)
        finally:
            running.remove(exchange)

    server = HttpServer(handle)
    (port,) = await server.listen(["127.0.0.1"], 0, None)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            yield session, running
    finally:
        server.stop_accepting()
        await server.shutdown(1)


async def texts(socket: aiohttp.ClientWebSocketResponse, count: int) -> list[dict[str, Any]]:
    return [json.loads(await asyncio.wait_for(socket.receive_str(), 5)) for _ in range(count)]


async def test_each_event_of_a_watch_is_a_text_message(api: Harness) -> None:
    for name in ("a", "b"):
        await api.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": {"big": "x" * 70_000}})
    async with client_of(api) as (session, _), session.ws_connect(f"{CONFIG_MAPS}?watch=true") as socket:
        first = await texts(socket, 2)
        assert [(each["type"], each["object"]["metadata"]["name"]) for each in first] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
        ]
        await api.delete(f"{CONFIG_MAPS}/a")
        (gone,) = await texts(socket, 1)
        assert (gone["type"], gone["object"]["metadata"]["name"]) == ("DELETED", "a")
        assert len(gone["object"]["data"]["big"]) == 70_000


async def test_a_watch_that_is_over_says_goodbye(api: Harness) -> None:
    async with client_of(api) as (session, running):
        async with session.ws_connect(f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1") as socket:
            assert running
            await api.clock.advance(2)
            message = await asyncio.wait_for(socket.receive(), 5)
            assert (message.type, message.data) == (WSMsgType.CLOSE, 1000)
        assert not running


async def test_a_watch_from_too_long_ago_is_told_so(api: Harness, config: ServerConfig) -> None:
    for name in ("a", "b"):
        await api.create(CONFIG_MAPS, {"metadata": {"name": name}})
    await api.server.store.compact(api.server.store.revision)
    again = await start(config, api.server.store)
    target = f"{CONFIG_MAPS}?watch=true&resourceVersion=2"
    async with client_of(again) as (session, _), session.ws_connect(target) as socket:
        (event,) = await texts(socket, 1)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert (await asyncio.wait_for(socket.receive(), 5)).type is WSMsgType.CLOSE


@pytest.mark.parametrize("politely", [True, False])
async def test_a_client_that_leaves_ends_its_watch(api: Harness, politely: bool) -> None:
    async with client_of(api) as (session, running):
        socket = await session.ws_connect(f"{CONFIG_MAPS}?watch=true")
        await socket.ping()
        async with asyncio.timeout(5):
            assert running
            if politely:
                await socket.close()
                assert socket.close_code == 1000
            else:
                await session.close()
            while running:  # noqa: ASYNC110 - the server knows nobody here
                await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("offered", "spoken", "binary"),
    [
        ((), None, True),
        (("binary.k8s.io",), "binary.k8s.io", True),
        (("base64.binary.k8s.io",), "base64.binary.k8s.io", False),
        (("base64url.bearer.authorization.k8s.io.c2VjcmV0", "base64.binary.k8s.io"), "base64.binary.k8s.io", False),
    ],
)
async def test_logs(api: Harness, kubelet: FakeKubelet, offered: tuple[str, ...], spoken: str, binary: bool) -> None:
    target = f"{PODS}/p/log?follow=true"
    async with client_of(api) as (session, _), session.ws_connect(target, protocols=offered) as socket:
        assert socket.protocol == spoken
        pieces = [message async for message in socket]
        assert {message.type for message in pieces} == {WSMsgType.BINARY if binary else WSMsgType.TEXT}
        data = [message.data if binary else base64.b64decode(message.data) for message in pieces]
        assert data[0] == b""
        assert b"".join(data) == b"hello\n"
        assert socket.close_code == 1000


async def test_the_end_of_a_log_waits_for_the_clients_goodbye(api: Harness, kubelet: FakeKubelet) -> None:
    """A client that is slow to answer would take a connection that is gone by then for a log that is not whole."""
    lines = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {'A' * 22}==",
    )
    head, reader, writer = await converse(api, f"{PODS}/p/log?follow=true", *lines, method="GET")
    assert b" 101 " in head
    said = frame(Form.BINARY, b"") + frame(Form.BINARY, b"hello\n") + bytes.fromhex("880203e8")
    assert await asyncio.wait_for(reader.readexactly(len(said)), 5) == said
    rest = asyncio.ensure_future(reader.read())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not rest.done()
    writer.write(bytes.fromhex("888200000000") + b"\x03\xe8")
    assert await asyncio.wait_for(rest, 5) == b""
    writer.close()


async def test_what_cannot_be_is_refused_before_the_upgrade(api: Harness, kubelet: FakeKubelet) -> None:
    async with client_of(api) as (session, _):
        for target, protocols, code in (
            (f"{PODS}/p/log", ("v5.channel.k8s.io",), 403),
            (f"{PODS}/absent/log", (), 404),
            (f"{CONFIG_MAPS}?watch=true&fieldSelector=spec.x%3D1", (), 400),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(target, protocols=protocols)
            assert refused.value.status == code
        headers = {"Connection": "Upgrade", "Upgrade": "websocket"}  # and no key
        async with session.get(f"{CONFIG_MAPS}?watch=true", headers=headers) as answer:
            assert (answer.status, (await answer.json())["message"]) == (400, "malformed WebSocket handshake")


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
def test_frames_of_every_size(size: int) -> None:
    """RFC 6455, 5.2: the length has 7, 16 or 64 bits."""
    head = {0: "8200", 125: "827d", 126: "827e007e", 65_535: "827effff", 65_536: "827f0000000000010000"}[size]
    assert frame(Form.BINARY, b"x" * size) == bytes.fromhex(head) + b"x" * size
