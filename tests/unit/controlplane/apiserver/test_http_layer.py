"""HTTP itself, over real connections: keep-alive, TLS, big bodies, upgrades, clients that vanish."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from api import errors
from client.tls import server_context
from controlplane.apiserver import replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.http import HttpServer, warning_value
from controlplane.pki import certificates
from controlplane.pki.profiles import profiles

Handler = Callable[[Exchange], Awaitable[Reply | None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[HttpServer, int]]:
    async def guarded(exchange: Exchange) -> Reply | None:
        try:
            return await handler(exchange)
        except errors.StatusError as error:
            return replies.status_reply(exchange, error)

    server = HttpServer(guarded)
    (port,) = await server.listen(["127.0.0.1"], 0, tls)
    try:
        yield server, port
    finally:
        server.stop_accepting()
        await server.shutdown(1)


async def exchange_once(streams: Streams, request: bytes) -> tuple[int, dict[str, str], bytes]:
    reader, writer = streams
    writer.write(request)
    return await read_reply(reader)


async def read_reply(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    async with asyncio.timeout(10):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, body


def request(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def echo(exchange: Exchange) -> Reply:
    body = await exchange.read_body()
    exchange.warn("mind the gap")
    seen = {"method": exchange.method, "path": exchange.path, "query": dict(exchange.query), "size": len(body)}
    return Reply(200, json.dumps(seen).encode())


async def test_a_connection_serves_many_requests() -> None:
    async with serving(echo) as (_, port):
        streams = await asyncio.open_connection("127.0.0.1", port)
        for number in range(3):
            status, headers, body = await exchange_once(streams, request("POST", f"/a%20b?n={number}", b"x" * number))
            assert (status, json.loads(body)) == (
                200,
                {"method": "POST", "path": "/a b", "query": {"n": [str(number)]}, "size": number},
            )
            assert headers["content-type"] == "application/json"
            assert headers["cache-control"] == "no-cache, private"
            assert headers["warning"] == '299 - "mind the gap"'
        streams[1].close()


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving(echo) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"".join(request("GET", f"/{number}") for number in range(5)))
        for number in range(5):
            assert json.loads((await read_reply(reader))[2])["path"] == f"/{number}"
        writer.close()


@pytest.mark.parametrize("said", [True, False])
async def test_a_body_beyond_the_limit_is_refused_and_the_next_request_served(said: bool) -> None:
    big = b"y" * (4 << 20)
    async with serving(echo) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if said:
            writer.write(request("POST", "/", big))
        else:
            writer.write(request("POST", "/", b"", "Transfer-Encoding: chunked"))
            writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(big), big))
        status, _, body = await read_reply(reader)
        assert status == 413
        assert json.loads(body)["message"] == "Request entity too large: limit is 3145728"
        writer.close()
        other = await asyncio.open_connection("127.0.0.1", port)
        assert (await exchange_once(other, request("GET", "/")))[0] == 200
        other[1].close()


async def test_a_compressed_body_may_not_grow_beyond_the_limit() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    async with serving(echo) as (_, port):
        streams = await asyncio.open_connection("127.0.0.1", port)
        status, _, _ = await exchange_once(streams, request("POST", "/", bomb, "Content-Encoding: gzip"))
        assert status == 413
        streams[1].close()


async def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    async with serving(echo) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = request("POST", "/", b"", "Content-Length: 3", "Expect: 100-continue")
        writer.write(head)
        assert b" 100 Continue" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        writer.write(b"abc")
        assert json.loads((await read_reply(reader))[2])["size"] == 3
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("POST", "/", b"", "Content-Length: 9999999", "Expect: 100-continue"))
        assert (await read_reply(reader))[0] == 413
        writer.close()


async def test_head_has_no_body() -> None:
    async with serving(echo) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("HEAD", "/") + request("GET", "/second"))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        assert b"Content-Length: " in head
        assert json.loads((await read_reply(reader))[2])["path"] == "/second"
        writer.close()


async def test_garbage_is_a_400_and_costs_one_connection() -> None:
    async with serving(echo) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        assert b" 400 " in await asyncio.wait_for(reader.read(4096), 5)
        writer.close()
        other = await asyncio.open_connection("127.0.0.1", port)
        assert (await exchange_once(other, request("GET", "/")))[0] == 200
        other[1].close()


async def test_big_replies_are_compressed_for_those_who_take_it() -> None:
    text = json.dumps(["x" * 100] * 3000).encode()

    async def handler(exchange: Exchange) -> Reply:
        return replies.reply(exchange, replies.output_of(exchange), text)

    async with serving(handler) as (_, port):
        streams = await asyncio.open_connection("127.0.0.1", port)
        _, headers, body = await exchange_once(streams, request("GET", "/", b"", "Accept-Encoding: gzip"))
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body) == text
        _, headers, body = await exchange_once(streams, request("GET", "/"))
        assert "content-encoding" not in headers
        assert body == text
        streams[1].close()


async def test_a_stream_arrives_in_chunks_and_the_connection_lives_on() -> None:
    async def handler(exchange: Exchange) -> Reply | None:
        if exchange.path != "/stream":
            return Reply(200, b"{}")
        stream = exchange.stream(200)
        for word in (b"one", b"two"):
            stream.write(word)
            await asyncio.sleep(0)
        stream.finish()
        return None

    async with serving(handler) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("GET", "/stream"))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        assert b"Transfer-Encoding: chunked" in head
        assert await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 5) == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
        writer.write(request("GET", "/next"))
        assert (await read_reply(reader))[0] == 200
        writer.close()


async def test_a_client_that_leaves_ends_its_handler() -> None:
    ended = asyncio.Event()

    async def handler(exchange: Exchange) -> Reply | None:
        exchange.stream(200)
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return None

    async with serving(handler) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("GET", "/"))
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        writer.close()
        await asyncio.wait_for(ended.wait(), 5)


@pytest.mark.parametrize("protocol", ["SPDY/3.1", "websocket"])
async def test_a_hijacked_connection_carries_raw_bytes_both_ways(protocol: str) -> None:
    """Pins what is relied upon of aiohttp: `set_parser` before and after its parser has seen an upgrade."""

    async def handler(exchange: Exchange) -> Reply | None:
        tunnel = exchange.hijack(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: {protocol}\r\n\r\n".encode())
        while data := await tunnel.read():
            await tunnel.write(data.swapcase())
        return None

    async with serving(handler) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        websocket = ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        writer.write(request("GET", "/", b"", "Connection: Upgrade", f"Upgrade: {protocol}", *websocket))
        assert b" 101 " in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        for size in (1, 70_000, 600_000):
            writer.write(b"a" * size)
            assert await asyncio.wait_for(reader.readexactly(size), 10) == b"A" * size
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def test_stopping_finishes_what_runs() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def handler(exchange: Exchange) -> Reply | None:
        begun.set()
        await may_end.wait()
        return Reply(200, b"done")

    async with serving(handler) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("GET", "/"))
        await begun.wait()
        server.stop_accepting()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        may_end.set()
        assert (await read_reply(reader))[2] == b"done"
        writer.close()


async def test_the_certificate_of_a_client_is_shown_to_the_handler(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    key = certificates.new_key()
    import time

    ca = certificates.issue_ca(key, time.time(), "test-ca")
    (folder / "ca.crt").write_bytes(ca)
    for profile in profiles("node", ["127.0.0.1"], "10.43.0.0/16"):
        own = certificates.new_key()
        (folder / f"{profile.name}.pem").write_bytes(certificates.issue(profile, own, ca, key, time.time()) + own)

    async def handler(exchange: Exchange) -> Reply | None:
        return Reply(200, str(exchange.peer_certificate is not None).encode())

    pem = str(folder / "apiserver.pem")
    async with serving(handler, server_context(pem, pem, str(folder / "ca.crt"))) as (_, port):
        client = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        for shown in (False, True):
            if shown:
                client.load_cert_chain(str(folder / "admin.pem"))
            streams = await asyncio.open_connection("127.0.0.1", port, ssl=client)
            assert (await exchange_once(streams, request("GET", "/")))[2] == str(shown).encode()
            streams[1].close()


def test_warnings_cannot_break_out_of_their_header() -> None:
    assert warning_value('a "b"\r\nX: \\ y') == '299 - "a \\"b\\"  X: \\\\ y"'
