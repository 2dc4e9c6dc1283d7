"""The fake runtime: sandboxes and containers in memory, behaving as a careful runtime does.

Handlers are named after their RPCs and take and give CRI messages; `cri.fake.transport` finds them by the service's
descriptor, in this process or behind a socket. What is not here is UNIMPLEMENTED. Ids, addresses and order depend on
the seed and the calls alone.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from google.protobuf.message import Message

from cri.clock import Clock
from cri.errors import CriError, error_for
from cri.fake.images import FakeImages
from cri.fake.lies import Lies
from cri.fake.programs import SIGKILL_CODE, Programs, server
from cri.fake.records import ContainerRecord, SandboxRecord
from proto import cri_pb2 as cri

ExecHandler = Callable[[ContainerRecord, list[str]], cri.ExecSyncResponse]


def exec_succeeds(container: ContainerRecord, command: list[str]) -> cri.ExecSyncResponse:
    """The default answer to ExecSync."""
    return cri.ExecSyncResponse(exit_code=0)


class FakeRuntimeService:
    """State and behaviour; no faults and no deadlines, which are the way's (`cri.fake.transport`)."""

    def __init__(self, clock: Clock, *, seed: int = 0, images: FakeImages | None = None) -> None:
        self.clock = clock
        self.images = images or FakeImages(clock)
        self.programs: Programs = server
        self.exec_handler: ExecHandler = exec_succeeds
        self.exec_takes: float = 0.0
        """Seconds each ExecSync takes."""
        self.lies = Lies()
        self.sandboxes: dict[str, SandboxRecord] = {}
        self.containers: dict[str, ContainerRecord] = {}
        self.network_ready = True
        self.handlers: list[cri.RuntimeHandler] = []
        self.cgroup_driver = cri.CGROUPFS
        self._random = random.Random(seed)
        self._addresses = 0
        self._listeners: list[asyncio.Queue[Message | CriError]] = []
        self._changed = asyncio.Event()

    # The runtime.

    async def version(self, request: cri.VersionRequest) -> cri.VersionResponse:
        return cri.VersionResponse(
            version="0.1.0", runtime_name="fake", runtime_version="v1.0.0", runtime_api_version="v1"
        )

    async def status(self, request: cri.StatusRequest) -> cri.StatusResponse:
        ready = cri.RuntimeCondition(type="RuntimeReady", status=True)
        network = cri.RuntimeCondition(type="NetworkReady", status=self.network_ready)
        if not self.network_ready:
            network.reason = "NetworkPluginNotReady"
            network.message = "Network plugin returns error: cni plugin not initialized"
        return cri.StatusResponse(status=cri.RuntimeStatus(conditions=[ready, network]), runtime_handlers=self.handlers)

    async def runtime_config(self, request: cri.RuntimeConfigRequest) -> cri.RuntimeConfigResponse:
        return cri.RuntimeConfigResponse(linux=cri.LinuxRuntimeConfiguration(cgroup_driver=self.cgroup_driver))

    async def update_runtime_config(self, request: cri.UpdateRuntimeConfigRequest) -> cri.UpdateRuntimeConfigResponse:
        return cri.UpdateRuntimeConfigResponse()

    # Sandboxes.

    async def run_pod_sandbox(self, request: cri.RunPodSandboxRequest) -> cri.RunPodSandboxResponse:
        metadata = request.config.metadata
        name = f"{metadata.name}_{metadata.namespace}_{metadata.uid}_{metadata.attempt}"
        for other in self.sandboxes.values():
            if other.config.metadata == metadata:
                cause = f'failed to reserve sandbox name "{name}": name "{name}" is reserved for "{other.id}"'
                raise error_for("Unknown", "run sandbox", f"pod {metadata.namespace}/{metadata.name}", cause)
        host_network = request.config.linux.security_context.namespace_options.network == cri.NODE
        sandbox = SandboxRecord(
            id=self._new_id(),
            config=request.config,
            runtime_handler=request.runtime_handler,
            created_at=self._stamp(),
            ip="" if host_network or self.lies.ready_without_ip else self._new_address(),
        )
        self.sandboxes[sandbox.id] = sandbox
        self._say(cri.CONTAINER_CREATED_EVENT, sandbox.id, sandbox)
        self._say(cri.CONTAINER_STARTED_EVENT, sandbox.id, sandbox)
        return cri.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    async def stop_pod_sandbox(self, request: cri.StopPodSandboxRequest) -> cri.StopPodSandboxResponse:
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox is not None and sandbox.ready:
            for container in self.in_sandbox(sandbox.id):
                self._end(container, SIGKILL_CODE)
            sandbox.ready = False
            self._say(cri.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox)
        return cri.StopPodSandboxResponse()

    async def remove_pod_sandbox(self, request: cri.RemovePodSandboxRequest) -> cri.RemovePodSandboxResponse:
        sandbox = self.sandboxes.get(request.pod_sandbox_id)
        if sandbox is not None:
            await self.stop_pod_sandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
            for container in self.in_sandbox(sandbox.id):
                self._forget(container)
            del self.sandboxes[sandbox.id]
            self._say(cri.CONTAINER_DELETED_EVENT, sandbox.id, sandbox)
        return cri.RemovePodSandboxResponse()

    async def pod_sandbox_status(self, request: cri.PodSandboxStatusRequest) -> cri.PodSandboxStatusResponse:
        sandbox = self._sandbox(request.pod_sandbox_id, "ask for status")
        return cri.PodSandboxStatusResponse(status=sandbox.status(), timestamp=self._stamp())

    async def list_pod_sandbox(self, request: cri.ListPodSandboxRequest) -> cri.ListPodSandboxResponse:
        chosen = request.filter
        return cri.ListPodSandboxResponse(
            items=[
                sandbox.listed()
                for sandbox in self.sandboxes.values()
                if sandbox.id.startswith(chosen.id)
                and (not chosen.HasField("state") or sandbox.state == chosen.state.state)
                and chosen.label_selector.items() <= dict(sandbox.config.labels).items()
            ]
        )

    async def update_pod_sandbox_resources(
        self, request: cri.UpdatePodSandboxResourcesRequest
    ) -> cri.UpdatePodSandboxResourcesResponse:
        sandbox = self._sandbox(request.pod_sandbox_id, "update resources")
        sandbox.config.linux.resources.CopyFrom(request.resources)
        return cri.UpdatePodSandboxResourcesResponse()

    # Containers.

    async def create_container(self, request: cri.CreateContainerRequest) -> cri.CreateContainerResponse:
        step = "create container"
        sandbox = self._sandbox(request.pod_sandbox_id, step)
        metadata = request.config.metadata
        target = f"container {metadata.name}"
        image = self.images.find(request.config.image.image)
        if image is None:
            cause = f'failed to resolve image "{request.config.image.image}": not found'
            raise error_for("NotFound", step, target, cause)
        for other in self.in_sandbox(sandbox.id):
            if other.config.metadata == metadata:
                name = f"{metadata.name}_{metadata.attempt}"
                cause = f'failed to reserve container name "{name}": name "{name}" is reserved for "{other.id}"'
                raise error_for("Unknown", step, target, cause)
        log_path = ""
        if request.config.log_path and request.sandbox_config.log_directory:
            log_path = f"{request.sandbox_config.log_directory.rstrip('/')}/{request.config.log_path}"
        container = ContainerRecord(
            id=self._new_id(),
            sandbox_id=sandbox.id,
            config=request.config,
            image_id=image.id,
            log_path=log_path,
            created_at=self._stamp(),
        )
        self.containers[container.id] = container
        self._say(cri.CONTAINER_CREATED_EVENT, container.id, sandbox)
        return cri.CreateContainerResponse(container_id=container.id)

    async def start_container(self, request: cri.StartContainerRequest) -> cri.StartContainerResponse:
        step = "start container"
        container = self._container(request.container_id, step)
        target = f"container {container.id}"
        if container.state != cri.CONTAINER_CREATED:
            state = cri.ContainerState.Name(container.state)
            raise error_for("Unknown", step, target, f"container is in {state} state")
        sandbox = self.sandboxes[container.sandbox_id]
        if not sandbox.ready:
            raise error_for("Unknown", step, target, f'sandbox container "{sandbox.id}" is not running')
        container.program = self.programs(container.config)
        if container.program.fails_to_start:
            container.state = cri.CONTAINER_EXITED
            container.finished_at = self._stamp()
            container.exit_code = 128
            container.reason = "StartError"
            container.message = container.program.fails_to_start
            raise error_for("Unknown", step, target, container.program.fails_to_start)
        container.state = cri.CONTAINER_RUNNING
        container.started_at = self._stamp()
        container.run += 1
        self._say(cri.CONTAINER_STARTED_EVENT, container.id, sandbox)
        if container.program.runs_for is not None:
            self.clock.call_later(container.program.runs_for, self._exit_by_itself, container, container.run)
        return cri.StartContainerResponse()

    async def stop_container(self, request: cri.StopContainerRequest) -> cri.StopContainerResponse:
        container = self._container(request.container_id, "stop container")
        if container.id in self.lies.forgets_on_stop:
            raise self._absent("container", container.id, "stop container")
        if container.id in self.lies.keeps_running or container.state != cri.CONTAINER_RUNNING:
            return cri.StopContainerResponse()
        obeys = container.program.obeys_after
        if request.timeout > 0 and obeys is not None and obeys <= request.timeout:
            await self._wait_for_end(container, obeys)
            self._end(container, container.program.obeys_with)
        else:
            await self._wait_for_end(container, float(request.timeout))
            self._end(container, SIGKILL_CODE)
        return cri.StopContainerResponse()

    async def remove_container(self, request: cri.RemoveContainerRequest) -> cri.RemoveContainerResponse:
        container = self.containers.get(request.container_id)
        if container is not None:
            self._end(container, SIGKILL_CODE)
            self._forget(container)
        return cri.RemoveContainerResponse()

    async def container_status(self, request: cri.ContainerStatusRequest) -> cri.ContainerStatusResponse:
        container = self._container(request.container_id, "ask for status")
        if self.lies.needs_image_for_status and container.image_id not in self.images.stored:
            cause = f'unable to inspect docker image "{container.image_id}": no such image'
            raise error_for("Unknown", "ask for status", f"container {container.id}", cause)
        return cri.ContainerStatusResponse(status=container.status())

    async def list_containers(self, request: cri.ListContainersRequest) -> cri.ListContainersResponse:
        chosen = request.filter
        return cri.ListContainersResponse(
            containers=[
                container.listed()
                for container in self.containers.values()
                if container.id.startswith(chosen.id)
                and (not chosen.pod_sandbox_id or container.sandbox_id == chosen.pod_sandbox_id)
                and (not chosen.HasField("state") or container.state == chosen.state.state)
                and chosen.label_selector.items() <= dict(container.config.labels).items()
            ]
        )

    async def update_container_resources(
        self, request: cri.UpdateContainerResourcesRequest
    ) -> cri.UpdateContainerResourcesResponse:
        container = self._container(request.container_id, "update resources")
        container.config.linux.resources.CopyFrom(request.linux)
        return cri.UpdateContainerResourcesResponse()

    async def reopen_container_log(self, request: cri.ReopenContainerLogRequest) -> cri.ReopenContainerLogResponse:
        container = self._container(request.container_id, "reopen log")
        if container.state != cri.CONTAINER_RUNNING:
            raise error_for("Unknown", "reopen log", f"container {container.id}", "container is not running")
        return cri.ReopenContainerLogResponse()

    async def exec_sync(self, request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
        step = "run command"
        container = self._container(request.container_id, step)
        target = f"container {container.id}"
        if container.state != cri.CONTAINER_RUNNING:
            raise error_for("Unknown", step, target, "container is not running")
        if request.timeout and self.exec_takes > request.timeout:
            await self.clock.sleep(request.timeout)
            cause = f"failed to exec in container: timeout {request.timeout}s exceeded: context deadline exceeded"
            raise error_for("DeadlineExceeded", step, target, cause)
        await self.clock.sleep(self.exec_takes)
        return self.exec_handler(container, list(request.cmd))

    # What happens there.

    def listen(self, queue: asyncio.Queue[Message | CriError]) -> None:
        """Puts every event from now on into the queue (GetContainerEvents)."""
        self._listeners.append(queue)

    def stop_listening(self, queue: asyncio.Queue[Message | CriError]) -> None:
        if queue in self._listeners:
            self._listeners.remove(queue)

    async def list_container_stats(self, request: cri.ListContainerStatsRequest) -> cri.ListContainerStatsResponse:
        return cri.ListContainerStatsResponse(
            stats=[
                cri.ContainerStats(
                    attributes=cri.ContainerAttributes(
                        id=container.id, metadata=container.config.metadata, labels=container.config.labels
                    )
                )
                for container in self.containers.values()
                if container.state == cri.CONTAINER_RUNNING
            ]
        )

    # For tests.

    def in_sandbox(self, sandbox_id: str) -> list[ContainerRecord]:
        """Containers of a sandbox, in order of creation."""
        return [container for container in self.containers.values() if container.sandbox_id == sandbox_id]

    def by_name(self, name: str) -> list[ContainerRecord]:
        """Containers of that name in any pod, in order of creation."""
        return [container for container in self.containers.values() if container.config.metadata.name == name]

    def exit(self, container_id: str, code: int, reason: str = "") -> None:
        """Lets a container's process end now, as if by itself."""
        self._end(self.containers[container_id], code, reason)

    def reboot(self) -> None:
        """What a power cut leaves behind: records, and nothing that runs."""
        for container in self.containers.values():
            if container.state == cri.CONTAINER_RUNNING:
                container.state = cri.CONTAINER_EXITED
                container.finished_at = self._stamp()
                container.exit_code = 255
                container.reason = "Unknown"
        for sandbox in self.sandboxes.values():
            sandbox.ready = False
        self._wake()

    # Inside.

    def _stamp(self) -> int:
        return int(self.clock.now() * 1e9)

    def _new_id(self) -> str:
        return f"{self._random.getrandbits(256):064x}"

    def _new_address(self) -> str:
        self._addresses += 1
        return f"10.42.{self._addresses // 250}.{self._addresses % 250 + 2}"

    def _absent(self, kind: str, identity: str, step: str) -> CriError:
        cause = f'an error occurred when try to find {kind} "{identity}": not found'
        return error_for("NotFound", step, f"{kind} {identity}", cause)

    def _sandbox(self, sandbox_id: str, step: str) -> SandboxRecord:
        sandbox = self.sandboxes.get(sandbox_id)
        if sandbox is None:
            raise self._absent("sandbox", sandbox_id, step)
        return sandbox

    def _container(self, container_id: str, step: str) -> ContainerRecord:
        container = self.containers.get(container_id)
        if container is None:
            raise self._absent("container", container_id, step)
        return container

    def _exit_by_itself(self, container: ContainerRecord, run: int) -> None:
        if container.run == run:
            self._end(container, container.program.exit_code, container.program.reason)

    def _end(self, container: ContainerRecord, code: int, reason: str = "") -> None:
        if container.state != cri.CONTAINER_RUNNING:
            return
        container.state = cri.CONTAINER_EXITED
        container.finished_at = self._stamp()
        container.exit_code = code
        container.reason = reason or ("Completed" if code == 0 else "Error")
        self._say(cri.CONTAINER_STOPPED_EVENT, container.id, self.sandboxes[container.sandbox_id])
        self._wake()

    def _forget(self, container: ContainerRecord) -> None:
        del self.containers[container.id]
        self._say(cri.CONTAINER_DELETED_EVENT, container.id, self.sandboxes[container.sandbox_id])
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait_for_end(self, container: ContainerRecord, seconds: float) -> None:
        """Returns when the container has ended, or after that time."""
        try:
            async with self.clock.timeout(seconds):
                while container.state == cri.CONTAINER_RUNNING:
                    await self._changed.wait()
        except TimeoutError:
            return

    def _say(self, kind: cri.ContainerEventType, identity: str, sandbox: SandboxRecord) -> None:
        if self.lies.silent:
            return
        for queue in self._listeners:
            queue.put_nowait(
                cri.ContainerEventResponse(
                    container_id=identity,
                    container_event_type=kind,
                    created_at=self._stamp(),
                    pod_sandbox_status=sandbox.status(),
                    containers_statuses=[container.status() for container in self.in_sandbox(sandbox.id)],
                )
            )
