"""Passing bytes between two connections whose protocol is somebody else's business."""

from __future__ import annotations

import asyncio
from typing import Protocol

LINGER = 1.0
"""Seconds that a side gets to end the connection itself once the other has."""


class End(Protocol):
    """One of the two. A side that breaks off raises OSError, or reads as b""."""

    async def read(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...

    async def flushed(self) -> None:
        """Wait until what was written is safe from our closing the connection."""

    def close(self) -> None:
        """End the connection."""


async def join(one: End, other: End) -> None:
    """Pass bytes both ways until either side ends; then both are closed.

    Neither protocol that is passed (SPDY, WebSocket) knows a connection that is half open, so with one side gone there
    is nothing left to say to the other but what it has been sent already. To be sure that it gets that, it is left to
    hang up itself for a moment: closing a connection that is still being written to would have its kernel throw away
    what was not read yet.
    """
    directions = (asyncio.create_task(_copy(one, other)), asyncio.create_task(_copy(other, one)))
    try:
        done, _ = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        in_good_order = [direction for direction in directions if direction in done and direction.exception() is None]
        await _stop(directions)
        if in_good_order:
            await _see_off(other if in_good_order[0] is directions[0] else one)
    finally:
        await _stop(directions)
        one.close()
        other.close()
    for direction in directions:
        # How rudely a side ended is no matter: there is nobody to tell but the other, which is closed.
        if not direction.cancelled() and not isinstance(direction.exception(), OSError | None):
            direction.result()


async def _copy(source: End, target: End) -> None:
    while data := await source.read():
        await target.write(data)


async def _see_off(left: End) -> None:
    """The other side has ended: wait for this one to do so, whatever it still has to say."""
    hearing = asyncio.create_task(_hear_out(left))
    try:
        await left.flushed()
        await asyncio.wait((hearing,), timeout=LINGER)
    finally:
        hearing.cancel()
        await asyncio.wait((hearing,))


async def _hear_out(left: End) -> None:
    try:
        while await left.read():
            continue
    except OSError:
        return


async def _stop(directions: tuple[asyncio.Task[None], ...]) -> None:
    for direction in directions:
        direction.cancel()
    await asyncio.wait(directions)
