"""How long to wait before the next try: exponential, bounded, with jitter.

Pure arithmetic; whoever waits does so by a clock.
"""

from __future__ import annotations

import random


class Backoff:
    """Successive delays in seconds: `first`, then `factor` times the one before, up to `limit`.

    Each delay is stretched by a random share of up to `jitter`, so that clients which lost a server together do not
    come back together.
    """

    def __init__(
        self, first: float, limit: float, *, factor: float = 2.0, jitter: float = 0.0, rng: random.Random | None = None
    ) -> None:
        self._first = first
        self._limit = limit
        self._factor = factor
        self._jitter = jitter
        self._rng = rng or random.Random()
        self._current = first

    def next(self) -> float:
        """The delay before the next try."""
        delay = self._current
        self._current = min(self._current * self._factor, self._limit)
        return delay * (1 + self._rng.random() * self._jitter)

    def reset(self) -> None:
        """Start over: things went well for long enough."""
        self._current = self._first


class TokenBucket:
    """A bucket that holds `burst` tokens and regains `rate` of them a second.

    The caller tells the time, in seconds of one monotonic clock.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled = float("-inf")

    def try_take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._fill(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self, now: float) -> float:
        """Take a token, on credit if need be; returns the seconds until it is really there."""
        self._fill(now)
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def _fill(self, now: float) -> None:
        if now > self._filled:
            gained = (now - self._filled) * self._rate
            self._tokens = min(self._burst, self._tokens + gained)
            self._filled = now
