"""Connections of the agent's API, on aiohttp's low-level server: requests in, answers out.

What is used of aiohttp beyond its documentation is pinned by `tests/unit/agent/server/test_agent_server.py` and, as to
leaving HTTP, by the tests of `client.streaming.taking`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from client.streaming.taking import TakenOver

#: Longest request line and header field, in bytes. `kubectl exec` puts the whole command into the URL.
MAX_LINE = 128 * 1024

#: Seconds that a connection may be without a request.
IDLE_LIMIT = 90.0

#: Seconds for a client to finish its TLS handshake.
HANDSHAKE_DEADLINE = 10.0

#: TCP keep-alive: seconds of silence, seconds between probes, probes. A client whose machine is gone is found out in
#: two minutes; one that merely does not read for an hour, in a pager, is not bothered.
KEEP_ALIVE = (60, 15, 4)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Problem(Exception):
    """A request that ends with an error answer."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers

    def response(self) -> web.Response:
        return web.Response(
            status=self.status, text=self.text, headers={"X-Content-Type-Options": "nosniff", **(self.headers or {})}
        )


def peer_certificate(request: web.BaseRequest) -> bytes | None:
    """The certificate (DER) that the client showed, as yet unverified; None without one."""
    tls = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
    return tls.getpeercert(binary_form=True) if tls is not None else None


class HttpsServer:
    """Listens, and has `handler` answer; a Problem becomes its answer, anything else a 500."""

    def __init__(self, handler: Handler, report: Callable[[web.BaseRequest, Exception], None]) -> None:
        self._handler = handler
        self._report = report
        self._server = web.Server(
            self._answer,
            access_log=None,
            handler_cancellation=True,
            max_line_size=MAX_LINE,
            max_field_size=MAX_LINE,
            keepalive_timeout=IDLE_LIMIT,
            auto_decompress=False,
        )
        self._listener: asyncio.Server | None = None
        self._running: set[asyncio.Task[Any]] = set()

    async def listen(self, address: str | None, port: int, tls: ssl.SSLContext) -> int:
        """Bind and accept; returns the port. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            self._server, address, port, ssl=tls, reuse_address=True, ssl_handshake_timeout=HANDSHAKE_DEADLINE
        )
        for listening in self._listener.sockets:
            _keep_alive(listening)  # accepted connections inherit it
        return int(self._listener.sockets[0].getsockname()[1])

    async def close(self, grace: float = 2.0) -> None:
        """Stop accepting and cut what goes on after `grace` seconds."""
        if self._listener is not None:
            self._listener.close()
        self._server.pre_shutdown()
        if self._running:
            await asyncio.wait(self._running, timeout=grace)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._server.shutdown(0)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            return await self._handler(request)
        except Problem as problem:
            return problem.response()
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - a fault in one answer must not end the server; it is reported
            self._report(request, error)
            if _begun(request):  # too late for another answer, and what was sent must not look whole
                if request.transport is not None:
                    request.transport.abort()
                return TakenOver()
            return web.Response(status=500, text=f"{type(error).__name__}: {error}\n")
        finally:
            self._running.discard(task)


def _begun(request: web.BaseRequest) -> bool:
    """Whether something of an answer has been sent, or the connection has left HTTP."""
    return bool(request.writer.output_size) or request.protocol._payload_parser is not None


def _keep_alive(listening: socket.socket) -> None:
    idle, interval, count = KEEP_ALIVE
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, interval)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, count)
