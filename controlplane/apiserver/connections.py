"""One client connection, as aiohttp sees it and as an exchange does.

Replies are written straight to the transport. What aiohttp does not offer publicly and is relied upon here
(`RequestHandler` as a base class) is pinned by `tests/unit/controlplane/apiserver/test_http_layer.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from aiohttp import hdrs, web
from aiohttp.web_protocol import RequestHandler

from api import errors
from client.streaming.taking import TakenConnection
from controlplane.apiserver import messages
from controlplane.apiserver.caching.encoding import LAST_CHUNK, chunk
from controlplane.apiserver.exchange import Form, Stream

_REASONS = {status.value: status.phrase for status in HTTPStatus}

#: Goes with every answer: none of them may be served from a cache later.
CACHE_CONTROL = ("Cache-Control", "no-cache, private")


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
    lines = [status_line(status)]
    lines += [f"{name}: {value}\r\n" for name, value in headers]
    lines.append("\r\n")
    return "".join(lines).encode("latin-1", "replace")


def status_line(status: int) -> str:
    """The first line of an answer, and its date."""
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}\r\nDate: {_clock.date()}\r\n"


class ConnectionHandler(RequestHandler):
    """One client connection: aiohttp's protocol, plus the certificate TLS showed."""

    __slots__ = ("peer_certificate",)

    def __init__(self, manager: web.Server, *, loop: asyncio.AbstractEventLoop, **kwargs: Any) -> None:
        super().__init__(manager, loop=loop, **kwargs)
        self.peer_certificate: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.peer_certificate = tls.getpeercert(True)
        super().connection_made(transport)

    async def drained(self) -> None:
        """Wait until the transport takes bytes again; raises ConnectionError when it is gone."""
        await self._drain_helper()


class RequestConnection:
    """The connection as an exchange sees it, for one request."""

    __slots__ = ("_handler", "_request", "keep_alive", "messages")

    def __init__(self, request: web.BaseRequest, handler: ConnectionHandler) -> None:
        self._request = request
        self._handler = handler
        self.keep_alive = request.keep_alive
        self.messages: messages.MessageStream | None = None

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
        transport.write(response_head(status, (*headers, CACHE_CONTROL, ("Transfer-Encoding", "chunked"))))
        return _Stream(transport, self._handler)

    async def start_messages(self, form: Form, protocols: Iterable[str]) -> Stream:
        begun = await messages.begin(self._request, self._handler, form, protocols)
        self.keep_alive = False
        self.messages = begun
        return begun

    def start_tunnel(self, head: bytes) -> TakenConnection:
        self.keep_alive = False
        tunnel = TakenConnection(self._request)
        self._transport().write(head)
        return tunnel

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
