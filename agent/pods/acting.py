"""Carrying out a plan for a pod, action by action. The executor to `agent.pods.planner`.

It decides nothing but what to leave out after a failure. What failed is remembered for the status and told as an event;
whether and when to try again is the worker's to say.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from agent.pods.containers import Waiting
from agent.pods.identity import container_hash
from agent.pods.killing import KillError, container_grace, grace_period
from agent.pods.memory import Memory
from agent.pods.observed import ObservedPod
from agent.pods.plans import CreateSandbox, Kind, Plan, RemoveContainer, StartContainer, StopContainer, StopPod
from agent.pods.seams import StartError, VolumeError
from agent.pods.starting import Sandbox
from agent.pods.world import World
from api import core_v1 as core
from api.pods import find_container
from cri.errors import CriError

log = logging.getLogger(__name__)


class ActFailed(Exception):
    """An action failed that the rest of the plan rests on."""


class Actor:
    """Carries plans out."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def act(self, pod: core.Pod, memory: Memory, plan: Plan, runtime: ObservedPod) -> list[str]:
        """Carry the plan out; returns what went wrong. Raises ActFailed when it could not be carried on."""
        sandbox = Sandbox(plan.sandbox_id, plan.sandbox_attempt, runtime.ips)
        await self._stop(pod, plan, runtime)
        for action in plan.actions:
            if isinstance(action, RemoveContainer):
                await self._remove(action)
        building = [one for one in plan.actions if isinstance(one, CreateSandbox | StartContainer)]
        if not building:
            return []
        await self._prepare(pod, sandbox)
        troubles: list[str] = []
        for action in building:
            if isinstance(action, CreateSandbox):
                await self._create_sandbox(pod, action, sandbox)
            elif not await self._start(pod, memory, action, sandbox, runtime, troubles):
                break
        return troubles

    async def _stop(self, pod: core.Pod, plan: Plan, runtime: ObservedPod) -> None:
        if any(isinstance(one, StopPod) for one in plan.actions):
            try:
                await self._world.killer.stop_pod(pod, runtime, grace_period(pod))
            except KillError as error:
                self._world.recorder.event(pod, "Warning", "FailedKillPod", f"error killing pod: {error}")
                raise ActFailed(f"stop pod: {error}") from error
        stops = [one for one in plan.actions if isinstance(one, StopContainer)]
        failures: list[str] = []

        async def stop(action: StopContainer) -> None:
            grace = container_grace(pod, find_container(pod.spec, action.name), action.reason)
            try:
                await self._world.killer.stop_container(
                    pod, action.container_id, action.name, grace, action.message, pod_ips=runtime.ips
                )
            except CriError as error:
                failures.append(f"stop container {action.name}: {error}")

        async with asyncio.TaskGroup() as group:
            for one in stops:
                group.create_task(stop(one), name=f"stop-{one.name}")
        if failures:
            # Starting a second instance beside one that may still run is worse than waiting.
            raise ActFailed("; ".join(failures))

    async def _remove(self, action: RemoveContainer) -> None:
        try:
            await self._world.runtime.remove_container(action.container_id)
        except CriError as error:
            raise ActFailed(f"remove container {action.name}: {error}") from error

    async def _prepare(self, pod: core.Pod, sandbox: Sandbox) -> None:
        """All that a sandbox and containers are built upon; every step is idempotent."""
        try:
            await self._world.cgroups.ensure_pod(pod)
        except OSError as error:
            text = f"unable to ensure pod container exists: failed to create container for {pod.metadata.uid}: {error}"
            self._world.recorder.event(pod, "Warning", "FailedCreatePodContainer", text)
            raise ActFailed(f"make cgroup: {error}") from error
        try:
            sandbox.volumes = await self._world.volumes.mount(pod)
        except VolumeError as error:
            for message in error.messages:
                self._world.recorder.event(pod, "Warning", error.reason, message)
            raise ActFailed(f"mount volumes: {error}") from error
        sandbox.pull_secrets = await self._world.volumes.pull_secrets(pod)
        had = {one.metadata.name for one in sandbox.pull_secrets}
        if lacking := [one.name for one in pod.spec.image_pull_secrets if one.name and one.name not in had]:
            text = (
                f"Unable to retrieve some image pull secrets ({', '.join(lacking)}); "
                "attempting to pull the image may not succeed."
            )
            self._world.recorder.event(pod, "Warning", "FailedToRetrieveImagePullSecret", text)

    async def _create_sandbox(self, pod: core.Pod, action: CreateSandbox, sandbox: Sandbox) -> None:
        world = self._world
        problem = "" if pod.spec.host_network else world.network_problem()
        if problem:
            world.recorder.event(pod, "Warning", "NetworkNotReady", f"network is not ready: {problem}")
            raise ActFailed(f"network is not ready: {problem}")
        if action.replaces:
            text = "Pod sandbox changed, it will be killed and re-created."
            world.recorder.event(pod, "Normal", "SandboxChanged", text)
        try:
            sandbox.id = await world.runtime.create_sandbox(pod, action.attempt)
        except (CriError, OSError) as error:
            cause = error.status_text if isinstance(error, CriError) else f"{error.filename}: {error.strerror}"
            text = f"Failed to create pod sandbox: {cause}"
            world.recorder.event(pod, "Warning", "FailedCreatePodSandBox", text)
            raise ActFailed(f"create sandbox: {error}") from error
        sandbox.attempt = action.attempt
        seen = await world.runtime.observe(pod.metadata.uid)
        sandbox.ips = next((one.ips for one in seen.sandboxes if one.id == sandbox.id), ())
        if not sandbox.ips and not pod.spec.host_network:
            raise ActFailed(f"create sandbox {sandbox.id}: the runtime gave it no address")

    async def _start(
        self,
        pod: core.Pod,
        memory: Memory,
        action: StartContainer,
        sandbox: Sandbox,
        runtime: ObservedPod,
        troubles: list[str],
    ) -> bool:
        """Returns whether to go on with the containers after this one."""
        container = find_container(pod.spec, action.name)
        if container is None:
            return True
        if action.backoff is not None:
            memory.backoffs[container_hash(container)] = action.backoff
        target = runtime.container(getattr(container, "target_container_name", ""))
        try:
            await self._world.starter.start(
                pod, container, action.attempt, sandbox, target_container_id=target.id if target else ""
            )
        except StartError as error:
            memory.waiting[action.name] = Waiting(error.reason, error.message)
            troubles.append(f"start {action.kind.value} {action.name}: {error}")
            return action.kind is not Kind.INIT or container.restart_policy == "Always"
        memory.waiting.pop(action.name, None)
        return True

    async def collect(self, actions: Sequence[RemoveContainer], sandboxes: Sequence[str]) -> None:
        """Remove what is dead and of no use; what will not go now goes another time."""
        try:
            for action in actions:
                await self._world.runtime.remove_container(action.container_id)
            for sandbox_id in sandboxes:
                await self._world.runtime.remove_sandbox(sandbox_id)
        except CriError as error:
            log.info("garbage could not be removed error=%s", error)
