"""Stopping containers and pods within their grace period.

The preStop hook runs out of the same grace period as the stop signal. App containers go first, sidecars after them, the
last one first. A container the runtime no longer knows is a stopped container.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from agent.pods.hooks import HookError, Hooks
from agent.pods.identity import field_path
from agent.pods.observed import ObservedContainer, ObservedPod
from agent.pods.plans import KillReason
from agent.pods.seams import Recorder, Runtime
from api import core_v1 as core
from api.pods import AnyContainer, find_container, is_restartable_init
from client.clock import Clock
from cri.errors import CriError, NotFound

log = logging.getLogger(__name__)

LEAST_GRACE = 2.0
"""Seconds a process always has between the stop signal and the kill, so that it may close its files."""
DEFAULT_GRACE = 30.0


class KillError(Exception):
    """Not everything that was to be stopped has been."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """When a container's time to be stopped has come: when all of `after` are dead."""

    after: tuple[asyncio.Event, ...]
    dead: asyncio.Event


def grace_period(pod: core.Pod, override: float | None = None) -> float:
    """Seconds the pod has to end: never more than was granted by whoever deleted it, and at least one."""
    granted = pod.metadata.deletion_grace_period_seconds if pod.metadata.deletion_timestamp else None
    if granted is None:
        granted = pod.spec.termination_grace_period_seconds
    grace = DEFAULT_GRACE if granted is None else float(granted)
    if override is not None:
        grace = min(grace, override)
    return max(grace, 1.0)


def container_grace(pod: core.Pod, container: AnyContainer | None, reason: KillReason) -> float:
    """The grace period of one container that is to be restarted; a probe may bring its own."""
    if reason in (KillReason.LIVENESS, KillReason.STARTUP) and container is not None:
        probe = container.liveness_probe if reason is KillReason.LIVENESS else container.startup_probe
        if probe is not None and probe.termination_grace_period_seconds is not None:
            return float(probe.termination_grace_period_seconds)
    return grace_period(pod)


class Killer:
    """Stops containers, hooks included."""

    def __init__(self, runtime: Runtime, hooks: Hooks, recorder: Recorder, clock: Clock) -> None:
        self._runtime = runtime
        self._hooks = hooks
        self._recorder = recorder
        self._clock = clock

    async def stop_container(
        self,
        pod: core.Pod,
        container_id: str,
        name: str,
        grace: float,
        message: str = "",
        *,
        pod_ips: tuple[str, ...] = (),
        turn: _Turn | None = None,
    ) -> None:
        """Stop one container. Raises CriError; grace is in seconds, hook included."""
        container = find_container(pod.spec, name)
        text = message or f"Stopping container {name}"
        self._recorder.event(pod, "Normal", "Killing", text, field_path=field_path(pod, name))
        deadline = self._clock.monotonic() + grace
        lifecycle = container.lifecycle if container is not None else None
        if container is not None and lifecycle is not None and lifecycle.pre_stop is not None and grace > 0:
            await self._pre_stop(lifecycle.pre_stop, pod, container, container_id, pod_ips, grace)
        if turn is not None:
            await self._await_turn(turn, deadline - self._clock.monotonic())
        left = max(deadline - self._clock.monotonic(), LEAST_GRACE)
        try:
            await self._runtime.stop_container(container_id, left)
        except NotFound:
            log.debug("container was gone already pod=%s container=%s", pod.metadata.uid, container_id)
        if turn is not None:
            turn.dead.set()

    async def stop_pod(self, pod: core.Pod, runtime: ObservedPod, grace: float) -> None:
        """Stop every container, then every sandbox. Raises KillError naming what would not stop.

        Sandboxes that are dead as well: one that was not stopped but died keeps its network, address included.
        """
        failures = await self._stop_containers(pod, runtime, grace)
        for sandbox in runtime.sandboxes:
            try:
                await self._runtime.stop_sandbox(sandbox.id)
            except NotFound:
                continue
            except CriError as error:
                failures.append(f'failed to "KillPodSandbox" for "{pod.metadata.uid}": {error}')
        if failures:
            raise KillError(", ".join(failures))

    async def _stop_containers(self, pod: core.Pod, runtime: ObservedPod, grace: float) -> list[str]:
        running = runtime.running
        turns = _turns(pod, running)
        failures: list[str] = []

        async def stop(one: ObservedContainer) -> None:
            turn = turns[one.id]
            try:
                await self.stop_container(pod, one.id, one.name, grace, pod_ips=runtime.ips, turn=turn)
            except CriError as error:
                failures.append(f'failed to "KillContainer" for "{one.name}": {error}')
            finally:
                # Whoever waits for this one must not wait for ever because it failed.
                turn.dead.set()

        async with asyncio.TaskGroup() as group:
            for one in running:
                group.create_task(stop(one), name=f"stop-{one.name}")
        return failures

    async def _pre_stop(
        self,
        handler: core.LifecycleHandler,
        pod: core.Pod,
        container: AnyContainer,
        container_id: str,
        pod_ips: tuple[str, ...],
        grace: float,
    ) -> None:
        try:
            async with self._clock.timeout(grace):
                await self._hooks.run(handler, pod, container, container_id, pod_ips)
        except TimeoutError:
            log.info("preStop hook outlasted the grace period pod=%s container=%s", pod.metadata.uid, container.name)
        except HookError as error:
            log.info("preStop hook failed pod=%s error=%s", pod.metadata.uid, error)
            path = field_path(pod, container.name)
            self._recorder.event(pod, "Warning", "FailedPreStopHook", "PreStopHook failed", field_path=path)

    async def _await_turn(self, turn: _Turn, limit: float) -> None:
        try:
            async with self._clock.timeout(max(limit, 0.0)):
                for event in turn.after:
                    await event.wait()
        except TimeoutError:
            return


def _turns(pod: core.Pod, running: Iterable[ObservedContainer]) -> dict[str, _Turn]:
    """Sidecars wait for all app containers and for the sidecars after them."""
    order = [one.name for one in pod.spec.init_containers if is_restartable_init(one)]
    containers = list(running)
    dead = {one.id: asyncio.Event() for one in containers}
    turns = {}
    for one in containers:
        after: list[asyncio.Event] = []
        if one.name in order:
            rank = order.index(one.name)
            after = [
                dead[other.id] for other in containers if other.name not in order or order.index(other.name) > rank
            ]
        turns[one.id] = _Turn(tuple(after), dead[one.id])
    return turns
