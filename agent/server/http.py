"""Connections of the agent's API, on aiohttp's low-level server: requests in, answers out, and leaving HTTP.

What is used of aiohttp beyond its documentation (`RequestHandler.set_parser`, by which a connection is taken over after
a 101) is pinned by `tests/unit/agent/server/test_agent_server.py`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from aiohttp import web

BUFFER_LIMIT = 256 * 1024
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Problem(Exception):
    """A request that ends with an error answer."""

    def __init__(self, status: int, text: str, content_type: str = "text/plain") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.content_type = content_type

    def response(self) -> web.Response:
        return web.Response(status=self.status, text=self.text, content_type=self.content_type)


def tls_context(certificate: str, key: str, client_ca: str) -> ssl.SSLContext:
    """TLS 1.2 and later with our serving certificate; clients may show a certificate of `client_ca`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context


def peer_certificate(request: web.BaseRequest) -> Mapping[str, Any] | None:
    """The verified certificate that the client showed, as `ssl` describes it; None without one."""
    tls = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
    return (tls.getpeercert() or None) if tls is not None else None


class TakenOver(web.StreamResponse):
    """Tells aiohttp that the connection has left HTTP and is done with."""

    def __init__(self) -> None:
        super().__init__()
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class TakenConnection:
    """A connection after its 101: raw bytes both ways.

    Takes the place of aiohttp's parser (`feed_data`, `feed_eof`); what the client sends waits in a bounded buffer.
    """

    def __init__(self, request: web.BaseRequest) -> None:
        if request.transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport = request.transport
        self._protocol = request.protocol
        self.reader = asyncio.StreamReader(BUFFER_LIMIT // 2)
        self.reader.set_transport(self._transport)
        self._protocol.set_parser(cast(Any, self))

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        self.reader.feed_eof()

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the client takes more. Raises ConnectionError."""
        if self._protocol.transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        await self._protocol._drain_helper()

    def close(self) -> None:
        self._transport.close()


class HttpsServer:
    """Listens, and has `handler` answer; a Problem becomes its answer, anything else a 500."""

    def __init__(self, handler: Handler, report: Callable[[web.BaseRequest, Exception], None]) -> None:
        self._handler = handler
        self._report = report
        self._server = web.Server(self._answer, access_log=None, handler_cancellation=True)
        self._listener: asyncio.Server | None = None

    async def listen(self, address: str | None, port: int, tls: ssl.SSLContext) -> int:
        """Bind and accept; returns the port. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._server, address, port, ssl=tls, reuse_address=True)
        return int(self._listener.sockets[0].getsockname()[1])

    async def close(self, grace: float = 2.0) -> None:
        """Stop accepting and cut what goes on after `grace` seconds."""
        if self._listener is not None:
            self._listener.close()
        await self._server.shutdown(grace)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._handler(request)
        except Problem as problem:
            return problem.response()
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - a fault in one answer must not end the server; it is reported
            self._report(request, error)
            return web.Response(status=500, text=f"{type(error).__name__}: {error}\n")
