"""One SPDY connection and its streams, as the side that opened it.

A reader task hands data to the streams; a stream whose owner does not read holds up the whole connection once its
buffer is full, as it would with the other side's implementation, so every stream that is opened must be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from client.streaming.frames import Control, Data, FrameReader, FrameWriter, Kind, SpdyError

READ_SIZE = 64 * 1024
BUFFERED_CHUNKS = 64
PIECE = 32 * 1024


class StreamReset(Exception):
    """The other side gave up on a stream, or the connection is gone before the stream ended."""


class Stream:
    """Bytes both ways. `read` until b"" (the other side has ended), `write`, `close` (we have)."""

    def __init__(self, session: SpdySession, number: int) -> None:
        self._session = session
        self.number = number
        self.accepted = asyncio.get_running_loop().create_future()
        self._chunks: asyncio.Queue[bytes | Exception] = asyncio.Queue(BUFFERED_CHUNKS)
        self._closed = False
        self._ended: bytes | Exception | None = None

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises StreamReset."""
        if self._ended is None:
            chunk = await self._chunks.get()
            if isinstance(chunk, bytes) and chunk:
                return chunk
            self._ended = chunk
        if isinstance(self._ended, Exception):
            raise self._ended
        return b""

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the connection takes more. Raises ConnectionError."""
        for start in range(0, len(data), PIECE):
            await self._session.send(self._session.frames.data(self.number, data[start : start + PIECE]))

    async def close(self) -> None:
        """Say that nothing more comes from this side."""
        if not self._closed:
            self._closed = True
            await self._session.send(self._session.frames.data(self.number, b"", fin=True))

    async def deliver(self, chunk: bytes | Exception) -> None:
        await self._chunks.put(chunk)


class SpdySession:
    """A connection after the upgrade. Run `run` in a task group beside the use of the streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.frames = FrameWriter()
        self._streams: dict[int, Stream] = {}
        self._next = 1

    async def open(self, headers: Mapping[str, str]) -> Stream:
        """Open a stream and wait until the other side has accepted it. Raises StreamReset, ConnectionError."""
        stream = Stream(self, self._next)
        self._next += 2
        self._streams[stream.number] = stream
        await self.send(self.frames.open_stream(stream.number, headers))
        await stream.accepted
        return stream

    async def send(self, frame: bytes) -> None:
        self._writer.write(frame)
        await self._writer.drain()

    async def run(self) -> None:
        """Read until the connection ends; streams that have not ended by then are reset. Raises SpdyError."""
        reader = FrameReader()
        cause: Exception = StreamReset("connection closed by the other side")
        try:
            while data := await self._reader.read(READ_SIZE):
                for frame in reader.feed(data):
                    if isinstance(frame, Data):
                        await self._take(frame)
                    else:
                        await self._heed(frame)
        except ConnectionError as error:
            cause = StreamReset(f"connection lost: {error}")
        except SpdyError as error:
            cause = StreamReset(str(error))
            raise
        finally:
            for stream in list(self._streams.values()):
                await self._end(stream, cause)

    async def _take(self, frame: Data) -> None:
        stream = self._streams.get(frame.stream)
        if stream is None:
            return
        if frame.payload:
            await stream.deliver(frame.payload)
        if frame.fin:
            await self._end(stream, None)

    async def _heed(self, frame: Control) -> None:
        stream = self._streams.get(frame.number)
        match frame.kind:
            case Kind.PING if frame.number % 2 == 0:  # even numbers are the other side's
                await self.send(self.frames.ping(frame.number))
            case Kind.SYN_REPLY if stream is not None:
                if not stream.accepted.done():
                    stream.accepted.set_result(None)
                if frame.fin:
                    await self._end(stream, None)
            case Kind.RST_STREAM if stream is not None:
                await self._end(stream, StreamReset(f"stream {frame.number} reset with status {frame.code}"))

    async def _end(self, stream: Stream, cause: Exception | None) -> None:
        self._streams.pop(stream.number, None)
        if not stream.accepted.done():
            stream.accepted.set_exception(cause or StreamReset("stream ended before it was accepted"))
        await stream.deliver(b"" if cause is None else cause)

    def close(self) -> None:
        """Cut the connection."""
        self._writer.close()
