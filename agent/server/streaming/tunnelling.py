"""Port-forward for clients that speak WebSocket: each binary message carries a piece of a SPDY connection.

The client asks for the subprotocol `SPDY/3.1+portforward.k8s.io`; what is inside is for the runtime. Source: KEP-4006.
"""

from __future__ import annotations

from aiohttp import WSMsgType, web

from agent.server.http import TakenOver
from agent.server.streaming.passing import _writer, dial, join

PREFIX = "SPDY/3.1+"
PORT_FORWARD = "portforward.k8s.io"
TUNNELLED = PREFIX + PORT_FORWARD
MESSAGE_LIMIT = 16 * 1024 * 1024


async def tunnel(request: web.BaseRequest, url: str) -> web.StreamResponse:
    """Connect the SPDY inside the client's WebSocket to `url` until one side ends. Raises Problem before that."""
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", PORT_FORWARD)]
    runtime = await dial(url, headers)
    try:
        socket = web.WebSocketResponse(protocols=(TUNNELLED,), max_msg_size=MESSAGE_LIMIT, compress=False)
        await socket.prepare(request)

        async def read(_size: int) -> bytes:
            while True:
                message = await socket.receive()
                if message.type is WSMsgType.BINARY:
                    if message.data:
                        return bytes(message.data)
                elif message.type not in (WSMsgType.TEXT, WSMsgType.PING, WSMsgType.PONG):
                    return b""

        await join(
            (read, socket.send_bytes, lambda: socket.force_close()),
            (runtime.reader.read, _writer(runtime), runtime.close),
        )
        await socket.close()
    finally:
        runtime.close()
    return TakenOver()
