"""The whole agent over a real containerd, with the API server's double: what its users see of their pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.agent import Agent, Neighbours
from agent.config import AgentConfig
from agent.images.puller import ImagePuller
from agent.node.machine import read_machine
from agent.recorder import PodRecorder
from agent.resources.cgroups import PodCgroups, machine_tree
from agent.resources.kernel import look_up
from agent.runtime.dns import DnsSettings
from agent.runtime.executor import PodRuntime, Surroundings
from agent.runtime.facts import NodeFacts, Places
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import from_builtins
from api.quantity import Quantity
from client.clock import SystemClock
from client.events import EventRecorder
from client.fake import FakeApiServer
from cri.client import RuntimeClient
from tests.node.containerd import TOOLBOX, Containerd

pytestmark = pytest.mark.node

NODE = "here"
SECONDS = 60.0


class NoVolumes:
    """Pods without volumes."""

    async def mount(self, pod: core.Pod) -> Mapping[str, Any]:
        return {}

    async def refresh(self, pod: core.Pod) -> None:
        """Nothing to refresh."""

    async def unmount(self, uid: str) -> None:
        """Nothing was mounted."""

    async def orphans(self) -> Sequence[str]:
        return []

    async def pull_secrets(self, pod: core.Pod) -> Sequence[core.Secret]:
        return []


class NoObjects:
    async def config_map(self, namespace: str, name: str) -> core.ConfigMap | None:
        return None

    async def secret(self, namespace: str, name: str) -> core.Secret | None:
        return None


async def no_handler(pod: core.Pod) -> str:
    return ""


class RealNode:
    """An agent on the session's containerd."""

    def __init__(self, client: RuntimeClient, containerd: Containerd, folder: Path) -> None:
        self.server = FakeApiServer(clock=SystemClock())
        self.user = self.server.client()
        self.client = client
        self._containerd = containerd
        self._folder = folder
        self._task: asyncio.Task[None] | None = None
        self.agent: Agent | None = None
        kernel = look_up()
        self.cgroups = PodCgroups(machine_tree(kernel), kernel, SystemClock(), root=(containerd.prefix, "kubepods"))

    async def start(self) -> None:
        (self._folder / "agent").mkdir(exist_ok=True)
        clock, kernel = SystemClock(), look_up()
        sink = EventRecorder(self.server.client(), "kubelet", NODE)
        recorder = PodRecorder(sink)
        facts = NodeFacts(name=NODE, ips=("192.0.2.1",), allocatable={"cpu": Quantity(2)}, kernel=kernel)
        runtime = PodRuntime(
            self.client,
            "containerd",
            Surroundings(
                facts=lambda: facts,
                places=Places(root=self._folder / "agent", pod_logs=self._folder / "logs"),
                dns=lambda: DnsSettings(cluster_servers=("10.43.0.10",)),
                cgroup_parent=self.cgroups.parent_of,
                objects=NoObjects(),
                services=list,
                runtime_handler=no_handler,
                recorder=recorder,
                clock=clock,
            ),
        )
        await self.cgroups.start({"cpu": Quantity(2), "memory": Quantity("2Gi")})
        neighbours = Neighbours(
            client=self.server.client(),
            lease_client=self.server.client(),
            runtime=runtime,
            images=ImagePuller(self.client, recorder, clock),
            volumes=NoVolumes(),
            cgroups=self.cgroups,
            recorder=recorder,
            clock=clock,
        )
        config = AgentConfig(
            node_name=NODE, root=str(self._folder / "agent"), manifests=str(self._folder / "manifests")
        )
        self.agent = Agent(config, ("192.0.2.1",), read_machine(), neighbours)

        async def live(agent: Agent) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(sink.run())
                group.create_task(agent.run())

        self._task = asyncio.create_task(live(self.agent))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def create(self, name: str, *command: str, **fields: Any) -> core.Pod:
        spec: dict[str, Any] = fields.pop("spec", {})
        container = {
            "name": "app",
            "image": TOOLBOX,
            "imagePullPolicy": "IfNotPresent",
            "command": list(command or ("sleep", "1000")),
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            **fields,
        }
        data = {"containers": [container], "nodeName": NODE, "terminationGracePeriodSeconds": 1, **spec}
        pod = core.Pod(metadata=meta.ObjectMeta(name=name, namespace="default"))
        pod.spec = from_builtins(data, core.PodSpec)
        return await self.user.create(pod)

    def pod(self, name: str) -> core.Pod | None:
        return next((one for one in self.server.list(core.Pod).items if one.metadata.name == name), None)

    async def until(self, what: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not what():
                assert self._task is None or not self._task.done(), self._task
                await asyncio.sleep(0.02)

    async def left(self, sandboxes: int) -> None:
        """Wait until the runtime has so many sandboxes, and each a cgroup."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = len(await self.client.list_pod_sandbox()), len(await self.cgroups.pods())
                if found == (sandboxes, sandboxes):
                    return
                await asyncio.sleep(0.05)

    def ready(self, name: str) -> bool:
        pod = self.pod(name)
        return pod is not None and any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)

    def phase(self, name: str) -> str:
        pod = self.pod(name)
        return pod.status.phase if pod is not None else ""

    def status(self, name: str) -> core.ContainerStatus:
        pod = self.pod(name)
        assert pod is not None
        return pod.status.container_statuses[0]

    def events(self, name: str) -> list[tuple[str, str]]:
        return [
            (one.reason, one.message) for one in self.server.list(core.Event).items if one.involved_object.name == name
        ]


@pytest.fixture
async def node(runtime: RuntimeClient, containerd: Containerd, tmp_path: Path) -> AsyncIterator[RealNode]:
    made = RealNode(runtime, containerd, tmp_path)
    await made.start()
    yield made
    for pod in made.server.list(core.Pod).items:
        await made.user.delete(core.Pod, pod.metadata.name, "default", grace_period=1)
    await made.until(lambda: not made.server.list(core.Pod).items)
    await made.left(0)
    await made.stop()


async def test_a_pod_comes_up_answers_and_leaves_nothing(node: RealNode) -> None:
    await node.create("web")
    await node.until(lambda: node.ready("web"))
    status = node.status("web")
    assert status.container_id.startswith("containerd://") and status.image_id
    pod = node.pod("web")
    assert pod is not None and pod.status.pod_ip
    await node.user.delete(core.Pod, "web", "default")
    await node.until(lambda: node.pod("web") is None)
    await node.left(0)
    assert not (node._folder / "logs").exists() or not list((node._folder / "logs").iterdir())
    assert [reason for reason, _ in node.events("web")] == ["Pulled", "Created", "Started", "Killing"]


async def test_a_container_that_fails_tells_its_last_words_and_backs_off(node: RealNode) -> None:
    await node.create("bad", "sh", "-c", "echo goodbye > /dev/termination-log; exit 3")
    await node.until(lambda: bool((pod := node.pod("bad")) and pod.status.container_statuses) and _waits(node, "bad"))
    status = node.status("bad")
    assert status.state.waiting is not None
    assert status.state.waiting.message.startswith("back-off 10s restarting failed container=app pod=bad_default(")
    ended = status.last_state.terminated
    assert ended is not None and (ended.exit_code, ended.reason, ended.message) == (3, "Error", "goodbye\n")
    assert status.restart_count == 1


def _waits(node: RealNode, name: str) -> bool:
    waiting = node.status(name).state.waiting
    return waiting is not None and waiting.reason == "CrashLoopBackOff"


async def test_init_containers_and_sidecars_come_before_the_app(node: RealNode) -> None:
    def small(name: str, *command: str, **fields: Any) -> dict[str, Any]:
        return {"name": name, "image": TOOLBOX, "imagePullPolicy": "Never", "command": list(command), **fields}

    await node.create(
        "web",
        spec={
            "initContainers": [
                small("first", "true"),
                small(
                    "side",
                    "sleep",
                    "1000",
                    restartPolicy="Always",
                    startupProbe={"exec": {"command": ["true"]}, "periodSeconds": 1, "timeoutSeconds": 5},
                ),
            ]
        },
    )
    await node.until(lambda: node.ready("web"))
    pod = node.pod("web")
    assert pod is not None
    first, side = pod.status.init_container_statuses
    assert first.state.terminated is not None and first.state.terminated.reason == "Completed" and first.ready
    assert side.state.running is not None and side.started and side.ready


async def test_probes_decide_about_readiness_and_restarts(node: RealNode) -> None:
    await node.create(
        "web",
        "sh",
        "-c",
        "touch /tmp/alive; sleep 1000",
        readinessProbe={"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1, "timeoutSeconds": 5},
        livenessProbe={
            "exec": {"command": ["test", "-e", "/tmp/alive"]},
            "periodSeconds": 1,
            "timeoutSeconds": 5,
            "failureThreshold": 1,
        },
    )
    await node.until(lambda: node.phase("web") == "Running")
    assert not node.ready("web")
    container = node.status("web").container_id.removeprefix("containerd://")
    await node.client.exec_sync(container, ["touch", "/tmp/ready"], 10)
    await node.until(lambda: node.ready("web"))
    await node.client.exec_sync(container, ["rm", "/tmp/alive"], 10)
    await node.until(lambda: node.status("web").restart_count == 1)
    assert ("Killing", "Container app failed liveness probe, will be restarted") in node.events("web")


async def test_hooks_run_after_the_start_and_before_the_stop(node: RealNode) -> None:
    await node.create(
        "web",
        "sh",
        "-c",
        "while [ ! -e /tmp/started ]; do sleep 0.1; done; sleep 1000",
        lifecycle={
            "postStart": {"exec": {"command": ["touch", "/tmp/started"]}},
            "preStop": {"exec": {"command": ["sh", "-c", "echo stopping > /dev/termination-log"]}},
        },
        spec={"terminationGracePeriodSeconds": 5, "restartPolicy": "Never"},
    )
    await node.until(lambda: node.ready("web"))
    seen: list[str] = []

    def message() -> bool:
        pod = node.pod("web")
        if pod is None:
            return True
        ended = pod.status.container_statuses[0].state.terminated
        if ended is not None:
            seen.append(ended.message)
        return False

    await node.user.patch(core.Pod, "web", {"metadata": {"finalizers": ["example.com/keep"]}}, "default")
    await node.user.delete(core.Pod, "web", "default")
    await node.until(lambda: message() or bool(seen))
    assert seen[0] == "stopping\n"
    await node.user.patch(core.Pod, "web", {"metadata": {"finalizers": None}}, "default")
    await node.until(lambda: node.pod("web") is None)


async def test_a_postart_hook_that_fails_kills_its_container(node: RealNode) -> None:
    await node.create("web", lifecycle={"postStart": {"exec": {"command": ["false"]}}})
    await node.until(lambda: ("FailedPostStartHook", "PostStartHook failed") in node.events("web"))
    await node.until(lambda: ("Killing", "FailedPostStartHook") in node.events("web"))


async def test_restarting_the_agent_leaves_containers_alone_and_cleans_up_what_was_deleted(node: RealNode) -> None:
    await node.create("kept")
    await node.create("gone")
    await node.until(lambda: node.ready("kept") and node.ready("gone"))
    before = node.status("kept").container_id
    await node.stop()
    await node.user.delete(core.Pod, "gone", "default", grace_period=0)
    await node.start()
    await node.left(1)
    await node.until(lambda: node.ready("kept"))
    assert node.status("kept").container_id == before and node.status("kept").restart_count == 0


async def test_an_out_of_memory_kill_is_called_by_its_name(node: RealNode) -> None:
    await node.create(
        "greedy",
        "sh",
        "-c",
        "dd if=/dev/zero of=/dev/null bs=200M count=5",
        resources={"limits": {"memory": "32Mi", "cpu": "1"}, "requests": {"memory": "32Mi", "cpu": "10m"}},
        spec={"restartPolicy": "Never"},
    )
    await node.until(lambda: node.phase("greedy") == "Failed")
    ended = node.status("greedy").state.terminated
    assert ended is not None and ended.reason == "OOMKilled" and ended.exit_code == 137


async def test_a_static_pod_runs_without_the_api_servers_leave(node: RealNode) -> None:
    manifests = node._folder / "manifests"
    manifests.mkdir()
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: static}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{{name: app, image: "{TOOLBOX}", imagePullPolicy: Never, command: [sleep, "1000"]}}]
"""
    await node.stop()
    await node.start()
    (manifests / "static.yaml").write_text(text)
    await node.until(lambda: node.ready(f"static-{NODE}"))
    (manifests / "static.yaml").unlink()
    await node.until(lambda: node.pod(f"static-{NODE}") is None)
