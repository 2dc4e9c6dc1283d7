"""All workers of the node: who has one, who waits for one, who is let in.

The sources say which pods there are; this module gives each its worker and takes the worker away when the pod is wholly
gone. A pod of a name that another still holds (a static pod that was changed, say) waits until that one has left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from agent.pods.identity import full_name
from agent.pods.observed import ObservedContainer, ObservedPod
from agent.pods.phases import TERMINAL
from agent.pods.status import Failure
from agent.pods.worker import PodWorker, State
from agent.pods.world import World
from api import core_v1 as core
from api import meta_v1 as meta

log = logging.getLogger(__name__)

Admit = Callable[[core.Pod, Callable[[], list[core.Pod]]], Awaitable[Failure | None]]


class PodWorkers:
    """The workers, as tasks of one group.

    `admit` judges a pod against the others that hold resources here, for which it is given a way to ask: it may have to
    wait, and they may change meanwhile.
    """

    def __init__(self, world: World, group: asyncio.TaskGroup, admit: Admit) -> None:
        self._world = world
        self._orphan_world = replace(world, statuses=_Silence())
        self._group = group
        self._admit = admit
        self._workers: dict[str, PodWorker] = {}
        self._again: dict[str, core.Pod] = {}
        self._holders: dict[tuple[str, str], PodWorker] = {}
        self._known_to_runtime: set[str] = set()
        self._changed = asyncio.Event()

    # From the sources

    def remember(self, uids: Iterable[str]) -> None:
        """Pods the runtime had when the agent started: they were let in once and are not judged again."""
        self._known_to_runtime.update(uids)

    def update(self, pod: core.Pod) -> None:
        """A source has this version of the pod."""
        uid = pod.metadata.uid
        worker = self._workers.get(uid)
        if worker is None:
            self._start(pod, self._world)
        elif worker.removed:
            # It comes back while it is being taken down: it starts anew once that is done.
            self._again[uid] = pod
        else:
            worker.update(pod)

    def remove(self, uid: str, grace: float | None = None) -> None:
        """No source has the pod any more; `grace` in seconds caps what it was granted."""
        self._again.pop(uid, None)
        worker = self._workers.get(uid)
        if worker is not None:
            worker.remove(grace)

    def adopt_orphan(self, runtime: ObservedPod) -> None:
        """End a pod that the runtime has and no source wants."""
        if runtime.uid in self._workers:
            return
        pod = core.Pod(metadata=meta.ObjectMeta(uid=runtime.uid, name=runtime.name, namespace=runtime.namespace))
        pod.spec.termination_grace_period_seconds = 1 if runtime.grace is None else int(runtime.grace)
        log.info("ending a pod that no source knows pod=%s/%s uid=%s", runtime.namespace, runtime.name, runtime.uid)
        self._start(pod, self._orphan_world).remove()

    # From within the node

    def poke(self, uid: str) -> None:
        if (worker := self._workers.get(uid)) is not None:
            worker.poke()

    def poke_all(self) -> None:
        for worker in self._workers.values():
            worker.poke()

    def judged(self, uid: str) -> None:
        """A probe of the pod's has reached another verdict."""
        if (worker := self._workers.get(uid)) is not None:
            worker.judged()

    def refresh_volumes(self, uid: str) -> None:
        if (worker := self._workers.get(uid)) is not None:
            worker.refresh_volumes()

    def evict(self, uid: str, failure: Failure, grace: float | None = None) -> None:
        if (worker := self._workers.get(uid)) is not None:
            worker.evict(failure, grace)

    # What there is

    def __contains__(self, uid: str) -> bool:
        return uid in self._workers

    @property
    def uids(self) -> list[str]:
        return list(self._workers)

    def worker(self, uid: str) -> PodWorker | None:
        return self._workers.get(uid)

    def pods(self) -> list[core.Pod]:
        """Pods of the sources that still have a worker."""
        return [one.pod for one in self._workers.values() if one.sourced]

    def holding(self) -> list[core.Pod]:
        """Pods that hold, or may yet hold, resources of the node."""
        return [
            one.pod
            for one in self._workers.values()
            if one.admitted and one.state is not State.TERMINATED and one.pod.status.phase not in TERMINAL
        ]

    async def changed(self) -> None:
        """Wait until a pod is let in or gone."""
        await self._changed.wait()
        self._changed.clear()

    def running(self) -> list[tuple[core.Pod, list[ObservedContainer]]]:
        """Pods with their containers that run, as last seen."""
        return [
            (one.pod, one.memory.runtime.running)
            for one in self._workers.values()
            if one.memory.runtime is not None and one.memory.runtime.running
        ]

    def dump(self) -> list[dict[str, Any]]:
        """What each worker does and did, as JSON values, for /debug/pods."""
        return [
            {
                "uid": uid,
                "namespace": one.pod.metadata.namespace,
                "name": one.pod.metadata.name,
                "state": one.state.value,
                "record": one.memory.record.dump(),
            }
            for uid, one in self._workers.items()
        ]

    # Workers

    def _start(self, pod: core.Pod, world: World) -> PodWorker:
        uid, name = pod.metadata.uid, full_name(pod)
        holder = self._holders.get(name)
        worker = PodWorker(
            pod,
            world,
            self._judge,
            admitted=uid in self._known_to_runtime or world is self._orphan_world,
            after=holder.gone if holder is not None else None,
            sourced=world is self._world,
        )
        self._known_to_runtime.discard(uid)
        self._changed.set()
        self._workers[uid] = self._holders[name] = worker
        self._group.create_task(self._work(worker), name=f"pod-{pod.metadata.namespace}/{pod.metadata.name}")
        return worker

    async def _judge(self, pod: core.Pod) -> Failure | None:
        self._changed.set()
        return await self._admit(pod, lambda: [one for one in self.holding() if one.metadata.uid != pod.metadata.uid])

    async def _work(self, worker: PodWorker) -> None:
        await worker.run()
        uid = worker.pod.metadata.uid
        self._workers.pop(uid, None)
        if self._holders.get(full_name(worker.pod)) is worker:
            del self._holders[full_name(worker.pod)]
        self._world.statuses.forget(uid)
        self._changed.set()
        back = self._again.pop(uid, None)
        if back is not None:
            self._start(back, self._world)


class _Silence:
    """Where statuses of pods go that the API does not know."""

    def set(self, pod: core.Pod, status: core.PodStatus) -> None:
        """Nobody is to hear of it."""

    def finish(self, pod: core.Pod) -> None:
        """There is no object to let go."""

    def forget(self, uid: str) -> None:
        """Nothing was kept."""
