"""Port-forward for clients that speak WebSocket: each binary message carries a piece of a SPDY connection.

The client asks for the subprotocol `SPDY/3.1+portforward.k8s.io`; what is inside is for the runtime. Source: KEP-4006.
"""

from __future__ import annotations

from aiohttp import WSMsgType, web

from agent.server.streaming.passing import upgrade_runtime
from agent.server.streaming.websocket import checked
from client.streaming.joining import join
from client.streaming.taking import TakenOver

PORT_FORWARD = "portforward.k8s.io"
TUNNELLED = f"SPDY/3.1+{PORT_FORWARD}"


async def tunnel(request: web.BaseRequest, url: str) -> web.StreamResponse:
    """Connect the SPDY inside the client's WebSocket to `url` until one side ends. Raises Problem before that."""
    socket = checked(request, (TUNNELLED,))
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", PORT_FORWARD)]
    runtime = await upgrade_runtime(url, headers)
    try:
        await socket.prepare(request)
        await join(_Inside(socket), runtime)
        await socket.close()
    finally:
        await runtime.closed()
    return TakenOver()


class _Inside:
    """The bytes inside a WebSocket, as one end of a connection."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        while True:
            message = await self._socket.receive()
            if message.type is WSMsgType.BINARY:
                if message.data:
                    return bytes(message.data)
            elif message.type is not WSMsgType.TEXT:
                return b""

    async def write(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def flushed(self) -> None:
        """The closing message goes after all others, and is waited for."""

    def close(self) -> None:
        """Left to who opened it: a WebSocket ends with a message, which takes waiting."""
