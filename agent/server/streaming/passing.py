"""Handing a connection through: the client and the runtime speak the same protocol, so nobody need understand it."""

from __future__ import annotations

from aiohttp import web

from agent.server.http import Problem
from client.streaming.dialing import Answer, dial_url
from client.streaming.joining import join
from client.streaming.taking import TakenConnection, TakenOver

SWITCHING_PROTOCOLS = 101
REFUSAL_LIMIT = 64 * 1024
_PASSED = ("connection", "upgrade", "x-stream-protocol-version")
_PASSED_PREFIX = "sec-websocket-"


async def upgrade_runtime(url: str, headers: list[tuple[str, str]], method: str = "POST") -> Answer:
    """Have the runtime's streaming server at `url` leave HTTP. Raises Problem when it will not."""
    try:
        answer = await dial_url(url, method, [*headers, ("Content-Length", "0")])
        if answer.status == SWITCHING_PROTOCOLS:
            return answer
        try:
            refusal = (await answer.whole_body(REFUSAL_LIMIT)).decode(errors="replace")
        finally:
            await answer.closed()
    except (OSError, ValueError) as error:
        raise Problem(500, f"error dialing the container runtime's streaming server: {error}\n") from error
    status = answer.status if answer.status >= 400 else 500  # nothing else makes sense after asking for an upgrade
    raise Problem(status, refusal)


async def pass_through(request: web.BaseRequest, url: str) -> web.StreamResponse:
    """Connect the client to `url`, its upgrade included, until one side ends. Raises Problem before the upgrade."""
    headers = [
        (name, value)
        for name, value in request.headers.items()
        if name.lower() in _PASSED or name.lower().startswith(_PASSED_PREFIX)
    ]
    runtime = await upgrade_runtime(url, headers, request.method)
    try:
        client = TakenConnection(request)
        await client.write(runtime.head)
        await join(client, runtime)
    finally:
        await runtime.closed()
    return TakenOver()
