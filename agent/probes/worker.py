"""One probe of one container, again and again: when to ask, and what the answers add up to.

The worker outlives the container's restarts. Of a new instance it begins to count anew; of one that it condemned it
asks no more, so that no command is run in a container that is being stopped.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from agent.probes.prober import Prober, Target
from agent.probes.results import ProbeError, ProbeType
from api import core_v1 as core
from client.clock import Clock

log = logging.getLogger(__name__)

FIRST_STARTUP = 1.0
"""Seconds a container is given before it is first asked whether it has started."""


class ProbeWorker:
    """Probes one container for one thing.

    `passed` is None until there is a verdict. `on_verdict` is called whenever it changes.
    """

    def __init__(
        self,
        kind: ProbeType,
        probe: core.Probe,
        prober: Prober,
        clock: Clock,
        rng: random.Random,
        on_verdict: Callable[[], object],
    ) -> None:
        self.kind = kind
        self.passed: bool | None = None
        self.container_id = ""
        self._probe = probe
        self._prober = prober
        self._clock = clock
        self._rng = rng
        self._on_verdict = on_verdict
        self._target: Target | None = None
        self._enabled = False
        self._first_at = 0.0
        self._wake = asyncio.Event()
        self._hurry = False
        self._run_of = 0
        self._last: bool | None = None
        self._on_hold = False

    def aim(self, target: Target | None, age: float, *, passed: bool | None, enabled: bool) -> None:
        """Say what runs now: the container (None: nothing) and for how many seconds it has.

        `passed` is the verdict to begin with for an instance not seen before; `enabled` whether it is this probe's
        turn.
        """
        identity = target.container_id if target is not None else ""
        if identity != self.container_id:
            self.container_id = identity
            self.passed = passed if identity else None
            self._run_of, self._last, self._on_hold = 0, None, False
            self._first_at = self._clock.monotonic() + self._delay(age)
            self._wake.set()
        self._target = target
        if enabled and not self._enabled:
            self._wake.set()
        self._enabled = enabled

    def hurry(self) -> None:
        """Ask now: the answer is waited for."""
        self._hurry = True
        self._wake.set()

    async def run(self) -> None:
        """Probe until cancelled."""
        period = float(max(self._probe.period_seconds, 1))
        next_at = 0.0
        while True:
            self._wake.clear()
            if self._target is None or not self._enabled or self._on_hold:
                await self._wake.wait()
                next_at = 0.0
                continue
            now = self._clock.monotonic()
            due = max(self._first_at, next_at)
            if now < due and not (self._hurry and now >= self._first_at):
                await self._sleep(due - now)
                continue
            self._hurry = False
            # The next tick counts from this one's beginning; ticks that were missed are not made up for.
            next_at = now + period
            await self._ask(self._target)

    async def _sleep(self, seconds: float) -> None:
        timer = self._clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _delay(self, age: float) -> float:
        """Seconds until an instance is first asked: liveness not before it had time to come up, readiness at once."""
        first = float(self._probe.initial_delay_seconds)
        period = float(max(self._probe.period_seconds, 1))
        if self.kind is ProbeType.LIVENESS:
            first += period * self._rng.uniform(0.5, 1.0)
        elif self.kind is ProbeType.STARTUP:
            first += min(FIRST_STARTUP, period)
        if age > period:
            # The agent was started anew: spread the probes of all pods over their period.
            return max(first - age, period * self._rng.random())
        return max(first - age, 0.0)

    async def _ask(self, target: Target) -> None:
        try:
            passed = await self._prober.probe(self.kind, self._probe, target)
        except ProbeError as error:
            log.debug("probe gave no answer container=%s error=%s", target.container_id, error)
            return
        except Exception:
            # What nobody thought of says nothing about the container, and is not to end the other probes.
            log.exception("probe broke container=%s kind=%s", target.container_id, self.kind.value)
            return
        if target.container_id != self.container_id:
            return
        if passed == self._last:
            self._run_of += 1
        else:
            self._last, self._run_of = passed, 1
        needed = max(self._probe.success_threshold if passed else self._probe.failure_threshold, 1)
        if self._run_of < needed:
            return
        if not passed and self.kind is not ProbeType.READINESS:
            self._on_hold = True
        if self.passed != passed:
            self.passed = passed
            self._on_verdict()
