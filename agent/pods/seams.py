"""The outside world as pods need it: one protocol per neighbour.

Workers are handed objects that fit these and never import the rooms behind them, so that the whole agent runs with
doubles. Every call ends within a deadline of its own (raising), and every error names the object, the step and the
cause.

::

    Runtime    CRI, by way of agent.runtime          raises cri.errors.CriError and its kin
    Images     agent.images                          raises StartError (agent.images' ImagePullError is one)
    Volumes    agent.volumes                         raises VolumeError
    Cgroups    agent.resources                       raises OSError
    Probes     agent.probes
    Recorder   client.EventRecorder
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.pods.observed import ObservedContainer, ObservedPod
from api import core_v1 as core
from api.pods import AnyContainer


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command in a container ended."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True, slots=True)
class RuntimeEvent:
    """Something happened to a container or sandbox: only a hint, whoever hears of it looks for himself.

    Without an id it says that events may have been missed and everything is to be looked at.
    """

    id: str = ""


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Who the runtime is and what it says of its health (CRI Version and Status)."""

    name: str
    version: str
    ready: bool
    message: str = ""
    network_ready: bool = True
    network_reason: str = ""
    network_message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerRequest:
    """All that creating one container needs."""

    pod: core.Pod
    container: AnyContainer
    attempt: int
    sandbox_id: str
    sandbox_attempt: int
    image_ref: str
    volumes: Mapping[str, Any]
    """Volume name → agent.volumes' HostVolume."""
    pod_ips: tuple[str, ...]
    target_container_id: str = ""
    """For an ephemeral container: whose process namespace it shares."""


class StartError(Exception):
    """A container could not be brought up. `reason` is what the API shows as the waiting reason, `message` its
    message.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}" if message else reason)
        self.reason = reason
        self.message = message


class VolumeError(Exception):
    """A pod's volumes are not as they should be: a message for each that is not, to be told as an event of its own.

    `reason` is the events' (FailedMount, FailedAttachVolume …).
    """

    def __init__(self, *messages: str, reason: str = "FailedMount") -> None:
        super().__init__("; ".join(messages))
        self.messages = messages
        self.reason = reason


class Runtime(Protocol):
    """The container runtime, in terms of pods. `name` ("containerd") is the scheme of the container IDs the API
    shows.
    """

    name: str

    async def list_pods(self) -> Mapping[str, ObservedPod]:
        """Every pod the runtime has of ours, by UID, from two list calls: states are right, details of containers may
        be missing.
        """

    async def observe(self, uid: str) -> ObservedPod:
        """One pod in full."""

    async def create_sandbox(self, pod: core.Pod, attempt: int) -> str:
        """Run a sandbox, network included; returns its id."""

    async def create_container(self, request: ContainerRequest) -> str:
        """Create, do not start. Raises StartError (CreateContainerConfigError, CreateContainerError)."""

    async def start_container(self, container_id: str) -> None: ...

    async def stop_container(self, container_id: str, grace: float) -> None:
        """Stop signal, then kill after `grace` seconds. Returns once the runtime says it is dead; not found is
        success.
        """

    async def remove_container(self, container_id: str) -> None:
        """Forget a dead container and remove its log; not found is success."""

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Tear down the network and kill what is left; not found is success."""

    async def remove_sandbox(self, sandbox_id: str) -> None: ...

    async def remove_pod_logs(self, pod: core.Pod) -> None:
        """Remove the pod's log folder, once no container of it is left."""

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout: float) -> ExecResult:
        """Run a command in a container. Raises TimeoutError when it takes longer than `timeout` seconds."""

    async def info(self) -> RuntimeInfo: ...

    def events(self) -> AsyncIterator[RuntimeEvent]:
        """Events until the connection breaks; the caller asks again."""


class Images(Protocol):
    """Where images come from."""

    async def ensure(
        self, pod: core.Pod, container: AnyContainer, image: str, policy: str, pull_secrets: Sequence[core.Secret]
    ) -> str:
        """Have the image here; returns the reference to create a container from. Raises StartError."""


class Volumes(Protocol):
    """What a pod mounts."""

    async def mount(self, pod: core.Pod) -> Mapping[str, Any]:
        """Bring every volume of the pod up; volume name → HostVolume. Idempotent. Raises VolumeError with upstream's
        event texts. What is up stays of use though its objects cannot be had any more: that is told by `refresh`.
        """

    async def refresh(self, pod: core.Pod) -> None:
        """Bring the files of running volumes up to date with their objects, each that can be. Raises VolumeError."""

    async def unmount(self, uid: str) -> None:
        """Take all volumes of the pod down and remove its folder; idempotent, never across a live mount."""

    async def orphans(self) -> Sequence[str]:
        """UIDs of which something is on disk."""

    async def pull_secrets(self, pod: core.Pod) -> Sequence[core.Secret]:
        """The pod's image pull secrets, those that exist."""


class Cgroups(Protocol):
    """Pod-level cgroups."""

    async def ensure_pod(self, pod: core.Pod) -> None: ...

    async def remove_pod(self, uid: str) -> None:
        """Remove the pod's cgroup, killing what is left in it; idempotent."""

    async def pods(self) -> Sequence[str]:
        """UIDs that have a cgroup."""

    async def update_classes(self, pods: Iterable[core.Pod]) -> None:
        """Share the processor between the QoS classes by what these pods request."""


class Probes(Protocol):
    """What the probes know."""

    def add_pod(self, pod: core.Pod) -> None:
        """Start probing the pod's containers; idempotent."""

    def observe(self, pod: core.Pod, observed: ObservedPod) -> None:
        """Tell which containers run now, and at which addresses."""

    def stop_liveness_and_startup(self, uid: str) -> None:
        """The pod is going down: nothing is to be restarted any more; readiness goes on."""

    def remove_pod(self, uid: str) -> None: ...

    def started(self, pod: core.Pod, container: AnyContainer, observed: ObservedContainer) -> bool:
        """Whether a running container has started: no startup probe, or it has succeeded."""

    def ready(self, pod: core.Pod, container: AnyContainer, observed: ObservedContainer) -> bool:
        """Whether a running, started container is ready: no readiness probe, or it has succeeded."""

    def failed(self, pod: core.Pod, container: AnyContainer, observed: ObservedContainer) -> str:
        """Why the container is to be killed: "liveness", "startup", or "" when it is not."""


class Recorder(Protocol):
    """Where events go."""

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None: ...
