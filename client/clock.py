"""Time, handed in.

Code that decides by time takes a `Clock` and never looks at the machine's: monotonic seconds for durations and
deadlines, wall seconds only for stamps that people read. `SystemClock` is the real one. `FakeClock` lives in a test
or a simulation: it stands still while anything can still run, and jumps to the next deadline once every task waits,
so that an hour of back-off takes a millisecond and the same run always takes the same course.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Forget the call; harmless once it was made."""


class Clock(Protocol):
    """What of time the code may know. All figures are seconds."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back, whatever is done to the machine's clock."""

    def now(self) -> float:
        """Seconds since the Unix epoch by the wall clock, for stamps; it may step in either direction."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less only lets other tasks run."""

    def call_later(self, seconds: float, callback: Callable[..., object], *args: Any) -> Timer:
        """Call back on the event loop after a delay, unless cancelled."""

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """A block that ends with `TimeoutError` when it takes longer; None sets no limit."""


class SystemClock:
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


class _FakeTimer:
    """One entry in a FakeClock's heap, in order of deadline and then of arrival."""

    __slots__ = ("args", "callback", "due", "order")

    def __init__(self, due: float, order: int, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.due = due
        self.order = order
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def __lt__(self, other: _FakeTimer) -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        self.callback = None
        self.args = ()

    def fire(self) -> None:
        if self.callback is not None:
            callback, args = self.callback, self.args
            self.cancel()
            callback(*args)


class _FakeTimeout:
    """`asyncio.timeout` whose deadline is told by a FakeClock."""

    def __init__(self, clock: FakeClock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._inner = asyncio.timeout(None)
        self._timer: Timer | None = None

    async def __aenter__(self) -> asyncio.Timeout:
        inner = await self._inner.__aenter__()
        if self._seconds is not None:
            loop = asyncio.get_running_loop()
            self._timer = self._clock.call_later(self._seconds, lambda: inner.reschedule(loop.time()))
        return inner

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._inner.__aexit__(kind, value, traceback)


class FakeClock:
    """A clock for tests that jumps by itself to the next deadline when all tasks wait (trio's autojump, for asyncio).

    `threshold` is how long, in real seconds, the loop must be idle before a jump: zero when everything is in this
    process; a little when a thread, a socket or a child process also has a say, since the loop cannot see that they
    are busy. With `autojump=False` only `advance` moves time.

    It needs asyncio's own event loop: uvloop does not tell whether a callback is waiting.
    """

    def __init__(self, start: float = 1_767_225_600.0, *, autojump: bool = True, threshold: float = 0.0) -> None:
        self._elapsed = 0.0
        self._wall = start
        self._autojump = autojump
        self._threshold = threshold
        self._timers: list[_FakeTimer] = []
        self._order = itertools.count()
        self._probing = False
        self._idle_rounds = 0
        self._settling: list[asyncio.Future[None]] = []

    def monotonic(self) -> float:
        return self._elapsed

    def now(self) -> float:
        return self._wall + self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, _wake, waiter)
        try:
            await waiter
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[..., object], *args: Any) -> Timer:
        timer = _FakeTimer(self._elapsed + max(seconds, 0.0), next(self._order), callback, args)
        heapq.heappush(self._timers, timer)
        if self._autojump:
            self._probe_soon()
        return timer

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        return _FakeTimeout(self, seconds)

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as NTP or an administrator would; durations are not touched."""
        self._wall += seconds

    async def settle(self) -> None:
        """Wait until every other task waits, without letting time pass."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._settling.append(waiter)
        self._probe_soon()
        await waiter

    async def advance(self, seconds: float) -> None:
        """Let time pass, stopping at each deadline on the way until its consequences have settled."""
        target = self._elapsed + seconds
        await self.settle()
        while (due := self._next_due()) is not None and due <= target:
            self._jump(due)
            await self.settle()
        self._elapsed = max(self._elapsed, target)

    def _next_due(self) -> float | None:
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0].due if self._timers else None

    def _jump(self, due: float) -> None:
        self._elapsed = max(self._elapsed, due)
        while (following := self._next_due()) is not None and following <= self._elapsed:
            heapq.heappop(self._timers).fire()

    def _probe_soon(self) -> None:
        if not self._probing:
            loop = asyncio.get_running_loop()
            if not hasattr(loop, "_ready"):
                raise RuntimeError("a fake clock needs asyncio's own event loop")
            self._probing = True
            self._idle_rounds = 0
            loop.call_soon(self._probe)

    def _probe(self) -> None:
        """Run between other callbacks; idle is when two rounds in a row, with a look at the sockets between, found
        none.
        """
        loop = asyncio.get_running_loop()
        busy = bool(loop._ready)  # type: ignore[attr-defined]
        self._idle_rounds = 0 if busy else self._idle_rounds + 1
        if self._idle_rounds < 2:
            loop.call_soon(self._probe)
        elif self._settling:
            waiting, self._settling = self._settling, []
            for waiter in waiting:
                _wake(waiter)
            self._idle_rounds = 0
            loop.call_soon(self._probe)
        elif not self._autojump or (due := self._next_due()) is None:
            self._probing = False
        elif self._threshold and self._idle_rounds == 2:
            loop.call_later(self._threshold, self._probe)
        else:
            self._idle_rounds = 0
            self._jump(due)
            loop.call_soon(self._probe)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
