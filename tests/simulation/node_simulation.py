"""A node in a box: the whole agent over doubles of everything around it, in simulated time.

The runtime, the API server and the clock are the doubles their rooms ship; volumes, cgroups and images are the least
that pods need. Nothing touches network or threads, so an hour of the node's life takes a moment, the same each time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, cast

from agent.agent import Agent, Neighbours
from agent.config import AgentConfig
from agent.node.machine import Machine
from agent.pods.seams import ContainerRequest, StartError, VolumeError
from agent.recorder import PodRecorder
from agent.runtime.executor import PodRuntime
from agent.runtime.labels import container_annotations, container_labels, sandbox_labels
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import from_builtins
from api.pods import AnyContainer
from client.clock import FakeClock
from client.events import EventRecorder
from client.fake import FakeApiServer, FakeClient
from cri.fake import FakeRuntime
from proto import cri_pb2 as cri

P = ParamSpec("P")
T = TypeVar("T")

NODE = "node"
MACHINE = Machine(
    cpus=4, memory_kib=8 * 1024 * 1024, swap_bytes=0, machine_id="m", system_uuid="s", boot_id="b", kernel_version="6.1"
)


class NoThreads(ThreadPoolExecutor):
    """Does at once what is handed to a thread: the clock cannot see that a thread is busy, and would jump meanwhile."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        done.set_result(work(*args, **kwargs))
        return done


class SimulatedPodRuntime(PodRuntime):
    """The agent's own runtime code, without what it puts on disk; watches for two live sandboxes of one pod."""

    def __init__(self, fake: FakeRuntime) -> None:
        super().__init__(fake, "fake", cast(Any, SimpleNamespace(clock=fake.service.clock)))
        self._fake = fake
        self.violations: list[str] = []

    async def create_sandbox(self, pod: core.Pod, attempt: int) -> str:
        data = pod.metadata
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=data.name, namespace=data.namespace, uid=data.uid, attempt=attempt),
            labels=sandbox_labels(pod),
        )
        if pod.spec.host_network:
            config.linux.security_context.namespace_options.network = cri.NODE
        sandbox_id = await self._fake.run_pod_sandbox(config)
        live = [one for one in self._fake.sandboxes.values() if one.config.metadata.uid == data.uid and one.ready]
        if len(live) > 1:
            self.violations.append(f"{len(live)} live sandboxes of pod {data.name} uid={data.uid}")
        return sandbox_id

    async def create_container(self, request: ContainerRequest) -> str:
        pod, container = request.pod, request.container
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=container.name, attempt=request.attempt),
            image=cri.ImageSpec(image=request.image_ref, user_specified_image=container.image),
            labels=container_labels(pod, container),
            annotations=container_annotations(pod, container, request.attempt),
        )
        container_id = await self._fake.create_container(request.sandbox_id, config, cri.PodSandboxConfig())
        alive = [
            one
            for one in self._fake.containers.values()
            if one.state == cri.CONTAINER_RUNNING
            and one.config.labels == config.labels
            and one.config.metadata.name == container.name
        ]
        if alive:
            self.violations.append(f"container {container.name} of {pod.metadata.name} made while another runs")
        return container_id

    async def remove_pod_logs(self, pod: core.Pod) -> None:
        """There are none."""


class SimulatedImages:
    """Every image is here, unless it is named missing."""

    def __init__(self, fake: FakeRuntime) -> None:
        self._fake = fake
        self.missing: set[str] = set()

    async def ensure(
        self, pod: core.Pod, container: AnyContainer, image: str, policy: str, pull_secrets: Sequence[core.Secret]
    ) -> str:
        if image in self.missing:
            raise StartError("ErrImagePull", f'failed to pull image "{image}": not found')
        if self._fake.images.find(image) is None:
            self._fake.images.add(image)
        return image


@dataclass
class SimulatedVolumes:
    """Which pods have something mounted; `broken` ones cannot be mounted, `stuck` ones not unmounted."""

    mounted: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)

    async def mount(self, pod: core.Pod) -> Mapping[str, Any]:
        if pod.metadata.name in self.hanging:
            await asyncio.Event().wait()
        if pod.metadata.name in self.broken:
            told = (f'MountVolume.SetUp failed for volume "{volume}" : {pod.metadata.name}' for volume in "vw")
            raise VolumeError(*told)
        self.mounted.add(pod.metadata.uid)
        return {}

    async def refresh(self, pod: core.Pod) -> None:
        """Nothing in them changes."""

    async def unmount(self, uid: str) -> None:
        if uid in self.stuck:
            raise VolumeError("UnmountVolume.TearDown failed: device is busy")
        self.mounted.discard(uid)

    async def orphans(self) -> Sequence[str]:
        return sorted(self.mounted)

    async def pull_secrets(self, pod: core.Pod) -> Sequence[core.Secret]:
        return []


@dataclass
class SimulatedCgroups:
    made: set[str] = field(default_factory=set)

    async def ensure_pod(self, pod: core.Pod) -> None:
        self.made.add(pod.metadata.uid)

    async def remove_pod(self, uid: str) -> None:
        self.made.discard(uid)

    async def pods(self) -> Sequence[str]:
        return sorted(self.made)

    async def update_classes(self, pods: Iterable[core.Pod]) -> None:
        """All have the same."""


class Simulation:
    """One node, its control plane, and those who meddle with either. Use as an async context manager."""

    def __init__(self, seed: int = 0, *, root: str = "/tmp", manifests: str = "", threshold: float = 0.0) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.clock = FakeClock(threshold=threshold)
        self.server = FakeApiServer(clock=self.clock, seed=seed)
        self.user: FakeClient = self.server.client()
        self.fake = FakeRuntime(self.clock, seed=seed)
        self.runtime = SimulatedPodRuntime(self.fake)
        self.images = SimulatedImages(self.fake)
        self.volumes = SimulatedVolumes()
        self.cgroups = SimulatedCgroups()
        self.config = AgentConfig(node_name=NODE, root=root, manifests=manifests, cni_config_dir="")
        self.agent_client: FakeClient = self.server.client()
        self.agent: Agent | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Simulation:
        asyncio.get_running_loop().set_default_executor(NoThreads())
        await self.start_agent()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop_agent()

    # The agent

    async def start_agent(self) -> None:
        self.agent_client = self.server.client()
        sink = EventRecorder(self.agent_client, "kubelet", NODE, clock=self.clock, rng=random.Random(self.seed))
        neighbours = Neighbours(
            client=self.agent_client,
            lease_client=self.server.client(),
            runtime=self.runtime,
            images=self.images,
            volumes=self.volumes,
            cgroups=self.cgroups,
            recorder=PodRecorder(sink),
            clock=self.clock,
            rng=random.Random(self.seed + 1),
        )
        self.agent = Agent(self.config, ("192.0.2.10",), MACHINE, neighbours)

        async def live(agent: Agent) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(sink.run())
                group.create_task(agent.run())

        self._task = asyncio.create_task(live(self.agent))

    async def stop_agent(self) -> None:
        """The agent dies, wherever it stands."""
        if self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return

    async def restart_agent(self) -> None:
        await self.stop_agent()
        await self.start_agent()

    # The user

    async def create(self, name: str, *containers: str, **spec: Any) -> core.Pod:
        """A pod bound to the node, of containers named `app` unless others are given."""
        data = {
            "containers": [
                {"name": one, "image": "img", "terminationMessagePath": ""} for one in containers or ("app",)
            ],
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 10,
            **spec,
        }
        pod = core.Pod(metadata=meta.ObjectMeta(name=name, namespace="default"))
        pod.spec = from_builtins(data, core.PodSpec)
        return await self.user.create(pod)

    async def delete(self, name: str, grace: int | None = None) -> None:
        await self.user.delete(core.Pod, name, "default", grace_period=grace)

    def pod(self, name: str, namespace: str = "default") -> core.Pod | None:
        """The API's word on a pod."""
        for one in self.pods():
            if (one.metadata.namespace, one.metadata.name) == (namespace, name):
                return one
        return None

    def pods(self) -> list[core.Pod]:
        return self.server.list(core.Pod).items

    def node(self) -> core.Node:
        return self.server.get(core.Node, NODE)

    def events(self, name: str = "") -> list[tuple[str, str]]:
        """(reason, message) of every event about an object."""
        return [
            (one.reason, one.message)
            for one in self.server.list(core.Event).items
            if name in ("", one.involved_object.name)
        ]

    # The runtime

    def containers(self, pod: str = "", *, running: bool | None = None) -> list[Any]:
        """Records of containers, of one pod if it is named."""
        found = []
        for one in self.fake.containers.values():
            sandbox = self.fake.sandboxes.get(one.sandbox_id)
            if pod and (sandbox is None or sandbox.config.metadata.name != pod):
                continue
            if running is None or (one.state == cri.CONTAINER_RUNNING) == running:
                found.append(one)
        return found

    # Waiting

    async def until(self, what: Any, limit: float = 600.0) -> None:
        """Let simulated time pass until `what()` holds; fails after `limit` simulated seconds."""
        deadline = self.clock.monotonic() + limit
        while not what():
            assert self._task is None or not self._task.done(), f"the agent died: {self._task}"
            assert self.clock.monotonic() < deadline, f"did not come about in {limit} s: {what} seed={self.seed}"
            await self.clock.sleep(0.25)

    async def wait(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        assert self._task is None or not self._task.done(), f"the agent died: {self._task}"

    def is_ready(self, name: str) -> bool:
        pod = self.pod(name)
        return pod is not None and any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)

    def is_gone(self, name: str) -> bool:
        return self.pod(name) is None
