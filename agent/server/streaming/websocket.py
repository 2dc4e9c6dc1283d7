"""What exec, attach and port-forward share of WebSockets: offers, the handshake, and refusing one in good time.

aiohttp would answer a bad handshake only when it is asked to upgrade; by then the runtime has been called for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from agent.server.http import Problem

MESSAGE_LIMIT = 16 * 1024 * 1024
CLOSE_DEADLINE = 600.0
"""Seconds for a client to answer our closing message: it comes upon that after all that was sent before, and somebody
may be reading it in a pager."""


def offered_protocols(request: web.BaseRequest) -> list[str]:
    """The subprotocols that the client offers, in its order."""
    values = request.headers.getall("Sec-WebSocket-Protocol", [])
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def checked(request: web.BaseRequest, protocols: Sequence[str], *, none_will_do: bool = False) -> web.WebSocketResponse:
    """A WebSocket that can be accepted with one of `protocols`, or without any. Raises Problem: 400, 403."""
    socket = web.WebSocketResponse(
        protocols=protocols, max_msg_size=MESSAGE_LIMIT, compress=False, timeout=CLOSE_DEADLINE
    )
    offered = offered_protocols(request)
    if not set(offered) & set(protocols) and not (none_will_do and not offered):
        raise Problem(403, f"none of the protocols {offered} is spoken here\n")
    if not socket.can_prepare(request).ok:
        raise Problem(400, "malformed WebSocket handshake\n")
    return socket
