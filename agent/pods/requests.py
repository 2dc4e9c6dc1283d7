"""HTTP as probes and hooks ask: one GET on a connection of its own.

Certificates are not verified, cookies and proxies not used. A redirect is followed on the same host only; one that
leads elsewhere is the answer. What went wrong is told as Go's net/http would put it, since events and statuses show it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from api import core_v1 as core

MOST_REDIRECTS = 10
LARGEST_ANSWER = 10 * 1024
"""Bytes of an answer's body that are read."""
LARGEST_HEADER = 1 << 20
"""Bytes of one header that are borne: some programs put whole sessions into a cookie."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT = frozenset(
    {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNRESET, errno.EADDRNOTAVAIL, errno.EINVAL}
)


class RequestFailed(Exception):
    """There was no answer. `plain` when the other side does not speak TLS though it was asked by HTTPS."""

    def __init__(self, message: str, *, plain: bool = False) -> None:
        super().__init__(message)
        self.plain = plain


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    """Its beginning."""


def address(host: str, port: int) -> str:
    """`host:port`, with brackets where they are needed."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def dial_error(host: str, port: int, error: OSError) -> str:
    """`dial tcp 10.0.0.1:80: connect: connection refused`."""
    where = f"dial tcp {address(host, port)}"
    if isinstance(error, TimeoutError):
        return f"{where}: i/o timeout"
    if error.errno is not None and error.errno > 0:
        call = "connect: " if error.errno in _CONNECT else ""
        return f"{where}: {call}{os.strerror(error.errno).lower()}"
    return f"{where}: {error}"


def action_url(action: core.HTTPGetAction, host: str, port: int) -> str:
    """The URL an action means."""
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    return f"{(action.scheme or 'HTTP').lower()}://{address(host, port)}{path}"


async def get(action: core.HTTPGetAction, host: str, port: int, agent: str) -> Answer:
    """Ask once; `agent` is the name to do it under. The caller sets the deadline. Raises RequestFailed."""
    first = url = action_url(action, host, port)
    headers = _headers(action, agent)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=False, force_close=True, limit=1),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        max_line_size=LARGEST_HEADER,
        max_field_size=LARGEST_HEADER,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
    ) as session:
        for _ in range(MOST_REDIRECTS):
            try:
                async with session.get(URL(url, encoded=True), headers=headers, allow_redirects=False) as answer:
                    body = await answer.content.read(LARGEST_ANSWER)
                    status, location = answer.status, answer.headers.get("Location", "")
            except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError, ValueError) as error:
                cause = _cause(error)
                raise RequestFailed(f'Get "{url}": {cause}', plain=cause == _NO_TLS) from error
            target = urljoin(url, location)
            elsewhere = urlsplit(target).hostname != urlsplit(first).hostname
            if status not in _REDIRECTS or not location or elsewhere:
                return Answer(status, body)
            url = target
    raise RequestFailed(f'Get "{url}": stopped after {MOST_REDIRECTS} redirects')


def _headers(action: core.HTTPGetAction, agent: str) -> list[tuple[str, str]]:
    given = [(one.name, one.value) for one in action.http_headers]
    names = {name.lower() for name, _ in given}
    defaults = [("User-Agent", agent), ("Accept", "*/*")]
    # An empty value is how a manifest asks for the header to be left out.
    wanted = [*given, *(one for one in defaults if one[0].lower() not in names)]
    return [(name, value) for name, value in wanted if value or name.lower() not in ("user-agent", "accept")]


_NO_TLS = "http: server gave HTTP response to HTTPS client"


def _cause(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, ssl.SSLError):
            return _tls_error(error.os_error)
        return dial_error(error.host, error.port or 0, error.os_error)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, OSError) and error.errno:
        return f"read tcp: {error.strerror}"
    return str(error) or type(error).__name__


def _tls_error(error: ssl.SSLError) -> str:
    # OpenSSL takes the first bytes of an answer in plain text for a version it does not know.
    reason = error.reason or str(error)
    return _NO_TLS if reason == "WRONG_VERSION_NUMBER" else f"tls: {reason.lower().replace('_', ' ')}"
