"""Calls to a container runtime, one method per RPC of CRI v1.

Each call has a deadline by its class (`Deadlines`) and fails with a `cri.errors.CriError` that names the step, the
object and the runtime's words. Nothing is retried and nothing is remembered here: what a failure means is the caller's
to know. Messages go in and out as `proto.cri_pb2` has them; where a reply is a wrapper around one thing, the thing is
returned.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from cri.clock import Clock, MachineClock
from cri.events import ContainerEvent, follow
from cri.transport import Call, GrpcTransport, Replies, Transport
from proto import cri_pb2 as cri

R = TypeVar("R", bound=Message)

RUNTIME_SERVICE = "runtime.v1.RuntimeService"
IMAGE_SERVICE = "runtime.v1.ImageService"


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long each class of call may take, in seconds."""

    call: float = 120.0
    """Anything that only looks or makes a small change (upstream's runtime-request-timeout)."""
    run_sandbox: float = 240.0
    """Starting a sandbox includes its network, and the plugins may wait for others."""
    slack: float = 120.0
    """What stopping a container or running a command may take beyond the time it was granted."""
    remove_image: float = 240.0
    """Unpacked layers are deleted file by file."""
    pull: float = 86400.0
    """A pull as a whole: an outer bound only, since a slow registry is not a dead one."""


class RuntimeClient:
    """A runtime's RuntimeService and ImageService."""

    def __init__(
        self, endpoint: str | Transport, deadlines: Deadlines | None = None, clock: Clock | None = None
    ) -> None:
        """`endpoint` is a socket (`unix:///run/containerd/containerd.sock`) or a transport of one's own."""
        self.transport: Transport = GrpcTransport(endpoint) if isinstance(endpoint, str) else endpoint
        self.deadlines = deadlines or Deadlines()
        self.clock: Clock = clock or MachineClock()

    async def close(self) -> None:
        """Ends the connection."""
        await self.transport.close()

    # The runtime.

    async def version(self) -> cri.VersionResponse:
        return await self._runtime("Version", "ask for the version", "", cri.VersionRequest(), cri.VersionResponse)

    async def status(self, *, verbose: bool = False) -> cri.StatusResponse:
        """Conditions, handlers and features; `verbose` adds the runtime's configuration as JSON texts by name."""
        request = cri.StatusRequest(verbose=verbose)
        return await self._runtime("Status", "ask for the status", "", request, cri.StatusResponse)

    async def runtime_config(self) -> cri.RuntimeConfigResponse:
        """The cgroup driver in use. UNIMPLEMENTED before containerd 2.0: see `cri.probing.cgroup_driver`."""
        return await self._runtime(
            "RuntimeConfig", "ask for the configuration", "", cri.RuntimeConfigRequest(), cri.RuntimeConfigResponse
        )

    async def update_runtime_config(self, pod_cidr: str) -> None:
        """Tells the runtime the node's pod network, which it may template into its CNI configuration."""
        config = cri.RuntimeConfig(network_config=cri.NetworkConfig(pod_cidr=pod_cidr))
        request = cri.UpdateRuntimeConfigRequest(runtime_config=config)
        await self._runtime(
            "UpdateRuntimeConfig", "update the configuration", "", request, cri.UpdateRuntimeConfigResponse
        )

    # Sandboxes.

    async def run_pod_sandbox(self, config: cri.PodSandboxConfig, runtime_handler: str = "") -> str:
        """Creates and starts a sandbox, network included, and returns its id."""
        request = cri.RunPodSandboxRequest(config=config, runtime_handler=runtime_handler)
        target = f"pod {config.metadata.namespace}/{config.metadata.name}"
        reply = await self._runtime(
            "RunPodSandbox", "run sandbox", target, request, cri.RunPodSandboxResponse, self.deadlines.run_sandbox
        )
        return reply.pod_sandbox_id

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        """Kills what is left in it and takes its network down. Idempotent."""
        request = cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        await self._runtime(
            "StopPodSandbox", "stop sandbox", f"sandbox {sandbox_id}", request, cri.StopPodSandboxResponse
        )

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        """Removes the sandbox and any containers in it. Idempotent."""
        request = cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        await self._runtime(
            "RemovePodSandbox", "remove sandbox", f"sandbox {sandbox_id}", request, cri.RemovePodSandboxResponse
        )

    async def pod_sandbox_status(self, sandbox_id: str, *, verbose: bool = False) -> cri.PodSandboxStatusResponse:
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=verbose)
        return await self._runtime(
            "PodSandboxStatus", "ask for status", f"sandbox {sandbox_id}", request, cri.PodSandboxStatusResponse
        )

    async def list_pod_sandbox(
        self,
        *,
        sandbox_id: str = "",
        state: cri.PodSandboxState | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[cri.PodSandbox]:
        """Sandboxes by any of id, state and labels (all must match)."""
        request = cri.ListPodSandboxRequest(filter=_sandbox_filter(sandbox_id, state, labels))
        reply = await self._runtime("ListPodSandbox", "list sandboxes", "", request, cri.ListPodSandboxResponse)
        return list(reply.items)

    async def stream_pod_sandboxes(self) -> AsyncIterator[cri.PodSandbox]:
        """All sandboxes, in as many messages as the runtime likes (CRI of 1.36)."""
        call = Call(RUNTIME_SERVICE, "StreamPodSandboxes", "list sandboxes")
        async for part in self._parts(call, cri.StreamPodSandboxesRequest(), cri.StreamPodSandboxesResponse):
            for sandbox in part.pod_sandboxes:
                yield sandbox

    async def update_pod_sandbox_resources(
        self, sandbox_id: str, *, overhead: cri.LinuxContainerResources, resources: cri.LinuxContainerResources
    ) -> None:
        """Tells the runtime that the pod's cgroup was changed."""
        request = cri.UpdatePodSandboxResourcesRequest(
            pod_sandbox_id=sandbox_id, overhead=overhead, resources=resources
        )
        await self._runtime(
            "UpdatePodSandboxResources",
            "update resources",
            f"sandbox {sandbox_id}",
            request,
            cri.UpdatePodSandboxResourcesResponse,
        )

    # Containers.

    async def create_container(
        self, sandbox_id: str, config: cri.ContainerConfig, sandbox_config: cri.PodSandboxConfig
    ) -> str:
        """Creates a container in a running sandbox and returns its id; it does not run yet."""
        request = cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox_config)
        target = f"container {config.metadata.name}"
        reply = await self._runtime("CreateContainer", "create container", target, request, cri.CreateContainerResponse)
        return reply.container_id

    async def start_container(self, container_id: str) -> None:
        request = cri.StartContainerRequest(container_id=container_id)
        await self._runtime(
            "StartContainer", "start container", f"container {container_id}", request, cri.StartContainerResponse
        )

    async def stop_container(self, container_id: str, grace: int) -> None:
        """Sends the stop signal, and SIGKILL after `grace` seconds (0: at once); returns when it is dead.

        A container that is not running is a success, one that is not there a `NotFound`.
        """
        request = cri.StopContainerRequest(container_id=container_id, timeout=grace)
        await self._runtime(
            "StopContainer",
            "stop container",
            f"container {container_id}",
            request,
            cri.StopContainerResponse,
            grace + self.deadlines.slack,
        )

    async def remove_container(self, container_id: str) -> None:
        """Removes a container, by force if it runs. Idempotent."""
        request = cri.RemoveContainerRequest(container_id=container_id)
        await self._runtime(
            "RemoveContainer", "remove container", f"container {container_id}", request, cri.RemoveContainerResponse
        )

    async def container_status(self, container_id: str, *, verbose: bool = False) -> cri.ContainerStatusResponse:
        request = cri.ContainerStatusRequest(container_id=container_id, verbose=verbose)
        return await self._runtime(
            "ContainerStatus", "ask for status", f"container {container_id}", request, cri.ContainerStatusResponse
        )

    async def list_containers(
        self,
        *,
        container_id: str = "",
        sandbox_id: str = "",
        state: cri.ContainerState | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[cri.Container]:
        """Containers by any of id, sandbox, state and labels (all must match)."""
        chosen = cri.ContainerFilter(id=container_id, pod_sandbox_id=sandbox_id, label_selector=labels or {})
        if state is not None:
            chosen.state.state = state
        request = cri.ListContainersRequest(filter=chosen)
        reply = await self._runtime("ListContainers", "list containers", "", request, cri.ListContainersResponse)
        return list(reply.containers)

    async def stream_containers(self) -> AsyncIterator[cri.Container]:
        """All containers, in as many messages as the runtime likes (CRI of 1.36)."""
        call = Call(RUNTIME_SERVICE, "StreamContainers", "list containers")
        async for part in self._parts(call, cri.StreamContainersRequest(), cri.StreamContainersResponse):
            for container in part.containers:
                yield container

    async def update_container_resources(self, container_id: str, resources: cri.LinuxContainerResources) -> None:
        """Changes the limits of a container that exists."""
        request = cri.UpdateContainerResourcesRequest(container_id=container_id, linux=resources)
        await self._runtime(
            "UpdateContainerResources",
            "update resources",
            f"container {container_id}",
            request,
            cri.UpdateContainerResourcesResponse,
        )

    async def reopen_container_log(self, container_id: str) -> None:
        """Makes the runtime write to a fresh file at the log path, after the old one was moved away."""
        request = cri.ReopenContainerLogRequest(container_id=container_id)
        await self._runtime(
            "ReopenContainerLog", "reopen log", f"container {container_id}", request, cri.ReopenContainerLogResponse
        )

    async def checkpoint_container(self, container_id: str, location: str, timeout: int) -> None:
        """Writes a checkpoint archive to `location`; `timeout` is in seconds."""
        request = cri.CheckpointContainerRequest(container_id=container_id, location=location, timeout=timeout)
        await self._runtime(
            "CheckpointContainer",
            "checkpoint container",
            f"container {container_id}",
            request,
            cri.CheckpointContainerResponse,
            timeout + self.deadlines.slack,
        )

    # Into a container.

    async def exec_sync(self, container_id: str, command: Iterable[str], timeout: int) -> cri.ExecSyncResponse:
        """Runs a command to its end; `timeout` is in seconds, after which the runtime kills it (`DeadlineExceeded`).

        A timeout of 0 sets none in the runtime; the call still ends after the slack.
        """
        request = cri.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout)
        return await self._runtime(
            "ExecSync",
            "run command",
            f"container {container_id}",
            request,
            cri.ExecSyncResponse,
            timeout + self.deadlines.slack,
        )

    async def exec(self, request: cri.ExecRequest) -> str:
        """Prepares a streaming exec and returns the URL to connect to."""
        target = f"container {request.container_id}"
        return (await self._runtime("Exec", "prepare exec", target, request, cri.ExecResponse)).url

    async def attach(self, request: cri.AttachRequest) -> str:
        """Prepares an attach and returns the URL to connect to."""
        target = f"container {request.container_id}"
        return (await self._runtime("Attach", "prepare attach", target, request, cri.AttachResponse)).url

    async def port_forward(self, request: cri.PortForwardRequest) -> str:
        """Prepares a port forward and returns the URL to connect to."""
        target = f"sandbox {request.pod_sandbox_id}"
        return (
            await self._runtime("PortForward", "prepare port forward", target, request, cri.PortForwardResponse)
        ).url

    # What happens there.

    async def container_stats(self, container_id: str) -> cri.ContainerStats:
        request = cri.ContainerStatsRequest(container_id=container_id)
        target = f"container {container_id}"
        return (
            await self._runtime("ContainerStats", "ask for statistics", target, request, cri.ContainerStatsResponse)
        ).stats

    async def list_container_stats(self, sandbox_id: str = "") -> list[cri.ContainerStats]:
        request = cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(pod_sandbox_id=sandbox_id))
        reply = await self._runtime(
            "ListContainerStats", "list statistics", "", request, cri.ListContainerStatsResponse
        )
        return list(reply.stats)

    async def stream_container_stats(self) -> AsyncIterator[cri.ContainerStats]:
        """Statistics of all containers, in as many messages as the runtime likes (CRI of 1.36)."""
        call = Call(RUNTIME_SERVICE, "StreamContainerStats", "list statistics")
        async for part in self._parts(call, cri.StreamContainerStatsRequest(), cri.StreamContainerStatsResponse):
            for stats in part.container_stats:
                yield stats

    async def pod_sandbox_stats(self, sandbox_id: str) -> cri.PodSandboxStats:
        request = cri.PodSandboxStatsRequest(pod_sandbox_id=sandbox_id)
        target = f"sandbox {sandbox_id}"
        return (
            await self._runtime("PodSandboxStats", "ask for statistics", target, request, cri.PodSandboxStatsResponse)
        ).stats

    async def list_pod_sandbox_stats(self) -> list[cri.PodSandboxStats]:
        reply = await self._runtime(
            "ListPodSandboxStats",
            "list statistics",
            "",
            cri.ListPodSandboxStatsRequest(),
            cri.ListPodSandboxStatsResponse,
        )
        return list(reply.stats)

    async def stream_pod_sandbox_stats(self) -> AsyncIterator[cri.PodSandboxStats]:
        """Statistics of all sandboxes, in as many messages as the runtime likes (CRI of 1.36)."""
        call = Call(RUNTIME_SERVICE, "StreamPodSandboxStats", "list statistics")
        async for part in self._parts(call, cri.StreamPodSandboxStatsRequest(), cri.StreamPodSandboxStatsResponse):
            for stats in part.pod_sandbox_stats:
                yield stats

    async def list_metric_descriptors(self) -> list[cri.MetricDescriptor]:
        reply = await self._runtime(
            "ListMetricDescriptors",
            "list metrics",
            "",
            cri.ListMetricDescriptorsRequest(),
            cri.ListMetricDescriptorsResponse,
        )
        return list(reply.descriptors)

    async def list_pod_sandbox_metrics(self) -> list[cri.PodSandboxMetrics]:
        reply = await self._runtime(
            "ListPodSandboxMetrics",
            "list metrics",
            "",
            cri.ListPodSandboxMetricsRequest(),
            cri.ListPodSandboxMetricsResponse,
        )
        return list(reply.pod_metrics)

    async def stream_pod_sandbox_metrics(self) -> AsyncIterator[cri.PodSandboxMetrics]:
        """Metrics of all sandboxes, in as many messages as the runtime likes (CRI of 1.36)."""
        call = Call(RUNTIME_SERVICE, "StreamPodSandboxMetrics", "list metrics")
        async for part in self._parts(call, cri.StreamPodSandboxMetricsRequest(), cri.StreamPodSandboxMetricsResponse):
            for metrics in part.pod_sandbox_metrics:
                yield metrics

    def get_container_events(self) -> Replies[cri.ContainerEventResponse]:
        """The runtime's own event stream, without end. UNIMPLEMENTED before containerd 1.7: see `cri.events`."""
        call = Call(RUNTIME_SERVICE, "GetContainerEvents", "follow events")
        return self.transport.stream(call, cri.GetEventsRequest(), cri.ContainerEventResponse, None)

    def events(self) -> AsyncIterator[ContainerEvent]:
        """What happens to containers, from whichever source the runtime has, across its restarts (`cri.events`)."""
        return follow(self.transport, self.clock)

    # Images.

    async def list_images(self) -> list[cri.Image]:
        reply = await self._images("ListImages", "list images", "", cri.ListImagesRequest(), cri.ListImagesResponse)
        return list(reply.images)

    async def stream_images(self) -> AsyncIterator[cri.Image]:
        """All images, in as many messages as the runtime likes (CRI of 1.36)."""
        call = Call(IMAGE_SERVICE, "StreamImages", "list images")
        async for part in self._parts(call, cri.StreamImagesRequest(), cri.StreamImagesResponse):
            for image in part.images:
                yield image

    async def image_status(self, image: cri.ImageSpec) -> cri.Image | None:
        """The image as the runtime has it, or None when it has it not."""
        request = cri.ImageStatusRequest(image=image)
        target = f'image "{image.image}"'
        reply = await self._images("ImageStatus", "ask for status", target, request, cri.ImageStatusResponse)
        return reply.image if reply.HasField("image") and reply.image.id else None

    async def pull_image(
        self,
        image: cri.ImageSpec,
        *,
        auth: cri.AuthConfig | None = None,
        sandbox_config: cri.PodSandboxConfig | None = None,
    ) -> str:
        """Pulls an image and returns the reference to create containers from."""
        request = cri.PullImageRequest(image=image, auth=auth, sandbox_config=sandbox_config)
        target = f'image "{image.image}"'
        reply = await self._images(
            "PullImage", "pull image", target, request, cri.PullImageResponse, self.deadlines.pull
        )
        return reply.image_ref

    async def remove_image(self, image: cri.ImageSpec) -> None:
        """Removes an image with all its tags. Idempotent."""
        request = cri.RemoveImageRequest(image=image)
        target = f'image "{image.image}"'
        await self._images(
            "RemoveImage", "remove image", target, request, cri.RemoveImageResponse, self.deadlines.remove_image
        )

    async def image_fs_info(self) -> cri.ImageFsInfoResponse:
        """Use of the file systems that images and writable layers live on."""
        return await self._images(
            "ImageFsInfo", "ask for file systems", "", cri.ImageFsInfoRequest(), cri.ImageFsInfoResponse
        )

    async def _runtime(
        self, method: str, step: str, target: str, request: Message, reply: type[R], deadline: float | None = None
    ) -> R:
        limit = self.deadlines.call if deadline is None else deadline
        return await self.transport.unary(Call(RUNTIME_SERVICE, method, step, target), request, reply, limit)

    async def _images(
        self, method: str, step: str, target: str, request: Message, reply: type[R], deadline: float | None = None
    ) -> R:
        limit = self.deadlines.call if deadline is None else deadline
        return await self.transport.unary(Call(IMAGE_SERVICE, method, step, target), request, reply, limit)

    def _parts(self, call: Call, request: Message, reply: type[R]) -> Replies[R]:
        return self.transport.stream(call, request, reply, self.deadlines.call)


def _sandbox_filter(
    sandbox_id: str, state: cri.PodSandboxState | None, labels: Mapping[str, str] | None
) -> cri.PodSandboxFilter:
    chosen = cri.PodSandboxFilter(id=sandbox_id, label_selector=labels or {})
    if state is not None:
        chosen.state.state = state
    return chosen
