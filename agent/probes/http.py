"""HTTP probes: one GET on a connection of its own. 2xx and 3xx are success.

Certificates are not verified, cookies and proxies not used. Redirects are followed on the same host only; one that
leads elsewhere ends the probe well, with a warning, since the container has answered.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from agent.probes.dialing import address, dial_error
from agent.probes.results import LARGEST_OUTPUT, SUCCESS, USER_AGENT, Outcome, Verdict, failure
from api import core_v1 as core

MOST_REDIRECTS = 10


def probe_url(action: core.HTTPGetAction, host: str, port: int) -> str:
    """The URL an action means."""
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    return f"{(action.scheme or 'HTTP').lower()}://{address(host, port)}{path}"


async def probe_http(action: core.HTTPGetAction, host: str, port: int) -> Outcome:
    """Ask once. The caller sets the deadline."""
    first = url = probe_url(action, host, port)
    headers = _headers(action)
    connector = aiohttp.TCPConnector(ssl=False, force_close=True, limit=1)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
    ) as session:
        for _ in range(MOST_REDIRECTS):
            try:
                async with session.get(URL(url, encoded=True), headers=headers, allow_redirects=False) as answer:
                    body = await answer.content.read(LARGEST_OUTPUT)
                    status, location = answer.status, answer.headers.get("Location", "")
            except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError, ValueError) as error:
                return failure(f'Get "{url}": {_cause(host, port, error)}')
            if status not in (301, 302, 303, 307, 308) or not location:
                return _judge(status)
            target = urljoin(url, location)
            if urlsplit(target).hostname != urlsplit(first).hostname:
                text = f"Probe terminated redirects, Response body: {body.decode(errors='replace')}"
                return Outcome(Verdict.WARNING, text)
            url = target
    return failure(f'Get "{url}": stopped after {MOST_REDIRECTS} redirects')


def _judge(status: int) -> Outcome:
    return SUCCESS if 200 <= status < 400 else failure(f"HTTP probe failed with statuscode: {status}")


def _headers(action: core.HTTPGetAction) -> list[tuple[str, str]]:
    given = [(one.name, one.value) for one in action.http_headers]
    names = {name.lower() for name, _ in given}
    defaults = [("User-Agent", USER_AGENT), ("Accept", "*/*")]
    # An empty value is how a manifest asks for the header to be left out.
    wanted = [*given, *(one for one in defaults if one[0].lower() not in names)]
    return [(name, value) for name, value in wanted if value or name.lower() not in ("user-agent", "accept")]


def _cause(host: str, port: int, error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        return dial_error(host, port, error.os_error)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, OSError) and error.errno:
        return f"read tcp: {error.strerror}"
    return str(error) or type(error).__name__
