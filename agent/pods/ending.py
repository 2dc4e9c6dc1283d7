"""Passes over a pod that is to end, and over one that has: nothing of it may stay behind.

Stopping is repeated until the runtime itself shows nothing alive: its word that a container was stopped is not enough.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from agent.pods.killing import LEAST_GRACE, KillError
from agent.pods.memory import Memory
from agent.pods.observed import ObservedPod
from agent.pods.seams import VolumeError
from agent.pods.status import Failure
from agent.pods.syncing import PassFailed, Syncer
from agent.pods.world import World
from api import core_v1 as core

log = logging.getLogger(__name__)


@dataclass(slots=True)
class End:
    """How the pod is being ended."""

    grace: float
    """Seconds, as granted."""
    deadline: float
    """Monotonic seconds: what was granted once is not granted again by a retry."""
    failure: Failure | None = None


class Ender:
    """Takes the passes at a pod's end; holds nothing of any pod."""

    def __init__(self, world: World, syncer: Syncer) -> None:
        self._world = world
        self._syncer = syncer

    async def terminate(self, pod: core.Pod, memory: Memory, end: End) -> None:
        """Stop all that lives of the pod. Raises PassFailed while something still does."""
        world = self._world
        world.probes.stop_liveness_and_startup(pod.metadata.uid)
        runtime = await self._syncer.look(pod, memory)
        self._syncer.report(pod, memory, runtime, failure=end.failure)
        if runtime.running or runtime.sandboxes:
            await self._stop(pod, memory, runtime, end)
            runtime = await self._syncer.look(pod, memory)
            if runtime.running:
                names = ", ".join(sorted(one.name for one in runtime.running))
                self._complain(pod, f"the runtime still shows as running what it was told to stop: {names}")
        world.probes.remove_pod(pod.metadata.uid)
        self._syncer.report(pod, memory, runtime, terminal=True, failure=end.failure)

    async def _stop(self, pod: core.Pod, memory: Memory, runtime: ObservedPod, end: End) -> None:
        clock = self._world.clock
        left = max(end.deadline - clock.monotonic(), min(end.grace, LEAST_GRACE))
        entry = memory.record.note(f"stop pod grace={left:.0f}s", clock.now())
        began = clock.monotonic()
        try:
            await self._world.killer.stop_pod(pod, runtime, left)
            entry.outcome = "done"
        except KillError as error:
            entry.outcome = str(error)
            self._complain(pod, str(error))
        finally:
            entry.took = clock.monotonic() - began

    def _complain(self, pod: core.Pod, problem: str) -> None:
        self._world.recorder.event(pod, "Warning", "FailedKillPod", f"error killing pod: {problem}")
        raise PassFailed(f"stop pod: {problem}")

    async def clean(self, pod: core.Pod, memory: Memory, *, forget: bool) -> None:
        """Give back what the pod held on the node, and let its object go if it is being deleted.

        With `forget` its dead containers and logs go too. Raises PassFailed, CriError or OSError; idempotent.
        """
        world = self._world
        uid = pod.metadata.uid
        world.probes.remove_pod(uid)
        try:
            await world.volumes.unmount(uid)
        except VolumeError as error:
            world.recorder.event(pod, "Warning", error.reason, str(error))
            raise PassFailed(f"unmount volumes: {error}") from error
        await world.cgroups.remove_pod(uid)
        world.statuses.finish(pod)
        if forget:
            await self._forget(pod, memory)

    async def _forget(self, pod: core.Pod, memory: Memory) -> None:
        """Remove every trace of the pod from the runtime."""
        runtime = await self._syncer.look(pod, memory)
        if runtime.running:
            names = ", ".join(one.name for one in runtime.running)
            raise PassFailed(f"containers of a pod that has ended run: {names}")
        for container in runtime.containers:
            await self._world.runtime.remove_container(container.id)
        for sandbox in runtime.sandboxes:
            if sandbox.ready:
                await self._world.runtime.stop_sandbox(sandbox.id)
            await self._world.runtime.remove_sandbox(sandbox.id)
        await self._world.runtime.remove_pod_logs(pod)
