"""Blocking steps of pods' volumes, one at a time for each pod.

A step whose deadline has passed goes on in its thread, on a mount that hangs perhaps. Another try must neither work
beside it on the same files nor add a hung thread to it, so it first waits for the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent.runtime.blocking import run_blocking
from client.clock import Clock


class PodThreads:
    """Runs them. A pod's calls come one after the other, from its worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, asyncio.Future[None]] = {}

    async def run(self, uid: str, call: Callable[[], None], what: str, seconds: float) -> None:
        """Run `call` for a pod. Raises what it raises, and TimeoutError when it, or one before it, does not end."""
        before = self._running.get(uid)
        if before is not None:
            try:
                async with self._clock.timeout(seconds):
                    await asyncio.shield(before)
            except TimeoutError:
                raise TimeoutError(f"{what}: an earlier step of pod {uid} has not come back") from None
        loop = asyncio.get_running_loop()
        ended = self._running[uid] = loop.create_future()

        def tracked() -> None:
            try:
                call()
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(self._end, uid, ended)

        await run_blocking(tracked, what, seconds, self._clock)

    def _end(self, uid: str, ended: asyncio.Future[None]) -> None:
        if self._running.get(uid) is ended:
            del self._running[uid]
        if not ended.done():
            ended.set_result(None)
