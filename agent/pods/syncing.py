"""A pass over a pod that is to run: look, report, plan, act, until there is nothing left to do for now."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from agent.pods import planner
from agent.pods.acting import ActFailed, Actor
from agent.pods.containers import CRASH_LOOP, ContainerFacts, Waiting
from agent.pods.garbage import garbage
from agent.pods.go_text import seconds_text
from agent.pods.identity import describe, field_path
from agent.pods.memory import Memory
from agent.pods.observed import ContainerState, ObservedPod
from agent.pods.phases import TERMINAL
from agent.pods.plans import CreateSandbox, KillReason, Plan, StartContainer, View
from agent.pods.status import Failure, StatusFacts, pod_status
from agent.pods.world import World
from api import core_v1 as core
from api.pods import containers_of, find_container

log = logging.getLogger(__name__)

MOST_ROUNDS = 20
"""Plans carried out in one pass before it is given up: more means that acting does not bring the goal nearer."""
LAG_PERIOD = 1.0
"""Seconds between looks at a runtime whose state is behind its own events (for a minute at most): a loaded containerd
takes its time to note an exit, and says nothing when it has."""


class PassFailed(Exception):
    """A pass could not be completed and is to be taken again; the text says what stood in the way."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a pass came to."""

    ended: bool = False
    """The pod has run its course."""
    failure: Failure | None = None
    """The pod is to be ended, for this reason."""
    retry_at: float | None = None
    """When to look again though nothing happens (monotonic seconds)."""


class Syncer:
    """Takes passes; holds nothing of any pod."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._actor = Actor(world)

    async def sync(self, pod: core.Pod, memory: Memory) -> Verdict:
        """Raises PassFailed or CriError; what was done until then stands."""
        for _ in range(MOST_ROUNDS):
            runtime = await self.look(pod, memory)
            status = self.report(pod, memory, runtime)
            overdue, deadline = self._deadline(pod, status)
            if status.phase in TERMINAL:
                return Verdict(ended=True)
            if overdue is not None:
                return Verdict(failure=overdue)
            if runtime.incomplete:
                raise PassFailed(runtime.incomplete)
            plan = planner.plan(pod, self._view(pod, memory, runtime), self._world.clock.monotonic())
            self._hold_back(pod, memory, plan)
            if not plan.actions:
                self.report(pod, memory, runtime)
                await self._actor.collect(*garbage(runtime))
                lag = self._world.clock.monotonic() + LAG_PERIOD if runtime.lagging else None
                moments = [one for one in (plan.retry_at, deadline, lag) if one is not None]
                return Verdict(retry_at=min(moments, default=None))
            await self._carry_out(pod, memory, plan, runtime)
        raise PassFailed(f"the pod is not as planned after {MOST_ROUNDS} plans")

    async def look(self, pod: core.Pod, memory: Memory) -> ObservedPod:
        """See what the runtime has of the pod."""
        clock = self._world.clock
        runtime = await self._world.runtime.observe(pod.metadata.uid)
        memory.see(runtime, clock.monotonic(), clock.now())
        self._world.probes.observe(pod, runtime)
        return runtime

    def report(
        self,
        pod: core.Pod,
        memory: Memory,
        runtime: ObservedPod,
        *,
        terminal: bool = False,
        failure: Failure | None = None,
    ) -> core.PodStatus:
        """Make the pod's status of this moment and hand it on."""
        probes = self._world.probes
        started, ready = set(), set()
        for container in containers_of(pod.spec):
            one = runtime.container(container.name)
            if one is None or one.state is not ContainerState.RUNNING:
                continue
            if probes.started(pod, container, one):
                started.add(one.id)
                if probes.ready(pod, container, one):
                    ready.add(one.id)
        facts = StatusFacts(
            containers=ContainerFacts(
                runtime_name=self._world.runtime.name,
                started=frozenset(started),
                ready=frozenset(ready),
                waiting=memory.waiting,
                initialized=planner.initialized(pod, runtime),
                recursive_read_only=self._world.recursive_read_only,
            ),
            now=self._world.clock.now(),
            host_ips=self._world.host_ips(),
            terminal=terminal,
            failure=failure,
        )
        memory.status = pod_status(pod, runtime, memory.status, facts)
        self._world.statuses.set(pod, memory.status)
        return memory.status

    async def _carry_out(self, pod: core.Pod, memory: Memory, plan: Plan, runtime: ObservedPod) -> None:
        clock = self._world.clock
        entry = memory.record.plan(plan, clock.now())
        began = clock.monotonic()
        if any(isinstance(one, CreateSandbox | StartContainer) for one in plan.actions):
            self._world.probes.add_pod(pod)
        try:
            troubles = await self._actor.act(pod, memory, plan, runtime)
        except ActFailed as error:
            entry.outcome = str(error)
            raise PassFailed(str(error)) from error
        finally:
            entry.took = clock.monotonic() - began
        entry.outcome = "; ".join(troubles) or "done"
        if troubles:
            self.report(pod, memory, await self.look(pod, memory))
            raise PassFailed(entry.outcome)

    def _view(self, pod: core.Pod, memory: Memory, runtime: ObservedPod) -> View:
        probes = self._world.probes
        started, failed = set(), {}
        for container in containers_of(pod.spec):
            one = runtime.container(container.name)
            if one is None or one.state is not ContainerState.RUNNING:
                continue
            if probes.started(pod, container, one):
                started.add(one.id)
            if reason := probes.failed(pod, container, one):
                failed[one.id] = KillReason(reason)
        return View(
            runtime=runtime,
            started=frozenset(started),
            failed=failed,
            backoffs=memory.backoffs,
            exited_at=memory.exited_at,
            next_attempts=memory.next_attempts(pod),
        )

    def _hold_back(self, pod: core.Pod, memory: Memory, plan: Plan) -> None:
        """Note which containers wait for their back-off to pass, and say so once."""
        names = {one.name for one in plan.backing_off}
        for name in [name for name, why in memory.waiting.items() if why.reason == CRASH_LOOP and name not in names]:
            del memory.waiting[name]
        for one in plan.backing_off:
            text = f"back-off {seconds_text(one.delay)} restarting failed container={one.name} pod={describe(pod)}"
            memory.waiting[one.name] = Waiting(CRASH_LOOP, text)
            if one.name not in memory.in_backoff and find_container(pod.spec, one.name) is not None:
                told = f"Back-off restarting failed container {one.name} in pod {describe(pod)}"
                path = field_path(pod, one.name)
                self._world.recorder.event(pod, "Warning", "BackOff", told, field_path=path)
        memory.in_backoff = frozenset(names)

    def _deadline(self, pod: core.Pod, status: core.PodStatus) -> tuple[Failure | None, float | None]:
        """Whether the pod has been active for longer than it may; else when it will have been (monotonic seconds)."""
        allowed = pod.spec.active_deadline_seconds
        if allowed is None or status.start_time is None:
            return None, None
        left = status.start_time.timestamp() + allowed - self._world.clock.now()
        if left > 0:
            return None, self._world.clock.monotonic() + left
        message = "Pod was active on the node longer than the specified deadline"
        return Failure("DeadlineExceeded", message), None
