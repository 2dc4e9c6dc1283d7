"""The running scheduler: take a pod, decide, and see the decision through.

Decisions are made one after another, each on the outcome of those before; bindings and reports go out side by side,
so many at a time. Whatever happens to one pod (a bug in a filter, a binding that hangs) is its own affair: it rests
and is tried again, and the others go on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass

from api import codec
from api import core_v1 as core
from api.errors import StatusError
from api.pods import get_condition
from api.times import Time
from client.cache import Lister
from client.clock import Clock, Timer
from client.errors import ClientError
from client.events import NORMAL, WARNING, Recorder
from client.interface import Client
from controlplane.scheduler.binding import Binder, Outcome
from controlplane.scheduler.cluster import Cluster
from controlplane.scheduler.demand import Demand
from controlplane.scheduler.failures import Failure
from controlplane.scheduler.planning import Placement, schedule
from controlplane.scheduler.queue import SchedulingQueue, Waiting
from controlplane.scheduler.watching import Eyes

log = logging.getLogger(__name__)

IN_FLIGHT = 48  # bindings and reports at a time
ASSUMED_FOR = 30.0  # seconds after its binding in which a pod must show up on its node
LONGEST_MESSAGE = 1024

_CONDITION = "PodScheduled"


@dataclass(slots=True)
class Totals:
    """What the scheduler has done so far; `deciding` is in seconds of real time."""

    scheduled: int = 0
    unschedulable: int = 0
    errors: int = 0
    deciding: float = 0.0


class Scheduler:
    """Moves pods from the queue to nodes."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        pods: Lister[core.Pod],
        cluster: Cluster,
        queue: SchedulingQueue,
        eyes: Eyes,
    ) -> None:
        self.totals = Totals()
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._pods = pods
        self._cluster = cluster
        self._queue = queue
        self._eyes = eyes
        self._binder = Binder(client, clock)
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._expiry: Timer | None = None

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                # A slot first: the pod that is next is chosen as late as possible.
                await self._slots.acquire()
                try:
                    waiting = await self._queue.get()
                except asyncio.CancelledError:
                    self._slots.release()
                    raise
                group.create_task(self._see_through(waiting, self._decide(waiting)))
                # Let the informers in between two decisions.
                await asyncio.sleep(0)

    def _decide(self, waiting: Waiting) -> Placement | Failure | Exception:
        """Decide now, and mark the decision in cluster and queue before anything else can run."""
        demand, started = waiting.demand, time.perf_counter()
        try:
            decision = schedule(self._cluster, demand)
        except Exception as error:
            # A bug met by one pod must not stop the scheduling of all.
            log.exception("decision failed pod=%s/%s uid=%s", demand.namespace, demand.name, demand.uid)
            self.totals.errors += 1
            self._queue.retry(waiting)
            return error
        self.totals.deciding += time.perf_counter() - started
        if isinstance(decision, Placement):
            self._cluster.assume_pod(demand, decision.node)
        else:
            self.totals.unschedulable += 1
            self._queue.park(waiting, decision.causes)
        return decision

    async def _see_through(self, waiting: Waiting, decision: Placement | Failure | Exception) -> None:
        try:
            if isinstance(decision, Placement):
                await self._bind(waiting, decision.node)
            elif isinstance(decision, Failure):
                await self._report(waiting.demand, "Unschedulable", decision.message)
            else:
                await self._report(waiting.demand, "SchedulerError", str(decision))
        finally:
            self._slots.release()

    async def _bind(self, waiting: Waiting, node: str) -> None:
        demand = waiting.demand
        result = await self._binder.bind(demand, node)
        where = f"{demand.namespace}/{demand.name}"
        if result.outcome is Outcome.BOUND:
            self.totals.scheduled += 1
            self._cluster.expect_pod(demand.uid, self._clock.monotonic() + ASSUMED_FOR)
            self._arm_expiry()
            log.debug("bound pod=%s uid=%s node=%s attempts=%d", where, demand.uid, node, waiting.attempts)
            self._recorder.event(_reference(demand), NORMAL, "Scheduled", f"Successfully assigned {where} to {node}")
            return
        if self._cluster.forget_pod(demand.uid) is not None:
            self._eyes.freed(demand, node)
        if result.outcome is Outcome.LOST:
            # What became of it comes by the informer.
            log.info("binding obsolete pod=%s uid=%s node=%s cause=%s", where, demand.uid, node, result.error)
            return
        self.totals.errors += 1
        self._queue.retry(waiting)
        await self._report(demand, "SchedulerError", f"binding rejected: {result.error}")

    async def _report(self, demand: Demand, reason: str, message: str) -> None:
        """Tell the user, as an event and as the pod's PodScheduled condition."""
        if len(message) > LONGEST_MESSAGE:
            message = message[: LONGEST_MESSAGE - 4] + " ..."
        pod = self._pods.get(demand.namespace, demand.name)
        if pod is None or pod.metadata.uid != demand.uid:
            return
        self._recorder.event(pod, WARNING, "FailedScheduling", message)
        old = get_condition(pod.status.conditions, _CONDITION)
        if old is not None and (old.status, old.reason, old.message) == ("False", reason, message):
            return
        condition = core.PodCondition(
            type=_CONDITION,
            status="False",
            reason=reason,
            message=message,
            observed_generation=pod.metadata.generation,
            last_transition_time=old.last_transition_time
            if old is not None and old.status == "False"
            else Time.from_timestamp(self._clock.now()),
        )
        # The UID in the patch keeps it from hitting a new pod of the same name.
        patch = {"metadata": {"uid": demand.uid}, "status": {"conditions": [codec.to_builtins(condition)]}}
        try:
            await self._client.patch(core.Pod, demand.name, patch, demand.namespace, subresource="status")
        except StatusError as error:
            if error.code not in (404, 409):
                log.warning("condition refused pod=%s/%s error=%s", demand.namespace, demand.name, error)
        except ClientError as error:
            # The next try reports again.
            log.info("condition not written pod=%s/%s error=%s", demand.namespace, demand.name, error)

    def _arm_expiry(self) -> None:
        if self._expiry is None:
            self._expiry = self._clock.call_later(ASSUMED_FOR, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        for demand in self._cluster.expire(self._clock.monotonic()):
            log.warning("bound but never seen pod=%s/%s uid=%s", demand.namespace, demand.name, demand.uid)
            self._queue.put_back(demand.uid)
        if self._cluster.expecting:
            self._arm_expiry()


def _reference(demand: Demand) -> core.ObjectReference:
    return core.ObjectReference(
        api_version="v1", kind="Pod", namespace=demand.namespace, name=demand.name, uid=demand.uid
    )
