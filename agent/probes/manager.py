"""All probes of the node: which are asked, and what they say of each container.

Pods are told of verdicts by a callback and look the details up here. A container that was ready, or had started, before
the agent was restarted counts as such until a probe says otherwise.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod
from agent.pods.seams import Recorder, Runtime
from agent.probes.prober import Prober, Target
from agent.probes.results import ProbeType
from agent.probes.worker import ProbeWorker
from api import core_v1 as core
from api.pods import AnyContainer, container_statuses, find_status, is_restartable_init
from client.clock import Clock

_Key = tuple[str, ProbeType]


@dataclass(slots=True)
class _PodProbes:
    """One pod's."""

    workers: dict[_Key, ProbeWorker] = field(default_factory=dict)
    tasks: dict[_Key, asyncio.Task[None]] = field(default_factory=dict)
    first_seen: dict[str, float] = field(default_factory=dict)
    """Container id → monotonic seconds at which it was first seen running."""
    ending: bool = False


class ProbeManager:
    """Runs the probes as tasks of one group; `on_verdict(uid)` is called when a pod should look again."""

    def __init__(
        self,
        runtime: Runtime,
        recorder: Recorder,
        clock: Clock,
        group: asyncio.TaskGroup,
        on_verdict: Callable[[str], object],
        *,
        host_ips: Callable[[], tuple[str, ...]],
        rng: random.Random | None = None,
    ) -> None:
        self._prober = Prober(runtime, recorder, clock)
        self._runtime_name = runtime.name
        self._clock = clock
        self._group = group
        self._on_verdict = on_verdict
        self._host_ips = host_ips
        self._rng = rng or random.Random()
        self._pods: dict[str, _PodProbes] = {}

    def add_pod(self, pod: core.Pod) -> None:
        """Start the pod's probes; idempotent."""
        uid = pod.metadata.uid
        if uid in self._pods:
            return
        probes = self._pods[uid] = _PodProbes()
        for container in _probed(pod):
            for kind in ProbeType:
                spec = _spec(container, kind)
                if spec is None:
                    continue
                worker = ProbeWorker(
                    kind, spec, self._prober, self._clock, self._rng, self._verdict(uid, container.name, kind)
                )
                key = (container.name, kind)
                probes.workers[key] = worker
                name = f"probe-{kind.value}-{pod.metadata.name}-{container.name}"
                probes.tasks[key] = self._group.create_task(worker.run(), name=name)

    def observe(self, pod: core.Pod, observed: ObservedPod) -> None:
        """Tell which containers run now, and at which addresses."""
        if pod.metadata.uid not in self._pods:
            if not observed.running:
                return
            self.add_pod(pod)
        probes = self._pods[pod.metadata.uid]
        if not probes.workers:
            return
        ips = self._host_ips() if pod.spec.host_network else observed.ips
        now = self._clock.monotonic()
        running: dict[str, float] = {}
        for container in _probed(pod):
            one = observed.container(container.name)
            if one is not None and one.state is ContainerState.RUNNING:
                age = max(0.0, self._clock.now() - one.started_at) if one.started_at else 0.0
                running[one.id] = probes.first_seen.get(one.id, now - age)
            else:
                one = None
            self._aim(pod, container, one, ips[0] if ips else "", probes, running)
        probes.first_seen = running

    def stop_liveness_and_startup(self, uid: str) -> None:
        """The pod is going down: nothing is to be restarted any more; readiness goes on."""
        probes = self._pods.get(uid)
        if probes is None:
            return
        probes.ending = True
        for (_, kind), task in probes.tasks.items():
            if kind is not ProbeType.READINESS:
                task.cancel()

    def remove_pod(self, uid: str) -> None:
        probes = self._pods.pop(uid, None)
        if probes is not None:
            for task in probes.tasks.values():
                task.cancel()

    def started(self, pod: core.Pod, container: AnyContainer, observed: ObservedContainer) -> bool:
        """Whether a running container has started: no startup probe, or it has succeeded."""
        if container.startup_probe is None:
            return True
        worker = self._worker(pod, container.name, ProbeType.STARTUP, observed.id)
        return worker is not None and worker.passed is True

    def ready(self, pod: core.Pod, container: AnyContainer, observed: ObservedContainer) -> bool:
        """Whether a running, started container is ready: no readiness probe, or it has succeeded."""
        if container.readiness_probe is None:
            return True
        worker = self._worker(pod, container.name, ProbeType.READINESS, observed.id)
        return worker is not None and worker.passed is True

    def failed(self, pod: core.Pod, container: AnyContainer, observed: ObservedContainer) -> str:
        """Why the container is to be killed: "liveness", "startup", or "" when it is not."""
        probes = self._pods.get(pod.metadata.uid)
        if probes is None or probes.ending:
            return ""
        for kind in (ProbeType.LIVENESS, ProbeType.STARTUP):
            worker = self._worker(pod, container.name, kind, observed.id)
            if worker is not None and worker.passed is False:
                return str(kind.value).lower()
        return ""

    def _worker(self, pod: core.Pod, name: str, kind: ProbeType, container_id: str) -> ProbeWorker | None:
        probes = self._pods.get(pod.metadata.uid)
        worker = probes.workers.get((name, kind)) if probes is not None else None
        return worker if worker is not None and worker.container_id == container_id else None

    def _aim(
        self,
        pod: core.Pod,
        container: core.Container,
        one: ObservedContainer | None,
        ip: str,
        probes: _PodProbes,
        running: dict[str, float],
    ) -> None:
        target = Target(pod, container, one.id, ip) if one is not None else None
        age = self._clock.monotonic() - running[one.id] if one is not None else 0.0
        told = self._told(pod, container.name, one)
        startup = probes.workers.get((container.name, ProbeType.STARTUP))
        if startup is not None:
            startup.aim(target, age, passed=True if told is not None and told.started else None, enabled=True)
            # Once it has started it is not asked again, and only then the others are.
            started = startup.passed is True
            startup.aim(target, age, passed=None, enabled=not started)
        else:
            started = True
        readiness = probes.workers.get((container.name, ProbeType.READINESS))
        if readiness is not None:
            readiness.aim(target, age, passed=told is not None and told.ready, enabled=started)
        liveness = probes.workers.get((container.name, ProbeType.LIVENESS))
        if liveness is not None:
            liveness.aim(target, age, passed=None, enabled=started)

    def _told(self, pod: core.Pod, name: str, one: ObservedContainer | None) -> core.ContainerStatus | None:
        """What the API says of this very instance: all that is known of one that ran before this agent did."""
        status = find_status(container_statuses(pod.status), name)
        if status is None or one is None or status.container_id != f"{self._runtime_name}://{one.id}":
            return None
        return status

    def _verdict(self, uid: str, name: str, kind: ProbeType) -> Callable[[], None]:
        def tell() -> None:
            probes = self._pods.get(uid)
            if probes is not None and kind is ProbeType.STARTUP:
                readiness = probes.workers.get((name, ProbeType.READINESS))
                if readiness is not None:
                    readiness.hurry()
            self._on_verdict(uid)

        return tell


def _probed(pod: core.Pod) -> list[core.Container]:
    """Containers whose probes count: app containers and sidecars."""
    return [*(one for one in pod.spec.init_containers if is_restartable_init(one)), *pod.spec.containers]


def _spec(container: core.Container, kind: ProbeType) -> core.Probe | None:
    if kind is ProbeType.LIVENESS:
        return container.liveness_probe
    return container.readiness_probe if kind is ProbeType.READINESS else container.startup_probe
