"""Passing bytes between two connections whose protocol is somebody else's business."""

from __future__ import annotations

import asyncio
from typing import Protocol


class End(Protocol):
    """One of the two. A side that breaks off raises OSError, or reads as b""."""

    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """End the connection; what was written is still sent."""


async def join(one: End, other: End) -> None:
    """Pass bytes both ways until either side ends; then both are closed.

    Neither protocol that is passed (SPDY, WebSocket) knows a connection that is half open, so with one side gone there
    is nothing left to say to the other but what it has been sent already.
    """
    directions = (asyncio.create_task(_copy(one, other)), asyncio.create_task(_copy(other, one)))
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        one.close()
        other.close()
        for direction in directions:
            direction.cancel()
        results = await asyncio.gather(*directions, return_exceptions=True)
    for result in results:
        # How rudely a side ended is no matter: there is nobody to tell but the other, which is closed.
        if isinstance(result, Exception) and not isinstance(result, OSError):
            raise result


async def _copy(source: End, target: End) -> None:
    while data := await source.read():
        await target.write(data)
