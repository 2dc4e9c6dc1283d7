"""The other side of a SPDY connection, for tests: scripted, and able to misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from client.streaming.frames import Control, Data, FrameReader, FrameWriter, Kind


class Peer:
    """A SPDY server on one connection. It accepts streams and gathers what comes; the rest is the test's to do."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader()
        self.make = FrameWriter()
        self.streams: dict[str, int] = {}
        """Stream type → number."""
        self.headers: dict[int, dict[str, str]] = {}
        self.received: dict[int, bytearray] = {}
        self.ended: set[int] = set()
        self.pings: list[int] = []
        self.gone = False
        self.accepting = True
        self.pong = True
        self._news = asyncio.Condition()

    async def run(self) -> None:
        """Read until the client's end."""
        try:
            while data := await self._reader.read(65536):
                for frame in self._frames.feed(data):
                    await self._heed(frame)
                async with self._news:
                    self._news.notify_all()
        except ConnectionError:
            pass
        finally:
            self.gone = True
            async with self._news:
                self._news.notify_all()

    async def _heed(self, frame: Control | Data) -> None:
        if isinstance(frame, Data):
            self.received[frame.stream] += frame.payload
            if frame.fin:
                self.ended.add(frame.stream)
            return
        match frame.kind:
            case Kind.SYN_STREAM:
                self.headers[frame.number] = dict(frame.headers)
                self.received[frame.number] = bytearray()
                self.streams[frame.headers.get("streamtype", "")] = frame.number
                if self.accepting:
                    await self.send(self.make.reply(frame.number, {}))
            case Kind.PING:
                self.pings.append(frame.number)
                if self.pong and frame.number % 2:
                    await self.send(self.make.ping(frame.number))

    async def send(self, frames: bytes) -> None:
        self._writer.write(frames)
        await self._writer.drain()

    async def say(self, kind: str, data: bytes, *, fin: bool = False) -> None:
        """Data on the stream of a type, in frames of a moderate size."""
        number = self.streams[kind]
        for start in range(0, len(data), 16384):
            await self.send(self.make.data(number, data[start : start + 16384]))
        if fin:
            await self.send(self.make.data(number, b"", fin=True))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(condition)

    async def opened(self, *kinds: str) -> None:
        await self.until(lambda: set(kinds) <= self.streams.keys())

    def close(self) -> None:
        self._writer.close()

    def abort(self) -> None:
        self._writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]
