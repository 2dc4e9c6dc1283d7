"""Every request's way through the server: who asks, may they, is there room, then the handler; and back as a Status.

The order is upstream's. Nothing below this module needs to catch what it cannot handle: any exception becomes a Status
here, the unforeseen ones a 500 and a log line with their trace, and the server goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from api import errors
from controlplane.apiserver import options, routing
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.metrics import Labels, Metrics
from controlplane.apiserver.replies import status_reply
from controlplane.apiserver.request import RequestInfo, User
from controlplane.store import errors as store_errors

logger = logging.getLogger(__name__)

#: Seconds a request may take that is no watch, log or tunnel; those that write get less, as upstream.
READ_TIMEOUT = 60.0
WRITE_TIMEOUT = 34.0

#: Requests handled at once before others are told to come back; superusers are let in regardless.
MAX_READING = 1200
MAX_WRITING = 600

SUPERUSERS = "system:masters"

_READING = frozenset({"get", "list", "watch", "head", "options"})
_LONG_RUNNING = frozenset({"attach", "exec", "log", "portforward", "proxy"})


class Identifies(Protocol):
    """Tells who sends a request, and whether they may."""

    def identify(self, headers: Mapping[str, str], peer_certificate: bytes | None, info: RequestInfo) -> User:
        """The user on whose behalf the request is; raises StatusError (Unauthorized, Forbidden)."""
        ...


class Dispatches(Protocol):
    """Finds and runs the handler of an authorized request."""

    def labels(self, info: RequestInfo) -> Labels:
        """What the request is counted as; bounded in number, whatever clients send."""
        ...

    def __call__(self, exchange: Exchange) -> Awaitable[Reply | None]: ...


class Front:
    """The handler given to the HTTP server."""

    def __init__(
        self,
        guard: Identifies,
        dispatch: Dispatches,
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._guard = guard
        self._dispatch = dispatch
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, exchange: Exchange) -> Reply | None:
        """Answer one request; never raises but for cancellation."""
        started = self._clock()
        long_running = False
        try:
            exchange.info = info = routing.parse(exchange.method, exchange.path, exchange.query)
            long_running = info.is_resource and (info.verb == "watch" or info.subresource in _LONG_RUNNING)
            exchange.user = self._guard.identify(exchange.headers, exchange.peer_certificate, info)
            reply = await (self._attend(exchange, info) if long_running else self._handle(exchange, info))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: every failure becomes a Status, logged there
            reply = self._failure(exchange, error)
        code = 200 if reply is None else reply.status
        elapsed = None if long_running else self._clock() - started
        self._metrics.request(self._dispatch.labels(exchange.info), code, elapsed)
        return reply

    async def _handle(self, exchange: Exchange, info: RequestInfo) -> Reply | None:
        metrics = self._metrics
        reads = info.verb in _READING
        full = metrics.reading >= MAX_READING if reads else metrics.writing >= MAX_WRITING
        if full and SUPERUSERS not in exchange.user.groups:
            metrics.rejected += 1
            raise errors.too_many_requests("Too many requests, please try again later.", 1)
        limit = READ_TIMEOUT if reads else WRITE_TIMEOUT
        if exchange.query:
            limit = options.request_timeout(exchange.query, limit)
        if reads:
            metrics.reading += 1
        else:
            metrics.writing += 1
        try:
            async with asyncio.timeout(limit):
                return await self._dispatch(exchange)
        finally:
            if reads:
                metrics.reading -= 1
            else:
                metrics.writing -= 1

    async def _attend(self, exchange: Exchange, info: RequestInfo) -> Reply | None:
        labels = self._dispatch.labels(info)
        self._metrics.long_running_change(labels, 1)
        try:
            return await self._dispatch(exchange)
        finally:
            self._metrics.long_running_change(labels, -1)

    def _failure(self, exchange: Exchange, error: Exception) -> Reply | None:
        status = _as_status(error, exchange)
        if exchange.streamed:
            exchange.connection.abort()
            return None
        return status_reply(exchange, status)


def _as_status(error: Exception, exchange: Exchange) -> errors.StatusError:
    """The Status for whatever went wrong."""
    if isinstance(error, errors.StatusError):
        return error
    if isinstance(error, routing.MalformedPath):
        return errors.bad_request(str(error))
    if isinstance(error, TimeoutError):
        return errors.timeout("request did not complete within requested timeout - context deadline exceeded")
    if isinstance(error, store_errors.StoreBusy):
        return errors.too_many_requests("Too many requests, please try again later.", 1)
    if isinstance(error, store_errors.StoreClosed):
        return errors.service_unavailable("the server is shutting down")
    if isinstance(error, store_errors.WriteFailed | store_errors.ReadFailed):
        logger.error("%s %s: %s", exchange.method, exchange.path, error)
        return errors.internal(str(error))
    if isinstance(error, ConnectionError):
        # The client left in the middle of its request; nobody will read this.
        return errors.bad_request("the client closed the connection")
    logger.error("%s %s: unexpected error", exchange.method, exchange.path, exc_info=error)
    return errors.internal("unexpected error, its trace is in the server's log")
