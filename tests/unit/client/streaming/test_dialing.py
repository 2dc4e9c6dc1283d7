"""Requests by hand: heads, bodies in every framing, upgrades, and servers that misbehave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.streaming import dialing
from client.streaming.dialing import Answer, BadAnswer, dial, dial_url, parse_head


class Server:
    """Answers one connection with canned bytes, then closes it (or does not)."""

    def __init__(self, answer: bytes, *, hang: bool = False, deaf: bool = False) -> None:
        self.answer = answer
        self.hang = hang
        self.hear = asyncio.Event()
        if not deaf:
            self.hear.set()
        self.request = b""
        self.port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Server"]:
        done = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                self.request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self.answer)
                await self.hear.wait()
                if self.hang:
                    await reader.read()
                writer.close()
                await writer.wait_closed()
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()
            finally:
                done.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(20):
            yield self
            await done.wait()
        server.close()
        await server.wait_closed()


async def call(server: Server) -> Answer:
    return await dial("127.0.0.1", server.port, "POST", "/exec?a=b", [("Upgrade", "SPDY/3.1")])


async def test_the_request_is_one_head_and_the_answer_is_handed_out_after_its_own() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nX-Odd:  a: b \r\n\r\n"
    async with Server(head + b"\x80\x03first").listening() as server:
        answer = await call(server)
        assert server.request == (
            f"POST /exec?a=b HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: SPDY/3.1\r\n\r\n".encode()
        )
        assert (answer.status, answer.head) == (101, head)
        assert answer.headers == {"upgrade": "SPDY/3.1", "x-odd": "a: b"}
        assert await answer.read() == b"\x80\x03first"
        assert await answer.read() == b""
        await answer.closed()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nhello and more",
        b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.0 400 Bad\r\n\r\nhello",
    ],
    ids=["length", "chunked", "to the end"],
)
async def test_bodies_are_read_in_every_framing(answer: bytes) -> None:
    async with Server(answer).listening() as server:
        got = await call(server)
        assert await got.whole_body(100) == b"hello"
        await got.closed()
    async with Server(answer).listening() as server:
        got = await call(server)
        assert await got.whole_body(3) == b"hel"
        await got.closed()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ],
)
async def test_a_body_that_breaks_off_is_no_body(answer: bytes) -> None:
    async with Server(answer).listening() as server:
        got = await call(server)
        with pytest.raises(BadAnswer):
            await got.whole_body(100)
        await got.closed()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 101 Swit",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    ],
    ids=["nothing", "half", "ssh", "no status", "endless"],
)
async def test_what_is_no_answer_is_refused(answer: bytes) -> None:
    async with Server(answer).listening() as server:
        with pytest.raises(BadAnswer):
            await call(server)


async def test_a_server_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialing, "HEAD_DEADLINE", 0.05)
    async with Server(b"", hang=True).listening() as server:
        with pytest.raises(TimeoutError, match=f"read from 127.0.0.1:{server.port}: i/o timeout"):
            await call(server)


async def test_nobody_listening_is_an_error_that_says_where() -> None:
    async with Server(b"").listening() as server:
        port = server.port
        with pytest.raises(BadAnswer):
            await call(server)
    with pytest.raises(ConnectionError, match=f"^dial tcp 127.0.0.1:{port}: "):
        await dial("127.0.0.1", port, "GET", "/", [])


async def test_a_peer_that_does_not_read_does_not_keep_a_connection_from_ending() -> None:
    async with Server(b"HTTP/1.1 101 OK\r\n\r\n", deaf=True).listening() as server:
        answer = await call(server)
        writing = asyncio.create_task(answer.write(b"x" * 50_000_000))
        await asyncio.sleep(0.1)
        await answer.closed(grace=0.1)
        with pytest.raises(OSError):
            await writing
        server.hear.set()


async def test_urls_are_taken_apart() -> None:
    async with Server(b"HTTP/1.1 200 OK\r\n\r\n").listening() as server:
        answer = await dial_url(f"http://127.0.0.1:{server.port}?a=b%20c", "GET", [])
        assert server.request.startswith(b"GET /?a=b%20c HTTP/1.1\r\n")
        await answer.closed()


@pytest.mark.parametrize("url", ["", "unix:///x", "http://", "/exec/token"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not a URL"):
        await dial_url(url, "GET", [])


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_a_head_or_a_bad_answer(head: bytes) -> None:
    try:
        status, headers = parse_head(head)
    except BadAnswer:
        return
    assert 0 <= status <= 999
    assert all(name == name.lower() for name in headers)
