"""HTTP/1.1 over TLS: listening, and requests turned into exchanges and replies into bytes.

aiohttp's low-level server parses requests; replies are written as one block of bytes, because building aiohttp's
response objects costs more than all the rest of a get. This module, :mod:`controlplane.apiserver.connections` and
:mod:`controlplane.apiserver.messages` are the only ones that know which library speaks HTTP.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

from aiohttp import hdrs, web
from aiohttp.web_protocol import RequestHandler

from controlplane.apiserver import query, routing
from controlplane.apiserver.connections import CACHE_CONTROL, ConnectionHandler, RequestConnection, status_line
from controlplane.apiserver.exchange import Exchange, Reply

Handler = Callable[[Exchange], Awaitable[Reply | None]]

#: Longest request line and header field, in bytes. `kubectl exec` puts the whole command into the URL.
_MAX_LINE = 128 * 1024

#: Seconds a client may take to read one reply before the connection is given up.
_WRITE_DEADLINE = 60.0

#: The level is upstream's: lists repeat so much that more effort gains little.
_GZIP_LEVEL = 1
_COMPRESS_IN_THREAD = 1 << 20


class _Server(web.Server):
    def __call__(self) -> RequestHandler:
        return ConnectionHandler(self, loop=self._loop, **self._kwargs)


class _Sent(web.StreamResponse):
    """Tells aiohttp that a reply has been sent already, and whether the connection lives on."""

    def __init__(self, *, keep_alive: bool) -> None:
        super().__init__()
        self._keep_alive = keep_alive

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


_KEPT, _CLOSED = _Sent(keep_alive=True), _Sent(keep_alive=False)


class HttpServer:
    """Listens, turns requests into exchanges and replies into bytes. The handler must not raise."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server = _Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
        )
        self._listeners: list[asyncio.Server] = []
        self._stopping = False

    async def listen(self, addresses: Sequence[str], port: int, tls: ssl.SSLContext | None) -> list[int]:
        """Bind and accept; the ports bound (port 0 asks for a free one). Raises OSError when an address is taken."""
        loop = asyncio.get_running_loop()
        for address in addresses:
            listener = await loop.create_server(
                self._server, address, port, ssl=tls, backlog=1024, reuse_address=True, start_serving=True
            )
            self._listeners.append(listener)
        return [bound.getsockname()[1] for listener in self._listeners for bound in listener.sockets]

    def stop_accepting(self) -> None:
        """Close the listening sockets; connections live on, but each closes after its next reply."""
        self._stopping = True
        for listener in self._listeners:
            listener.close()

    async def shutdown(self, grace: float) -> None:
        """Give running requests `grace` seconds, then cut all connections."""
        self._server.pre_shutdown()
        await self._server.shutdown(grace)

    @property
    def connections(self) -> int:
        """Open client connections."""
        return len(self._server.connections)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = cast(ConnectionHandler, request.protocol)
        connection = RequestConnection(request, handler)
        path, raw_query = routing.split_target(request.raw_path)
        exchange = Exchange(
            connection,
            request.method,
            path,
            raw_query,
            query.parse(raw_query),
            request.headers,
            handler.peer_certificate,
        )
        try:
            reply = await self._handler(exchange)
        finally:
            if connection.messages is not None:
                await connection.messages.settle()
        if reply is None:
            if not connection.keep_alive and handler.transport is not None:
                handler.transport.close()
            return _KEPT if connection.keep_alive else _CLOSED
        keep_alive = connection.keep_alive and not self._stopping
        if reply.gzip:
            await _compress(reply)
        transport = handler.transport
        if transport is None:
            return _CLOSED
        head = _reply_head(reply, exchange.warnings, keep_alive=keep_alive)
        if request.method == hdrs.METH_HEAD:
            transport.write(head)
        elif len(reply.body) < 65536:
            transport.write(head + reply.body)
        else:
            transport.write(head)
            transport.write(reply.body)
        if handler.writing_paused:
            try:
                async with asyncio.timeout(_WRITE_DEADLINE):
                    await handler.drained()
            except (TimeoutError, ConnectionError):
                transport.abort()
                return _CLOSED
        return _KEPT if keep_alive else _CLOSED


def _reply_head(reply: Reply, warnings: list[str], *, keep_alive: bool) -> bytes:
    head = (
        f"{status_line(reply.status)}{CACHE_CONTROL[0]}: {CACHE_CONTROL[1]}\r\n"
        f"Content-Type: {reply.content_type}\r\n"
        f"Content-Length: {len(reply.body)}\r\n"
    )
    for name, value in reply.headers:
        head += f"{name}: {value}\r\n"
    for text in warnings:
        head += f"Warning: {warning_value(text)}\r\n"
    if not keep_alive:
        head += "Connection: close\r\n"
    return (head + "\r\n").encode("latin-1", "replace")


async def _compress(reply: Reply) -> None:
    """Gzip a body, in a thread if it is big enough to be felt by others."""
    if len(reply.body) > _COMPRESS_IN_THREAD:
        reply.body = await asyncio.to_thread(gzip.compress, reply.body, _GZIP_LEVEL, mtime=0)
    else:
        reply.body = gzip.compress(reply.body, _GZIP_LEVEL, mtime=0)
    reply.headers = (*reply.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))


def warning_value(text: str) -> str:
    """A Warning header's value with code 299 and no agent (RFC 7234, section 5.5)."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    # Header bytes are latin-1; upstream sends UTF-8 there, and clients read it as such.
    return f'299 - "{escaped}"'.encode().decode("latin-1")


def bind_addresses(addresses: Iterable[str]) -> list[str]:
    """Drop addresses listed twice and those of families the kernel does not have."""
    usable = []
    for address in dict.fromkeys(addresses):
        if ":" in address and not socket.has_ipv6:
            continue
        usable.append(address)
    return usable
