"""What is relied upon of aiohttp's server: that a connection can be taken from it after a 101.

These are the internals that `client.streaming.taking` names; a release of aiohttp that changes them fails here first.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from client.streaming import joining
from client.streaming.joining import join
from client.streaming.taking import BUFFER_LIMIT, TakenConnection, TakenOver

HEAD = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"


Ends = asyncio.Queue[BaseException | None]


@asynccontextmanager
async def serving(
    handle: Callable[[TakenConnection], Awaitable[None]],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, Ends]]:
    """A client of a server that takes the connection over; how handlers ended is gathered."""
    ends: Ends = asyncio.Queue()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        try:
            taken = TakenConnection(request)
            await taken.write(HEAD)
            await handle(taken)
        except BaseException as error:
            ends.put_nowait(error)
            raise
        ends.put_nowait(None)
        return TakenOver()

    server = web.Server(answer, access_log=None, handler_cancellation=True)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname(), limit=8 * 1024 * 1024)
    async with asyncio.timeout(20):
        try:
            yield reader, writer, ends
        finally:
            writer.close()
            listener.close()
            await server.shutdown(1)


@pytest.mark.parametrize("upgrade", [b"SPDY/3.1", b"websocket"])
async def test_bytes_go_both_ways_and_the_connection_ends_with_the_handler(upgrade: bytes) -> None:
    async def echo(taken: TakenConnection) -> None:
        while (data := await taken.read()) != b"bye":
            await taken.write(data.upper())

    async with serving(echo) as (reader, writer, ends):
        writer.write(REQUEST.replace(b"SPDY/3.1", upgrade))
        assert await reader.readexactly(len(HEAD)) == HEAD
        for word in (b"GET / HTTP/1.1\r\n\r\n", b"\x00\xff"):  # looking like HTTP makes no difference
            writer.write(word)
            assert await reader.readexactly(len(word)) == word.upper()
        writer.write(b"bye")
        assert await reader.read() == b""
        assert await ends.get() is None


async def test_what_came_with_the_request_is_not_lost() -> None:
    got = []

    async def take(taken: TakenConnection) -> None:
        got.append(await taken.read())

    async with serving(take) as (reader, writer, ends):
        writer.write(REQUEST.replace(b"SPDY/3.1", b"websocket") + b"early")
        await reader.read()
        assert await ends.get() is None
        assert got == [b"early"]


async def test_the_clients_end_is_an_end_or_cancels_the_handler() -> None:
    async def wait(taken: TakenConnection) -> None:
        while await taken.read():
            continue

    async with serving(wait) as (reader, writer, ends):
        writer.write(REQUEST)
        await reader.readexactly(len(HEAD))
        writer.transport.abort()
        assert isinstance(await ends.get(), asyncio.CancelledError | None)


async def test_writing_to_a_client_that_has_gone_is_a_connection_error() -> None:
    async def shout(taken: TakenConnection) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            while True:
                await taken.write(b"x" * 65536)
        except asyncio.CancelledError:
            task.uncancel()
            with pytest.raises(ConnectionError):
                await taken.write(b"x")
            raise

    async with serving(shout) as (reader, writer, ends):
        writer.write(REQUEST)
        await reader.readexactly(len(HEAD))
        writer.transport.abort()
        assert isinstance(await ends.get(), asyncio.CancelledError | ConnectionError)


async def test_a_client_that_floods_is_asked_to_pause() -> None:
    go, total = asyncio.Event(), 30 * 1024 * 1024
    counted: list[int] = []

    async def slow(taken: TakenConnection) -> None:
        await go.wait()
        count = 0
        while count < total:
            count += len(await taken.read())
        counted.append(count)

    async with serving(slow) as (reader, writer, ends):
        writer.write(REQUEST)
        await reader.readexactly(len(HEAD))
        writer.write(b"x" * total)
        left = -1
        while left != writer.transport.get_write_buffer_size():
            left = writer.transport.get_write_buffer_size()
            await asyncio.sleep(0.1)
        assert left > total // 2 > BUFFER_LIMIT  # it stayed with the client
        go.set()
        await reader.read()
        assert await ends.get() is None
        assert counted == [total]


async def test_a_client_that_reads_slowly_gets_all_of_it() -> None:
    total = 5_000_000

    async def talk(taken: TakenConnection) -> None:
        await taken.write(b"x" * total)
        await taken.flushed()

    async with serving(talk) as (reader, writer, ends):
        writer.write(REQUEST)
        await reader.readexactly(len(HEAD))
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(0.2)
        assert ends.empty()  # it waits for us, and does not hang up
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await reader.read()) == total
        assert await ends.get() is None


class Pipe:
    """One end for `join`, in memory."""

    def __init__(self, *incoming: bytes, error: Exception | None = None, hold: bool = False) -> None:
        self.incoming = list(incoming)
        self.error = error
        self.hold = hold
        self.written: list[bytes] = []
        self.closed = 0
        self.flushes = 0

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        if self.incoming:
            return self.incoming.pop(0)
        if self.error is not None:
            raise self.error
        if self.hold:
            await asyncio.Event().wait()
        return b""

    async def write(self, data: bytes) -> None:
        await asyncio.sleep(0)
        self.written.append(data)

    async def flushed(self) -> None:
        self.flushes += 1

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("error", [None, ConnectionResetError("x"), TimeoutError("x")])
async def test_joined_ends_pass_everything_and_end_together(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "LINGER", 0.05)
    one, other = Pipe(b"a", b"b", error=error), Pipe(hold=True)
    await join(one, other)
    assert other.written == [b"a", b"b"]
    assert one.closed and other.closed


async def test_what_the_other_side_still_says_is_taken_from_it_until_it_ends() -> None:
    """Closed with something unread, a connection would lose what it was just sent."""
    one, other = Pipe(b"last words"), Pipe(*[b"chatter"] * 50)
    await join(one, other)
    assert other.written == [b"last words"]
    assert not other.incoming


async def test_a_fault_of_ours_is_not_taken_for_an_end() -> None:
    with pytest.raises(ValueError, match="ours"):
        await join(Pipe(error=ValueError("ours")), Pipe(hold=True))


async def test_joining_that_is_cancelled_closes_both_ends() -> None:
    one, other = Pipe(hold=True), Pipe(hold=True)
    joining = asyncio.create_task(join(one, other))
    await asyncio.sleep(0.01)
    joining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining
    assert one.closed and other.closed
