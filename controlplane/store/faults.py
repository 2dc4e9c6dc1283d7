"""A store that misbehaves on request: the double behind which servers are tested.

It wraps any engine and asks a plan before each call what is to go wrong: be slow, fail with nothing done, fail although
it was done (what a lost answer looks like), or die. With a seeded plan a run of faults can be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from client.clock import Clock
from controlplane.store.errors import StoreClosed, StoreError, WriteFailed
from controlplane.store.interface import Listener, Page, Record, Store, Watch


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one call, in this order: it takes `delay` seconds; it fails, undone, with `before`;
    it is done but fails with `after`; with `crash`, every call from then on fails as after a crash (and `crash` before
    the call was done is `before` and `crash` together).
    """

    delay: float = 0.0
    before: StoreError | None = None
    after: StoreError | None = None
    crash: bool = False


NO_FAULT = Fault()

FaultPlan = Callable[[str, str], Fault]
"""Given an operation ("get", "list", "write", "compact") and its key or prefix, what is to go wrong."""


def seeded_faults(seed: int, rate: float, *, max_delay: float = 1.0) -> FaultPlan:
    """A plan in which a part `rate` of the calls goes wrong, the same way for the same seed and order of calls."""
    dice = random.Random(seed)

    def plan(operation: str, key: str) -> Fault:
        if dice.random() >= rate:
            return NO_FAULT
        kind = dice.choice(("delay", "before", "after"))
        failure = WriteFailed(f"{operation} {key}", "injected fault")
        return Fault(
            delay=dice.random() * max_delay,
            before=failure if kind == "before" else None,
            after=failure if kind == "after" else None,
        )

    return plan


class FaultyStore:
    """Any store, seen through a plan of faults. Watches and listeners go on until it crashes."""

    def __init__(self, inner: Store, clock: Clock, plan: FaultPlan) -> None:
        self._inner = inner
        self._clock = clock
        self.plan = plan
        self._crashed = False
        self._endings: list[Callable[[], None]] = []

    @property
    def revision(self) -> int:
        return self._inner.revision

    @property
    def compacted(self) -> int:
        return self._inner.compacted

    @property
    def crashed(self) -> bool:
        return self._crashed

    async def get(self, key: str, *, revision: int = 0) -> Record | None:
        fault = await self._begin("get", key)
        record = await self._inner.get(key, revision=revision)
        self._end(fault)
        return record

    async def list(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Page:
        fault = await self._begin("list", prefix)
        page = await self._inner.list(prefix, after=after, limit=limit, revision=revision)
        self._end(fault)
        return page

    async def write(self, key: str, value: bytes | None, *, expect: int | None) -> int:
        fault = await self._begin("write", key)
        revision = await self._inner.write(key, value, expect=expect)
        self._end(fault)
        return revision

    async def compact(self, revision: int) -> None:
        fault = await self._begin("compact", "")
        await self._inner.compact(revision)
        self._end(fault)

    def watch(self, prefix: str, *, after: int) -> Watch:
        self._check()
        watch = self._inner.watch(prefix, after=after)
        self._endings.append(watch.close)
        return watch

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        self._check()
        unsubscribe = self._inner.subscribe(listener)
        self._endings.append(unsubscribe)
        return unsubscribe

    async def close(self) -> None:
        await self._inner.close()

    def crash(self) -> None:
        """Die now. What was committed is in the inner store, for whoever opens it next."""
        self._crashed = True
        for end in self._endings:
            end()
        self._endings.clear()

    def _check(self) -> None:
        if self._crashed:
            raise StoreClosed

    async def _begin(self, operation: str, key: str) -> Fault:
        self._check()
        fault = self.plan(operation, key)
        if fault.delay:
            await self._clock.sleep(fault.delay)
            self._check()
        if fault.before is not None:
            if fault.crash:
                self.crash()
            raise fault.before
        return fault

    def _end(self, fault: Fault) -> None:
        if fault.crash:
            self.crash()
            raise StoreClosed
        if fault.after is not None:
            raise fault.after
