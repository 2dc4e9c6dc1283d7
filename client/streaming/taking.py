"""A connection taken over from aiohttp's server: after a 101 the bytes are ours, both ways.

aiohttp hands what the client sends to whatever was given to `RequestHandler.set_parser`, which is meant for its own
WebSocket reader. That this works for another is not in its documentation; `tests/unit/client/streaming/test_taking.py`
pins it.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from typing import Any, cast

from aiohttp import web

#: Bytes of a client that may wait to be read before it is asked to pause.
BUFFER_LIMIT = 256 * 1024


#: Seconds between two looks at what the client's machine has acknowledged, of which the kernel tells no one.
FLUSH_GLANCE = 0.05


class TakenOver(web.StreamResponse):
    """Tells aiohttp that the answer has been sent by other means and the connection is done with."""

    def __init__(self) -> None:
        super().__init__()
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class TakenConnection:
    """The client's side of a connection that has left HTTP, from the moment it is made.

    Takes the place of aiohttp's parser (`feed_data`, `feed_eof`). The handler must return `TakenOver`.
    Raises ConnectionError when the client has gone already.
    """

    def __init__(self, request: web.BaseRequest) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport = transport
        self._protocol = request.protocol
        self._reader = asyncio.StreamReader(BUFFER_LIMIT // 2)  # pauses at twice its limit
        self._reader.set_transport(transport)
        self._protocol.set_parser(cast(Any, self))

    # What aiohttp expects of a parser.

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        self._reader.feed_eof()

    # What is left of the connection.

    async def read(self) -> bytes:
        """The next bytes from the client, b"" at its end."""
        return await self._reader.read(BUFFER_LIMIT)

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the client takes more. Raises ConnectionError."""
        if self._protocol.transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        await self._protocol._drain_helper()

    async def flushed(self) -> None:
        """Wait until the client's machine has all that was written, however slowly it reads, or the client is gone."""
        connected: socket.socket = self._transport.get_extra_info("socket")
        while self._protocol.transport is not None and connected.fileno() >= 0:
            unsent = struct.unpack("i", fcntl.ioctl(connected.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))[0]
            if not unsent and not self._transport.get_write_buffer_size():
                return
            await asyncio.sleep(FLUSH_GLANCE)

    def close(self) -> None:
        """End the connection. What is not `flushed` yet has half a minute's time under TLS."""
        self._transport.close()
