"""Time as this room needs it, handed in.

Structurally a part of the clock the agent uses, stated here because a plugin room imports no other room.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Forget the call; harmless once it was made."""


class Clock(Protocol):
    """All figures are seconds."""

    def monotonic(self) -> float:
        """For durations and deadlines; never goes back."""

    def now(self) -> float:
        """Since the Unix epoch, for stamps that people read."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero only lets other tasks run."""

    def call_later(self, seconds: float, callback: Callable[..., object], *args: Any) -> Timer:
        """Call back on the event loop after a delay, unless cancelled."""

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """A block that ends with `TimeoutError` when it takes longer; None sets no limit."""


class MachineClock:
    """The machine's own time, by way of the running event loop."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0))

    def call_later(self, seconds: float, callback: Callable[..., object], *args: Any) -> Timer:
        return asyncio.get_running_loop().call_later(max(seconds, 0), callback, *args)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)
