"""Pods on a container runtime: the thin part that calls it.

Fits `agent.pods.seams.Runtime`. It gathers what the builders need, makes what must be on the host, calls the runtime,
and reads its answers back; it decides nothing, retries nothing, and remembers nothing but the connection.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod, ObservedSandbox
from agent.pods.seams import ContainerRequest, ExecResult, Recorder, RuntimeEvent, RuntimeInfo, StartError
from agent.runtime import observing
from agent.runtime.blocking import run_blocking
from agent.runtime.containers import ContainerFacts, build_container_config
from agent.runtime.dns import DnsSettings, pod_dns
from agent.runtime.environment import (
    Environment,
    EnvironmentFacts,
    Objects,
    build_environment,
    gather,
    reads_files,
)
from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts, Places, pod_hosts_file, termination_file
from agent.runtime.hosts import hosts_file
from agent.runtime.labels import POD_UID
from agent.runtime.logs import remove_container_logs, remove_pod_logs
from agent.runtime.preparing import host_hosts_file, prepare_container
from agent.runtime.sandboxes import build_sandbox_config
from agent.runtime.security import ImageUser
from agent.runtime.service_variables import service_variables
from agent.runtime.subpaths import KernelSubPaths, SubPaths
from agent.runtime.volume_files import read_volume_file
from api import core_v1 as core
from client.clock import Clock
from cri.client import RuntimeClient
from cri.errors import CriError, DeadlineExceeded, NotFound, Unavailable
from cri.events import EventKind
from proto import cri_pb2 as cri

log = logging.getLogger(__name__)

PREPARE_SECONDS = 60.0
"""For everything on the host before a container; it touches volumes, which may hang."""
_UNKNOWN_EXIT_CODE = 137
_CATCH_UP_PAUSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.3)
_CATCH_UP_LIMIT = 60.0
"""Seconds after an event until the runtime's state is believed though it contradicts: the relist looks that often."""

A = TypeVar("A")


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """What the executor is handed of the rest of the agent."""

    facts: Callable[[], NodeFacts]
    places: Places
    dns: Callable[[], DnsSettings]
    """May read files of the node; called once for each sandbox and container."""
    cgroup_parent: Callable[[core.Pod], str]
    objects: Objects
    services: Callable[[], Iterable[core.Service]]
    runtime_handler: Callable[[core.Pod], Awaitable[str]]
    """The handler of the pod's runtime class, "" for none. Raises CriError."""
    recorder: Recorder
    clock: Clock
    sub_paths: SubPaths = dataclasses.field(default_factory=KernelSubPaths)


class PodRuntime:
    """The container runtime in terms of pods."""

    def __init__(self, client: RuntimeClient, name: str, surroundings: Surroundings) -> None:
        """`name` is what the runtime calls itself (CRI Version), the scheme of container IDs in the API."""
        self.name = name
        self._client = client
        self._around = surroundings
        self._ended: dict[str, float] = {}
        """Containers and sandboxes whose end was told by an event, and when (monotonic seconds); the runtime's state
        may not show it yet."""

    # Looking.

    async def list_pods(self) -> Mapping[str, ObservedPod]:
        sandboxes = await self._client.list_pod_sandbox()
        containers = await self._client.list_containers()
        return observing.pods_of(sandboxes, containers)

    async def observe(self, uid: str) -> ObservedPod:
        seen = await self._look(uid)
        if self._lags(seen):
            # Most likely told after the container's state was read. The pod's worker did not know the container then,
            # so the event did not reach it; from here to the worker's taking this in, none comes in between.
            seen = await self._look(uid)
        return dataclasses.replace(seen, lagging=True) if self._lags(seen) else seen

    def _lags(self, seen: ObservedPod) -> bool:
        """Whether something is shown alive though an event has told of its end."""
        alive = [one.id for one in seen.running] + [one.id for one in seen.ready_sandboxes]
        return any(map(self._catching_up, alive))

    async def _look(self, uid: str) -> ObservedPod:
        labels = {POD_UID: uid}
        sandboxes = await self._client.list_pod_sandbox(labels=labels)
        containers = await self._client.list_containers(labels=labels)
        seen_sandboxes = await _together(map(self._sandbox, sandboxes))
        seen_containers = await _together(map(self._container, containers))
        return observing.assemble(
            uid,
            sandboxes,
            containers,
            (one for one in seen_sandboxes if one is not None),
            (one for one in seen_containers if one is not None),
        )

    async def _sandbox(self, listed: cri.PodSandbox) -> ObservedSandbox | None:
        if listed.state != cri.SANDBOX_READY:
            return observing.listed_sandbox(listed)
        try:
            status = (await self._client.pod_sandbox_status(listed.id)).status
            for pause in self._catching_up(listed.id):
                if status.state != cri.SANDBOX_READY:
                    break
                await self._around.clock.sleep(pause)
                status = (await self._client.pod_sandbox_status(listed.id)).status
        except NotFound:
            return None
        return observing.observed_sandbox(status)

    async def _container(self, listed: cri.Container) -> ObservedContainer | None:
        try:
            status = (await self._client.container_status(listed.id)).status
            for pause in self._catching_up(listed.id):
                if status.state != cri.CONTAINER_RUNNING:
                    break
                await self._around.clock.sleep(pause)
                status = (await self._client.container_status(listed.id)).status
        except NotFound:
            return None
        except (Unavailable, DeadlineExceeded):
            raise
        except CriError as error:
            # What is wrong with its status (an image that was removed, say) must not keep a container from being
            # stopped and removed: the list entry says enough for that.
            log.warning("container has no status: container=%s error=%s", listed.id, error)
            return _without_status(observing.listed_container(listed), error)
        words = observing.last_words(status)
        message = observing.read_last_words(words) if words is not None else ""
        return observing.observed_container(listed, status, message)

    def _catching_up(self, identity: str) -> Sequence[float]:
        """Pauses between looks at what has ended by an event, and may still run by the runtime's state.

        containerd tells its own events when they happen, and CRI's state follows some milliseconds later; whoever
        looked between would see a running container, and no further event would come.
        """
        told = self._ended.get(identity)
        if told is None or self._around.clock.monotonic() - told > _CATCH_UP_LIMIT:
            return ()
        return _CATCH_UP_PAUSES

    async def info(self) -> RuntimeInfo:
        version = await self._client.version()
        status = (await self._client.status()).status
        conditions = {one.type: one for one in status.conditions}
        ready = conditions.get("RuntimeReady", cri.RuntimeCondition())
        network = conditions.get("NetworkReady", cri.RuntimeCondition())
        return RuntimeInfo(
            name=version.runtime_name,
            version=version.runtime_version,
            ready=ready.status,
            message=ready.message,
            network_ready=network.status,
            network_reason=network.reason,
            network_message=network.message,
        )

    async def events(self) -> AsyncIterator[RuntimeEvent]:
        """Events without end, across restarts of the runtime. One without a container says that others may have been
        missed. Raises cri.errors.Unimplemented when the runtime has none.
        """
        async for event in self._client.events():
            if event.kind is EventKind.STOPPED:
                self._ended[event.container_id] = self._around.clock.monotonic()
            elif event.kind is EventKind.DELETED:
                self._ended.pop(event.container_id, None)
            elif event.kind is EventKind.RESYNC:
                self._ended.clear()
            yield RuntimeEvent(event.container_id)

    # Sandboxes.

    async def create_sandbox(self, pod: core.Pod, attempt: int) -> str:
        handler = await self._around.runtime_handler(pod)
        config = self._sandbox_config(pod, attempt, handler, tell=True)
        log_folder = self._log_folder(pod)
        log_folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        return await self._client.run_pod_sandbox(config, handler)

    def _sandbox_config(self, pod: core.Pod, attempt: int, handler: str, *, tell: bool) -> cri.PodSandboxConfig:
        settings = self._around.dns()
        dns = pod_dns(pod, settings)
        if tell:
            for reason, message in dns.warnings:
                self._around.recorder.event(pod, "Warning", reason, message)
        return build_sandbox_config(
            pod,
            attempt,
            facts=self._around.facts(),
            places=self._around.places,
            dns=dns.config,
            cluster_domain=settings.cluster_domain,
            cgroup_parent=self._around.cgroup_parent(pod),
            handler=handler,
        )

    async def stop_sandbox(self, sandbox_id: str) -> None:
        try:
            await self._client.stop_pod_sandbox(sandbox_id)
        except NotFound:
            log.debug("sandbox is gone already: sandbox=%s", sandbox_id)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        try:
            await self._client.remove_pod_sandbox(sandbox_id)
        except NotFound:
            log.debug("sandbox is gone already: sandbox=%s", sandbox_id)

    # Containers.

    async def create_container(self, request: ContainerRequest) -> str:
        pod, container = request.pod, request.container
        handler = await self._around.runtime_handler(pod)
        node = self._around.facts()
        try:
            environment = await self._environment(request, node)
            image_user = await self._image_user(request)
            plan = build_container_config(
                pod,
                container,
                request.attempt,
                node=node,
                places=self._around.places,
                facts=ContainerFacts(
                    environment=environment,
                    image_ref=request.image_ref,
                    image_user=image_user,
                    volumes=request.volumes,
                    with_hosts_file=self._has_hosts_file(request),
                    target_container_id=request.target_container_id,
                    handler=handler,
                ),
            )
            await run_blocking(
                lambda: prepare_container(
                    container.name,
                    log_folder=self._log_folder(pod),
                    hosts=self._hosts(request),
                    termination=self._termination_file(request),
                    binds=plan.binds,
                    sub_paths=self._around.sub_paths,
                ),
                f"container {container.name}: prepare its files",
                PREPARE_SECONDS,
                self._around.clock,
            )
        except (ConfigError, OSError) as error:
            raise StartError("CreateContainerConfigError", str(error)) from error
        sandbox = self._sandbox_config(pod, request.sandbox_attempt, handler, tell=False)
        return await self._client.create_container(request.sandbox_id, plan.config, sandbox)

    async def start_container(self, container_id: str) -> None:
        await self._client.start_container(container_id)

    async def stop_container(self, container_id: str, grace: float) -> None:
        try:
            await self._client.stop_container(container_id, max(0, math.ceil(grace)))
        except NotFound:
            log.debug("container is gone already: container=%s", container_id)

    async def remove_container(self, container_id: str) -> None:
        try:
            path = (await self._client.container_status(container_id)).status.log_path
        except NotFound:
            return
        except (Unavailable, DeadlineExceeded):
            raise
        except CriError as error:
            log.warning("log of container is left: container=%s error=%s", container_id, error)
            path = ""
        try:
            await self._client.remove_container(container_id)
        except NotFound:
            log.debug("container is gone already: container=%s", container_id)
        try:
            await asyncio.to_thread(remove_container_logs, path)
        except OSError as error:
            log.warning("log of container is left: container=%s error=%s", container_id, error)

    async def remove_pod_logs(self, pod: core.Pod) -> None:
        try:
            await asyncio.to_thread(remove_pod_logs, self._around.places.pod_logs, self._log_folder(pod))
        except OSError as error:
            log.warning("logs of pod are left: pod=%s error=%s", pod.metadata.uid, error)

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout: float) -> ExecResult:
        try:
            answer = await self._client.exec_sync(container_id, command, max(1, math.ceil(timeout)))
        except DeadlineExceeded as error:
            raise TimeoutError(str(error)) from error
        return ExecResult(answer.exit_code, answer.stdout, answer.stderr)

    # What a container is made from.

    async def _environment(self, request: ContainerRequest, node: NodeFacts) -> Environment:
        pod, container = request.pod, request.container
        namespace = pod.metadata.namespace
        config_maps, secrets = await gather(container, namespace, self._around.objects)
        links = pod.spec.enable_service_links is not False
        facts = EnvironmentFacts(
            config_maps=config_maps,
            secrets=secrets,
            services=service_variables(self._around.services(), namespace, links),
            pod_ips=self._pod_ips(request),
            host_ips=node.ips,
            allocatable=node.allocatable,
            read_file=lambda volume, path: read_volume_file(request.volumes, volume, path),
        )
        if reads_files(container):
            environment = await run_blocking(
                lambda: build_environment(pod, container, facts),
                f"container {container.name}: make its environment",
                PREPARE_SECONDS,
                self._around.clock,
            )
        else:
            environment = build_environment(pod, container, facts)
        for warning in environment.warnings:
            self._around.recorder.event(pod, "Warning", "InvalidEnvironmentVariableNames", warning)
        return environment

    async def _image_user(self, request: ContainerRequest) -> ImageUser:
        try:
            image = await self._client.image_status(cri.ImageSpec(image=request.image_ref))
        except CriError as error:
            raise ConfigError(error.cause) from error
        if image is None:
            raise ConfigError(f'image "{request.container.image}" not found')
        return ImageUser(image.uid.value if image.HasField("uid") else None, image.username)

    def _pod_ips(self, request: ContainerRequest) -> tuple[str, ...]:
        if request.pod.spec.host_network and not request.pod_ips:
            return self._around.facts().ips
        return request.pod_ips

    def _has_hosts_file(self, request: ContainerRequest) -> bool:
        return bool(self._pod_ips(request))

    def _hosts(self, request: ContainerRequest) -> tuple[Path, str] | None:
        if not self._has_hosts_file(request):
            return None
        pod = request.pod
        host_file = host_hosts_file() if pod.spec.host_network else ""
        content = hosts_file(pod, self._around.dns().cluster_domain, self._pod_ips(request), host_file)
        return pod_hosts_file(self._around.places, pod.metadata.uid), content

    def _termination_file(self, request: ContainerRequest) -> Path:
        return termination_file(self._around.places, request.pod.metadata.uid, request.container.name, request.attempt)

    def _log_folder(self, pod: core.Pod) -> Path:
        meta = pod.metadata
        return self._around.places.log_folder(meta.namespace, meta.name, meta.uid)


async def _together(calls: Iterable[Coroutine[Any, Any, A]]) -> list[A]:
    """Runs calls at once; when one fails the others are ended and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def _without_status(one: ObservedContainer, error: CriError) -> ObservedContainer:
    """A container whose end, if it has ended, is not known: never taken for a success."""
    if one.state is not ContainerState.EXITED:
        return one
    return dataclasses.replace(one, exit_code=_UNKNOWN_EXIT_CODE, reason="ContainerStatusUnknown", message=error.cause)
