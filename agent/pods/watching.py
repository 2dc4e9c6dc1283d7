"""Keeping in touch with the runtime: events as they come, and a slow look at everything as the net below them.

An event makes the pod's worker look again; nothing is believed because of it. The relist finds what no event told, ends
pods that no source wants, and is the measure of the runtime's health: as a whole, never by way of a single pod, so that
one stuck container cannot make the node unready.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent.pods.go_text import seconds_text
from agent.pods.observed import ObservedPod
from agent.pods.seams import Runtime
from agent.pods.workers import PodWorkers
from client.clock import Clock
from cri.errors import CriError, Unimplemented

log = logging.getLogger(__name__)

RELIST_PERIOD = 60.0
"""Seconds. Events lost by a runtime are rare; a minute bounds what such a loss costs, at two list calls a minute."""
POLL_PERIOD = 1.0
"""Seconds between relists when the runtime has no events at all."""
RETRY_PERIOD = 5.0
LIST_DEADLINE = 60.0
HEALTH_LIMIT = 180.0
"""Seconds without a successful relist after which the runtime, and so the node, counts as unhealthy."""


class RuntimeWatch:
    """Follows one runtime on behalf of the workers.

    `settled` tells whether all sources have said which pods they want; before that no pod is an orphan.
    """

    def __init__(self, runtime: Runtime, workers: PodWorkers, clock: Clock, settled: Callable[[], bool]) -> None:
        self._runtime = runtime
        self._workers = workers
        self._clock = clock
        self._settled = settled
        self._wake = asyncio.Event()
        self._period = RELIST_PERIOD
        self._seen_at = clock.monotonic()
        self._failing = False
        self._lists = 0
        self._listed = asyncio.Event()

    async def first_list(self) -> None:
        """Wait until the runtime answers, and take what it has as let in already."""
        while not await self._relist():
            await self._clock.sleep(RETRY_PERIOD)

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(), name="runtime-events")
            group.create_task(self._relist_for_ever(), name="runtime-relist")

    def relist_soon(self) -> None:
        """Look at everything now: something that concerns all pods has changed."""
        self._wake.set()

    async def relisted(self) -> None:
        """Wait until a relist that begins from now on has succeeded."""
        wanted = self._lists + 1
        while self._lists < wanted:
            await self._listed.wait()

    def problem(self) -> str:
        """Why the runtime counts as unhealthy, in upstream's words; empty when it does not."""
        silent = self._clock.monotonic() - self._seen_at
        if silent < HEALTH_LIMIT:
            return ""
        return (
            f"PLEG is not healthy: pleg was last seen active {seconds_text(silent)} ago; "
            f"threshold is {seconds_text(HEALTH_LIMIT)}"
        )

    async def _follow(self) -> None:
        while True:
            try:
                async for event in self._runtime.events():
                    self._hear(event.id)
            except Unimplemented:
                log.warning("the runtime has no events: it is polled period=%ss", POLL_PERIOD)
                self._period = POLL_PERIOD
                self._wake.set()
                return
            except CriError as error:
                log.info("events of the runtime broke off error=%s", error)
            await self._clock.sleep(RETRY_PERIOD)
            self._wake.set()

    def _hear(self, identity: str) -> None:
        if not identity:
            self._wake.set()
            return
        # A container nobody knows yet belongs to a worker that is just making it, and will look when it is done.
        for uid in self._workers.uids:
            worker = self._workers.worker(uid)
            runtime = worker.memory.runtime if worker is not None else None
            if worker is not None and runtime is not None and runtime.has(identity):
                worker.poke()
                return

    async def _relist_for_ever(self) -> None:
        while True:
            well = await self._relist()
            await self._pause(self._period if well else min(RETRY_PERIOD, self._period))

    async def _pause(self, seconds: float) -> None:
        timer = self._clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
            self._wake.clear()

    async def _relist(self) -> bool:
        try:
            async with self._clock.timeout(LIST_DEADLINE):
                pods = await self._runtime.list_pods()
        except (CriError, TimeoutError) as error:
            if not self._failing:
                log.warning("the runtime does not list its containers error=%s", str(error) or "no answer in time")
            self._failing = True
            return False
        self._failing = False
        self._seen_at = self._clock.monotonic()
        self._lists += 1
        for uid in self._workers.uids:
            worker = self._workers.worker(uid)
            if worker is not None and _differs(worker.memory.runtime, pods.get(uid)):
                worker.poke()
        if self._settled():
            for uid, one in pods.items():
                if uid not in self._workers:
                    self._workers.adopt_orphan(one)
        else:
            self._workers.remember(pods)
        listed, self._listed = self._listed, asyncio.Event()
        listed.set()
        return True


def _differs(known: ObservedPod | None, listed: ObservedPod | None) -> bool:
    """Whether the list shows another state than the worker last saw."""
    if known is None:
        return listed is not None
    return known.outline != (listed.outline if listed is not None else frozenset())
