"""One SPDY connection over a real socket: streams both ways, and every way it can end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from client.clock import SystemClock
from client.streaming.session import BUFFER_LIMIT, KEEP_ALIVE, SpdySession, Stream, StreamReset
from client.streaming.wires import connect
from tests.unit.client.streaming.spdy_peer import Peer


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[SpdySession, Peer]]:
    """A session and its peer, both reading; whatever the test leaves is ended."""
    made: asyncio.Queue[Peer] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        made.put_nowait(peer)
        await peer.run()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    wire = await connect(host, port, None)
    session = SpdySession(wire)
    reading = asyncio.create_task(session.run())
    peer = await made.get()
    async with asyncio.timeout(30):
        try:
            yield session, peer
        finally:
            await wire.closed()
            await reading
            peer.close()
            await peer.until(lambda: peer.gone)
            server.close()
            await server.wait_closed()


async def everything(stream: Stream) -> bytes:
    pieces = []
    while data := await stream.read():
        pieces.append(data)
    return b"".join(pieces)


async def full(stream: Stream) -> None:
    while stream._size <= BUFFER_LIMIT:  # noqa: ASYNC110 - nobody is told of it
        await asyncio.sleep(0.01)


async def test_a_stream_is_opened_with_its_headers_and_carries_bytes_both_ways() -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamType": "stdin"})
        assert peer.headers[stream.number] == {"streamtype": "stdin"}
        await stream.write(b"to " + b"x" * 100_000)
        await stream.close()
        await stream.close()
        await peer.until(lambda: stream.number in peer.ended)
        assert peer.received[stream.number] == b"to " + b"x" * 100_000
        await peer.say("stdin", b"fro", fin=True)
        assert await everything(stream) == b"fro"
        assert await stream.read() == b""


async def test_streams_have_odd_numbers_and_do_not_mix() -> None:
    async with connected() as (session, peer):
        first, second = await session.open({"streamtype": "a"}), await session.open({"streamtype": "b"})
        assert (first.number, second.number) == (1, 3)
        for kind in "abab":
            await peer.say(kind, kind.encode())
        for kind in "ab":
            await peer.say(kind, b"", fin=True)
        assert await everything(first) == b"aa"
        assert await everything(second) == b"bb"


async def test_bytes_that_came_before_a_reset_are_still_read() -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "out"})
        await peer.say("out", b"some")
        await peer.send(peer.make.reset(stream.number, 2))
        assert await stream.read() == b"some"
        with pytest.raises(StreamReset, match="stream 1 reset with status 2"):
            await stream.read()
        with pytest.raises(StreamReset):
            await stream.read()


async def test_a_stream_that_is_cancelled_has_ended() -> None:
    """Runtimes end the streams of a command so: the status that came before stands."""
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "error"})
        await peer.say("error", b"all well")
        await peer.send(peer.make.reset(stream.number, 5))
        assert await everything(stream) == b"all well"


@pytest.mark.parametrize("status", [3, 5])
async def test_a_stream_that_is_refused_is_told_to_who_opens_it(status: int) -> None:
    async with connected() as (session, peer):
        peer.accepting = False
        opening = asyncio.create_task(session.open({"streamtype": "out"}))
        await peer.opened("out")
        await peer.send(peer.make.reset(1, status))
        with pytest.raises(StreamReset, match=f"status {status}"):
            await opening


@pytest.mark.parametrize("how", ["close", "abort", "garbage"])
async def test_a_connection_that_ends_is_a_reset_for_every_stream(how: str) -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "out"})
        peer.accepting = False
        opening = asyncio.create_task(session.open({"streamtype": "late"}))
        await peer.opened("late")
        match how:
            case "close":
                peer.close()
            case "abort":
                peer.abort()
            case "garbage":
                await peer.send(bytes.fromhex("80020006 00 000000"))
        with pytest.raises(StreamReset):
            await stream.read()
        with pytest.raises(StreamReset):
            await opening
        with pytest.raises(StreamReset):
            await session.open({"streamtype": "later"})


async def test_a_stream_that_has_ended_is_not_reset_by_the_connections_end() -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "out"})
        await peer.say("out", b"all", fin=True)
        peer.close()
        assert await everything(stream) == b"all"


async def test_no_stream_is_opened_after_a_farewell() -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "out"})
        await peer.send(peer.make.go_away(1))
        await peer.say("out", b"x", fin=True)
        assert await everything(stream) == b"x"
        with pytest.raises(StreamReset, match="no more streams"):
            await session.open({"streamtype": "more"})


async def test_the_other_sides_pings_are_answered() -> None:
    async with connected() as (_, peer):
        await peer.send(peer.make.ping(2))
        await peer.until(lambda: peer.pings == [2])


class Ticks(SystemClock):
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.tick = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.tick.acquire()


async def test_a_quiet_connection_is_kept_alive() -> None:
    """Scenario 39: runtimes give up connections in which nothing was said for four hours."""
    async with connected() as (session, peer):
        clock = Ticks()
        pinging = asyncio.create_task(session.keep_alive(clock))
        for number in (1, 3, 5):
            clock.tick.release()
            await peer.until(lambda number=number: peer.pings[-1:] == [number])  # type: ignore[misc]
        assert set(clock.asked) == {KEEP_ALIVE}
        stream = await session.open({"streamtype": "out"})
        peer.abort()
        with pytest.raises(StreamReset):
            await stream.read()
        for _ in range(3):
            clock.tick.release()
        await pinging


async def test_data_for_streams_that_are_gone_is_dropped() -> None:
    async with connected() as (session, peer):
        await peer.send(peer.make.data(99, b"whose?"))
        await peer.send(peer.make.reply(99, {}) + peer.make.reset(99, 1))
        await peer.send(bytes.fromhex("80030009 00 000008 00000001 00010000"))  # a window update
        stream = await session.open({"streamtype": "out"})
        await peer.say("out", b"x", fin=True)
        assert await everything(stream) == b"x"


async def test_who_does_not_read_holds_the_other_side_up_and_loses_nothing() -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "out"})
        total = 16 * 1024 * 1024
        sent = 0

        async def flood() -> None:
            nonlocal sent
            for _ in range(total // 16384):
                await peer.say("out", b"y" * 16384)
                sent += 16384
            await peer.say("out", b"", fin=True)

        flooding = asyncio.create_task(flood())
        await full(stream)
        held = -1
        while held != sent:  # until the sockets' buffers are full, too
            held = sent
            await asyncio.sleep(0.2)
        assert sent < total
        assert stream._size <= BUFFER_LIMIT + 2 * 16384
        assert len(await everything(stream)) == total
        await flooding


async def test_ending_while_a_buffer_is_full_hangs_nobody() -> None:
    async with connected() as (session, peer):
        stream = await session.open({"streamtype": "out"})
        flooding = asyncio.create_task(peer.say("out", b"y" * (8 * BUFFER_LIMIT)))
        await full(stream)
        stream.finish(StreamReset("enough"))
        session.close()
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)
