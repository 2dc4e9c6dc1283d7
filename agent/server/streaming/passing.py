"""Handing a connection through: the client and the runtime speak the same protocol, so nobody need understand it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from agent.server.http import Problem, TakenConnection, TakenOver
from client.streaming.upgrading import Upgraded, UpgradeRefused, upgrade

READ_SIZE = 64 * 1024
_PASSED = ("connection", "upgrade", "x-stream-protocol-version")
_PASSED_PREFIX = "sec-websocket-"


async def dial(url: str, headers: list[tuple[str, str]], method: str = "POST") -> Upgraded:
    """Have the runtime's streaming server at `url` upgrade. Raises Problem when it will not."""
    try:
        return await upgrade(url, headers, method=method)
    except UpgradeRefused as refusal:
        raise Problem(refusal.status, refusal.body.decode(errors="replace")) from refusal
    except (OSError, TimeoutError) as error:
        raise Problem(500, f"error dialing the container runtime's streaming server: {error}\n") from error


async def pass_through(request: web.BaseRequest, url: str) -> web.StreamResponse:
    """Connect the client to `url`, its upgrade included, until one side ends."""
    headers = [
        (name, value)
        for name, value in request.headers.items()
        if name.lower() in _PASSED or name.lower().startswith(_PASSED_PREFIX)
    ]
    runtime = await dial(url, headers, request.method)
    try:
        client = TakenConnection(request)
        await client.write(runtime.head)
        await join(
            (client.reader.read, client.write, client.close),
            (runtime.reader.read, _writer(runtime), runtime.close),
        )
    finally:
        runtime.close()
    return TakenOver()


Read = Callable[[int], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[None]]
Close = Callable[[], object]
End = tuple[Read, Write, Close]


def _writer(connection: Upgraded) -> Write:
    async def write(data: bytes) -> None:
        connection.writer.write(data)
        await connection.writer.drain()

    return write


async def join(one: End, other: End) -> None:
    """Copy bytes both ways; when one side ends, both are closed."""

    async def copy(source: End, target: End) -> None:
        try:
            while data := await source[0](READ_SIZE):
                await target[1](data)
        except ConnectionError:
            pass  # the end of a stream, however rudely: there is nobody to tell but the other side, which is closed
        finally:
            target[2]()

    async with asyncio.TaskGroup() as group:
        first = group.create_task(copy(one, other))
        second = group.create_task(copy(other, one))
        await asyncio.wait((first, second), return_when=asyncio.FIRST_COMPLETED)
        # What was already under way in the other direction is let through; a closed end makes that finish too.
        one[2]()
        other[2]()
