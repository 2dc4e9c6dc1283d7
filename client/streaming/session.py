"""One SPDY connection and its streams, as the side that opened it.

A reader task hands data to the streams; a stream whose owner does not read holds up the whole connection once its
buffer is full, as it would with the other side's implementation (there is no flow control), so every stream that is
opened must be read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

from client.clock import Clock
from client.streaming.frames import Control, Data, FrameReader, FrameWriter, Kind, SpdyError
from client.streaming.joining import End

BUFFER_LIMIT = 256 * 1024
"""Bytes of one stream that wait for their reader before the connection does."""
PIECE = 32 * 1024
CANCEL = 5
"""The status of a reset that says "no more of this stream is wanted" (section 2.6.3 of the draft)."""
KEEP_ALIVE = 30.0
"""Seconds between pings: the other side takes a connection without a word in it for a forgotten one (after hours)."""


class StreamReset(Exception):
    """The other side gave up on a stream, or the connection is gone before the stream ended."""


class Stream:
    """Bytes both ways. `read` until b"" (the other side has ended), `write`, `close` (we have)."""

    def __init__(self, session: SpdySession, number: int) -> None:
        self.number = number
        self._session = session
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._finished = False
        self._cause: StreamReset | None = None
        self._closed = False
        self._accepted = asyncio.Event()
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises StreamReset once all that came before it is read."""
        while not self._chunks:
            if self._cause is not None:
                raise self._cause
            if self._finished:
                return b""
            self._news.clear()
            await self._news.wait()
        chunk = self._chunks.popleft()
        self._size -= len(chunk)
        if self._size <= BUFFER_LIMIT:
            self._room.set()
        return chunk

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the connection takes more. Raises OSError."""
        for start in range(0, len(data), PIECE):
            await self._session.send(self._session.frames.data(self.number, data[start : start + PIECE]))

    async def close(self) -> None:
        """Say that nothing more comes from this side; once is enough. Raises OSError."""
        if not self._closed:
            self._closed = True
            await self._session.send(self._session.frames.data(self.number, b"", fin=True))

    # For the session

    async def accepted(self) -> None:
        """Wait for the other side's answer. Raises StreamReset."""
        await self._accepted.wait()
        if self._cause is not None and not self._chunks:
            raise self._cause

    @property
    def is_accepted(self) -> bool:
        return self._accepted.is_set()

    def accept(self) -> None:
        self._accepted.set()

    async def deliver(self, chunk: bytes) -> None:
        """Hand bytes to the reader; waits while too many wait already."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._news.set()
        if self._size > BUFFER_LIMIT and not self._finished:
            self._room.clear()
            await self._room.wait()

    def finish(self, cause: StreamReset | None) -> None:
        """Nothing more comes from the other side."""
        if not self._finished:
            self._finished, self._cause = True, cause
        self._accepted.set()
        self._news.set()
        self._room.set()


class SpdySession:
    """A connection after the upgrade. Run `run` in a task beside the use of the streams."""

    def __init__(self, wire: End) -> None:
        self.frames = FrameWriter()
        self._wire = wire
        self._streams: dict[int, Stream] = {}
        self._next_stream = 1
        self._next_ping = 1
        self._over: StreamReset | None = None

    async def open(self, headers: Mapping[str, str]) -> Stream:
        """Open a stream and wait until the other side has accepted it. Raises StreamReset, OSError."""
        if self._over is not None:
            raise self._over
        stream = Stream(self, self._next_stream)
        self._next_stream += 2
        self._streams[stream.number] = stream
        await self.send(self.frames.open_stream(stream.number, headers))
        await stream.accepted()
        return stream

    async def send(self, frame: bytes) -> None:
        """Send a frame; frames go out in the order in which they are made. Raises OSError."""
        await self._wire.write(frame)

    async def run(self) -> None:
        """Read until the connection ends, however that comes; streams that have not ended by then are reset."""
        reader = FrameReader()
        cause = "connection closed by the other side"
        try:
            while data := await self._wire.read():
                for frame in reader.feed(data):
                    if isinstance(frame, Data):
                        await self._take(frame)
                    else:
                        await self._heed(frame)
        except SpdyError as error:
            cause = str(error)
        except OSError as error:
            cause = f"connection lost: {error}"
        finally:
            self._over = StreamReset(cause)
            for stream in list(self._streams.values()):
                self._end(stream, self._over)

    async def keep_alive(self, clock: Clock) -> None:
        """Send pings until cancelled, or until the connection is gone."""
        while self._over is None:
            await clock.sleep(KEEP_ALIVE)
            number, self._next_ping = self._next_ping, self._next_ping + 2
            try:
                await self.send(self.frames.ping(number))
            except OSError:
                return  # whoever reads learns of it

    async def _take(self, frame: Data) -> None:
        stream = self._streams.get(frame.stream)
        if stream is None:
            return  # of a stream that was reset; what was under way is dropped
        if frame.payload:
            await stream.deliver(frame.payload)
        if frame.fin:
            self._end(stream, None)

    async def _heed(self, frame: Control) -> None:
        stream = self._streams.get(frame.number)
        match frame.kind:
            case Kind.PING if frame.number % 2 == 0:  # even numbers are the other side's
                await self.send(self.frames.ping(frame.number))
            case Kind.GOAWAY:
                self._over = self._over or StreamReset("the other side takes no more streams")
            case Kind.SYN_REPLY if stream is not None:
                stream.accept()
                if frame.fin:
                    self._end(stream, None)
            case Kind.RST_STREAM if stream is not None and frame.code == CANCEL and stream.is_accepted:
                # How servers of these protocols end streams that they have said all on.
                self._end(stream, None)
            case Kind.RST_STREAM if stream is not None:
                self._end(stream, StreamReset(f"stream {frame.number} reset with status {frame.code}"))

    def _end(self, stream: Stream, cause: StreamReset | None) -> None:
        self._streams.pop(stream.number, None)
        stream.finish(cause)

    def close(self) -> None:
        """End the connection."""
        self._wire.close()
