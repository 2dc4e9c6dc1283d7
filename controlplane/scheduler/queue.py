"""Which pod is next, and when a pod that found no node is worth another try.

A pod waits in one of three places. *Active*: to be taken by priority, then by age. *Backing off*: it failed lately
and rests for 1 s, doubling to 10 s; it may be taken sooner when nothing is active, unless it rests because of an
error. *Unschedulable*: no node takes it; it stays until something happens that could help with what stands in its
way, or five minutes have passed in case such a thing was missed.

The queue knows demands and causes of failure, but makes no decisions about nodes: whether an event helps is asked of
a function that comes with it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from client.clock import Clock, Timer
from controlplane.scheduler.demand import Demand
from controlplane.scheduler.failures import Cause

FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 10.0
LONGEST_WAIT = 300.0  # seconds a pod stays unschedulable without another try
FLUSH_PERIOD = 30.0

Helps = Callable[[Demand], bool]


@dataclass(slots=True)
class Waiting:
    """A pod that wants a node. Times are monotonic seconds."""

    demand: Demand
    since: float
    order: int
    attempts: int = 0
    causes: frozenset[Cause] = frozenset()
    parked: float = 0.0
    eager: bool = True
    place: str = field(default="", repr=False)

    @property
    def backoff(self) -> float:
        """Seconds to rest after so many attempts."""
        return min(FIRST_BACKOFF * 2.0 ** max(self.attempts - 1, 0), LONGEST_BACKOFF)


class SchedulingQueue:
    """The pods without a node. Not thread-safe: all calls on one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, Waiting] = {}
        self._active: list[tuple[int, float, int, Waiting]] = []
        self._resting: list[tuple[float, int, Waiting]] = []
        self._parked: dict[str, Waiting] = {}
        self._order = itertools.count()
        self._wake = asyncio.Event()
        self._rest_timer: Timer | None = None
        self._flush_timer: Timer | None = None

    def __contains__(self, uid: str) -> bool:
        return uid in self._known

    def __len__(self) -> int:
        return len(self._known)

    @property
    def counts(self) -> dict[str, int]:
        """How many pods wait where, as the metric `scheduler_pending_pods` has it."""
        places = [waiting.place for waiting in self._known.values()]
        return {place: places.count(place) for place in ("active", "backoff", "unschedulable")}

    def put(self, demand: Demand) -> None:
        """A pod wants a node; or wants something else than before, which makes it worth a try now."""
        waiting = self._known.get(demand.uid)
        if waiting is None:
            waiting = Waiting(demand, self._clock.monotonic(), next(self._order))
            self._known[demand.uid] = waiting
            self._activate(waiting)
            return
        changed = waiting.demand != demand
        waiting.demand = demand
        if changed and waiting.place == "unschedulable":
            self._parked.pop(demand.uid)
            self._activate(waiting)

    def remove(self, uid: str) -> None:
        """The pod is gone or has its node. Its entries in the heaps are passed over when they come up."""
        waiting = self._known.pop(uid, None)
        if waiting is not None:
            waiting.place = ""
            self._parked.pop(uid, None)

    async def get(self) -> Waiting:
        """Wait for the next pod to try; it is out of the queue until `park`, `retry` or `remove` says how it went."""
        while True:
            waiting = self._next()
            if waiting is not None:
                waiting.attempts += 1
                waiting.place = ""
                return waiting
            self._wake.clear()
            await self._wake.wait()

    def park(self, waiting: Waiting, causes: frozenset[Cause]) -> None:
        """No node takes the pod, for these causes."""
        if self._known.get(waiting.demand.uid) is waiting:
            waiting.causes = causes
            waiting.parked = self._clock.monotonic()
            waiting.place = "unschedulable"
            self._parked[waiting.demand.uid] = waiting
            self._arm_flush()

    def retry(self, waiting: Waiting) -> None:
        """The try came to nothing because of an error: rest, then try again."""
        if self._known.get(waiting.demand.uid) is waiting:
            waiting.parked = self._clock.monotonic()
            self._rest(waiting, eager=False)

    def put_back(self, uid: str) -> None:
        """The pod was thought to be on its way to a node, and is not."""
        waiting = self._known.get(uid)
        if waiting is not None and not waiting.place:
            self._activate(waiting)

    def happened(self, causes: frozenset[Cause], helps: Helps | None = None) -> None:
        """Something happened that could lift these causes: move the pods it may help, each asked of `helps`."""
        helped = [
            waiting
            for waiting in self._parked.values()
            if waiting.causes & causes and (helps is None or helps(waiting.demand))
        ]
        for waiting in helped:
            self._unpark(waiting)

    def _next(self) -> Waiting | None:
        while self._active:
            waiting = heapq.heappop(self._active)[-1]
            if waiting.place == "active":
                return waiting
        # Nothing else to do: a pod that rests only to be fair to others need not.
        now, errors = self._clock.monotonic(), []
        found = None
        while self._resting and found is None:
            entry = heapq.heappop(self._resting)
            ready, _, waiting = entry
            if waiting.place != "backoff":
                continue
            if waiting.eager or ready <= now:
                found = waiting
            else:
                errors.append(entry)
        for entry in errors:
            heapq.heappush(self._resting, entry)
        return found

    def _activate(self, waiting: Waiting) -> None:
        waiting.place = "active"
        heapq.heappush(self._active, (-waiting.demand.priority, waiting.since, waiting.order, waiting))
        self._wake.set()

    def _rest(self, waiting: Waiting, *, eager: bool) -> None:
        ready = waiting.parked + waiting.backoff
        if ready <= self._clock.monotonic():
            self._activate(waiting)
            return
        waiting.place = "backoff"
        waiting.eager = eager
        heapq.heappush(self._resting, (ready, next(self._order), waiting))
        if eager:
            self._wake.set()
        self._arm_rest()

    def _unpark(self, waiting: Waiting) -> None:
        del self._parked[waiting.demand.uid]
        self._rest(waiting, eager=True)

    def _arm_rest(self) -> None:
        if self._rest_timer is None and self._resting:
            self._rest_timer = self._clock.call_later(self._resting[0][0] - self._clock.monotonic(), self._rested)

    def _rested(self) -> None:
        self._rest_timer = None
        now = self._clock.monotonic()
        while self._resting and self._resting[0][0] <= now + 1e-6:
            waiting = heapq.heappop(self._resting)[-1]
            if waiting.place == "backoff":
                self._activate(waiting)
        self._arm_rest()

    def _arm_flush(self) -> None:
        """The safety net: an event may have been missed. It runs only while a pod is parked."""
        if self._flush_timer is None and self._parked:
            self._flush_timer = self._clock.call_later(FLUSH_PERIOD, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        now = self._clock.monotonic()
        for waiting in [one for one in self._parked.values() if now - one.parked > LONGEST_WAIT]:
            self._unpark(waiting)
        self._arm_flush()
