"""HTTP/1.1 over TLS: the only module that knows which library speaks it.

aiohttp's low-level server parses requests; replies are written straight to the transport as one block of bytes, because
building aiohttp's response objects costs more than all the rest of a get. What aiohttp does not offer publicly and is
relied upon here (`RequestHandler` as a base class, `set_parser` for leaving HTTP after a 101) is pinned by
`tests/unit/controlplane/apiserver/test_http.py`.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import socket
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, cast

from aiohttp import hdrs, web
from aiohttp.web_protocol import RequestHandler

from api import errors
from controlplane.apiserver import query, routing
from controlplane.apiserver.caching.encoding import LAST_CHUNK, chunk
from controlplane.apiserver.exchange import Exchange, Reply, Stream, Tunnel

logger = logging.getLogger(__name__)

Handler = Callable[[Exchange], Awaitable[Reply | None]]

#: Longest request line and header field, in bytes. `kubectl exec` puts the whole command into the URL.
_MAX_LINE = 128 * 1024

#: Seconds a client may take to read one reply before the connection is given up.
_WRITE_DEADLINE = 60.0

#: Bytes of a tunnel that wait for the other side before the client is asked to pause.
_TUNNEL_BUFFER = 256 * 1024

#: The level is upstream's: lists repeat so much that more effort gains little.
_GZIP_LEVEL = 1
_COMPRESS_IN_THREAD = 1 << 20

_REASONS = {status.value: status.phrase for status in HTTPStatus}


class _Clock:
    """The Date header, rendered once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def date(self) -> str:
        now = int(time.time())
        if now != self._second:
            self._second, self._text = now, formatdate(now, usegmt=True)
        return self._text


_clock = _Clock()


def response_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Status line and header fields up to and including the empty line."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}\r\nDate: {_clock.date()}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in headers]
    lines.append("\r\n")
    return "".join(lines).encode("latin-1", "replace")


class ConnectionHandler(RequestHandler):
    """One client connection: aiohttp's protocol, plus the certificate TLS showed and who wants to know of its end."""

    __slots__ = ("_on_gone", "peer_certificate")

    def __init__(self, manager: web.Server, *, loop: asyncio.AbstractEventLoop, **kwargs: Any) -> None:
        super().__init__(manager, loop=loop, **kwargs)
        self.peer_certificate: bytes | None = None
        self._on_gone: list[Callable[[], None]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.peer_certificate = tls.getpeercert(True)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        callbacks, self._on_gone = self._on_gone, []
        for callback in callbacks:
            callback()
        super().connection_lost(exc)

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Call back once when the connection ends."""
        if self.transport is None:
            callback()
        else:
            self._on_gone.append(callback)

    async def drained(self) -> None:
        """Wait until the transport takes bytes again; raises ConnectionError when it is gone."""
        await self._drain_helper()


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


class _Connection:
    """The connection as an exchange sees it, for one request."""

    __slots__ = ("_handler", "_request", "keep_alive")

    def __init__(self, request: web.BaseRequest, handler: ConnectionHandler) -> None:
        self._request = request
        self._handler = handler
        self.keep_alive = request.keep_alive

    async def read_body(self, limit: int) -> bytes:
        request = self._request
        if not request.can_read_body:
            return b""
        length = request.headers.get(hdrs.CONTENT_LENGTH)
        if length is not None and length.isdigit() and int(length) > limit:
            raise errors.request_entity_too_large(f"limit is {limit}")
        if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
            self._transport().write(b"HTTP/1.1 100 Continue\r\n\r\n")
        content = request.content
        data = await content.readany()
        if content.at_eof():
            if len(data) > limit:
                raise errors.request_entity_too_large(f"limit is {limit}")
            return data
        pieces, size = [data], len(data)
        while data := await content.readany():
            pieces.append(data)
            size += len(data)
            if size > limit:
                raise errors.request_entity_too_large(f"limit is {limit}")
        return b"".join(pieces)

    def start_stream(self, status: int, headers: Iterable[tuple[str, str]]) -> Stream:
        transport = self._transport()
        transport.write(response_head(status, (*headers, *_COMMON, ("Transfer-Encoding", "chunked"))))
        return _Stream(transport, self._handler)

    def start_tunnel(self, head: bytes) -> Tunnel:
        self.keep_alive = False
        transport = self._transport()
        tunnel = _Tunnel(transport, self._handler)
        self._handler.set_parser(cast(Any, tunnel))
        transport.write(head)
        return tunnel

    def on_gone(self, callback: Callable[[], None]) -> None:
        self._handler.on_gone(callback)

    def abort(self) -> None:
        self.keep_alive = False
        if self._handler.transport is not None:
            self._handler.transport.abort()

    def _transport(self) -> asyncio.Transport:
        transport = self._handler.transport
        if transport is None:
            raise ConnectionResetError("the client has gone")
        return transport


class _Stream:
    __slots__ = ("_handler", "_transport")

    def __init__(self, transport: asyncio.Transport, handler: ConnectionHandler) -> None:
        self._transport = transport
        self._handler = handler

    def write(self, data: bytes) -> None:
        self._transport.write(chunk(data))

    def write_framed(self, data: bytes) -> None:
        self._transport.write(data)

    def buffered(self) -> int:
        return self._transport.get_write_buffer_size()

    @property
    def closed(self) -> bool:
        return self._handler.transport is None or self._transport.is_closing()

    async def drain(self) -> None:
        await self._handler.drained()

    def finish(self) -> None:
        if not self.closed:
            self._transport.write(LAST_CHUNK)


class _Tunnel:
    """Raw bytes from and to the client; takes the place of aiohttp's WebSocket parser."""

    __slots__ = ("_chunks", "_ended", "_handler", "_size", "_transport", "_waiter")

    def __init__(self, transport: asyncio.Transport, handler: ConnectionHandler) -> None:
        self._transport = transport
        self._handler = handler
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None

    # The interface aiohttp expects of a parser.

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._chunks.append(bytes(data))
        self._size += len(data)
        if self._size > _TUNNEL_BUFFER:
            self._transport.pause_reading()
        self._wake()
        return False, b""

    def feed_eof(self) -> None:
        self._ended = True
        self._wake()

    # The interface of a Tunnel.

    async def read(self) -> bytes:
        while not self._chunks:
            if self._ended:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = self._chunks.popleft()
        was_full = self._size > _TUNNEL_BUFFER
        self._size -= len(data)
        if was_full and self._size <= _TUNNEL_BUFFER and not self._transport.is_closing():
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        if self._handler.transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        await self._handler.drained()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


_COMMON = (("Cache-Control", "no-cache, private"),)


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
        connection = _Connection(request, handler)
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
        reply = await self._handler(exchange)
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
        f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Unknown')}\r\n"
        f"Date: {_clock.date()}\r\n"
        "Cache-Control: no-cache, private\r\n"
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
