"""The agent's API from start to stop."""

from __future__ import annotations

import logging
from pathlib import Path

from aiohttp import web

from agent.server.access import Access, Review
from agent.server.handlers import AgentApi
from agent.server.host import Host
from agent.server.http import HttpsServer
from client.clock import Clock
from client.tls import server_context

logger = logging.getLogger(__name__)


class AgentServer:
    """Serves the API of `host` with a certificate and its key, to clients with a certificate of `client_ca` or a token.

    `review` posts a TokenReview or SubjectAccessReview to the API server and returns it answered. Raises OSError when
    `client_ca` cannot be read, ValueError when it holds no certificate.
    """

    def __init__(
        self,
        host: Host,
        node_name: str,
        review: Review,
        clock: Clock,
        *,
        certificate: str,
        key: str,
        client_ca: str,
    ) -> None:
        self._api = AgentApi(host, Access(node_name, review, clock, Path(client_ca).read_bytes()), clock)
        self._server = HttpsServer(self._api.answer, _report)
        self._files = (certificate, key, client_ca)

    async def start(self, address: str | None, port: int) -> int:
        """Listen on `address` (None: all); returns the port. Raises OSError, ssl.SSLError."""
        return await self._server.listen(address, port, server_context(*self._files))

    async def stop(self) -> None:
        await self._server.close()


def _report(request: web.BaseRequest, error: Exception) -> None:
    logger.error("event=request_failed method=%s path=%s", request.method, request.path, exc_info=error)
