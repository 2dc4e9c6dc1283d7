"""A connection taken over from aiohttp's server: after a 101 the bytes are ours, both ways.

aiohttp hands what the client sends to whatever was given to `RequestHandler.set_parser`, which is meant for its own
WebSocket reader. That this works for another is not in its documentation; `tests/unit/client/streaming/test_taking.py`
pins it.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from aiohttp import web

#: Bytes of a client that may wait to be read before it is asked to pause.
BUFFER_LIMIT = 256 * 1024


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

    def close(self) -> None:
        """End the connection; what was written is still sent."""
        self._transport.close()
