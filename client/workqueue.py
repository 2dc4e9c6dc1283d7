"""What to reconcile next.

A work queue holds keys, not events: however often a key is added before a worker takes it, it is worked on once; and
it is never worked on by two workers at a time, since a key added meanwhile waits until the first is done with it. A
key that failed comes back later and later. The queue knows neither objects nor reconcilers.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from client.backoff import TokenBucket
from client.clock import Clock, SystemClock, Timer

K = TypeVar("K", bound=Hashable)


class ShutDown(Exception):
    """The queue was shut down and has nothing left to hand out."""


@dataclass(slots=True)
class QueueMetrics:
    """Running totals of one queue; durations are sums in seconds."""

    adds: int = 0
    retries: int = 0
    handed_out: int = 0
    finished: int = 0
    waited: float = 0.0
    worked: float = 0.0


class RetryLimiter(Generic[K]):
    """When a failed key may come back: per key exponential, and all keys together no faster than a token bucket
    allows.

    The figures are those of upstream's default controller rate limiter: 5 ms doubling to 1,000 s; 10 a second with
    bursts of 100.
    """

    def __init__(self, *, first: float = 0.005, limit: float = 1000.0, rate: float = 10.0, burst: int = 100) -> None:
        self._first = first
        self._limit = limit
        self._failures: dict[K, int] = {}
        self._bucket = TokenBucket(rate, burst)

    def delay(self, key: K, now: float) -> float:
        """Count a failure and return the seconds to wait."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # The exponent is capped only to keep the float finite; the limit is reached long before.
        return max(min(self._first * 2.0 ** min(failures, 64), self._limit), self._bucket.reserve(now))

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)


class WorkQueue(Generic[K]):
    """A deduplicating queue with delayed and rate-limited returns. Not thread-safe: all calls on one event loop."""

    def __init__(self, name: str = "", *, clock: Clock | None = None, limiter: RetryLimiter[K] | None = None) -> None:
        self.name = name
        self.metrics = QueueMetrics()
        self._clock = clock or SystemClock()
        self._limiter = limiter or RetryLimiter[K]()
        self._ready: deque[K] = deque()
        self._dirty: dict[K, float] = {}  # key → when it became so
        self._processing: dict[K, float] = {}  # key → when it was handed out
        self._getters: deque[asyncio.Future[None]] = deque()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._order = itertools.count()
        self._timer: Timer | None = None
        self._timer_due = float("inf")
        self._shutting_down = False
        self._drained: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        """How many keys could be handed out now."""
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._due)

    def add(self, key: K) -> None:
        """Have the key worked on as soon as may be."""
        if self._shutting_down or key in self._dirty:
            return
        self.metrics.adds += 1
        self._dirty[key] = self._clock.monotonic()
        if key not in self._processing:
            self._make_ready(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Add the key after a delay; of several delays for one key the shortest counts."""
        if self._shutting_down:
            return
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            heapq.heappush(self._later, (due, next(self._order), key))
            self._arm()

    def add_rate_limited(self, key: K) -> None:
        """Add the key after the delay its failures so far call for."""
        self.metrics.retries += 1
        self.add_after(key, self._limiter.delay(key, self._clock.monotonic()))

    def forget(self, key: K) -> None:
        """The key went well: its next failure is its first."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """How often in a row the key came back rate-limited."""
        return self._limiter.failures(key)

    async def get(self) -> K:
        """Wait for a key; the caller must call `done` with it afterwards, whatever happens. Raises ShutDown."""
        while not self._ready:
            if self._shutting_down:
                raise ShutDown(self.name)
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    # The wake-up was ours and is lost with us, unless another takes it.
                    self._wake_one()
                raise
            finally:
                if getter in self._getters:
                    self._getters.remove(getter)
        key = self._ready.popleft()
        now = self._clock.monotonic()
        self.metrics.handed_out += 1
        self.metrics.waited += now - self._dirty.pop(key)
        self._processing[key] = now
        return key

    def done(self, key: K) -> None:
        """The worker is through with the key; if it was added meanwhile, it is up again."""
        started = self._processing.pop(key, None)
        if started is not None:
            self.metrics.finished += 1
            self.metrics.worked += self._clock.monotonic() - started
        if key in self._dirty:
            self._make_ready(key)
        self._note_drained()

    def unfinished(self) -> dict[K, float]:
        """Keys being worked on, and for how many seconds."""
        now = self._clock.monotonic()
        return {key: now - since for key, since in self._processing.items()}

    def shutdown(self) -> None:
        """Take no more keys; hand out those that are ready, then end every `get` with ShutDown."""
        self._shutting_down = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._later.clear()
        self._due.clear()
        while self._getters:
            self._wake_one()
        self._note_drained()

    async def drain(self) -> None:
        """Shut down and wait until all that was ready or in work is done. The caller sets the deadline."""
        self.shutdown()
        if self._ready or self._processing:
            drained: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._drained.append(drained)
            await drained

    def _make_ready(self, key: K) -> None:
        self._ready.append(key)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _note_drained(self) -> None:
        if self._shutting_down and not self._ready and not self._processing:
            for waiter in self._drained:
                if not waiter.done():
                    waiter.set_result(None)
            self._drained.clear()

    def _arm(self) -> None:
        """One timer, for the earliest delayed key."""
        due = self._later[0][0]
        if due < self._timer_due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_due = due
            self._timer = self._clock.call_later(due - self._clock.monotonic(), self._ripen)

    def _ripen(self) -> None:
        self._timer, self._timer_due = None, float("inf")
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now + 1e-6:
            due, _, key = heapq.heappop(self._later)
            # An entry that is not the key's current one was overtaken by a shorter delay.
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        if self._later:
            self._arm()
