"""Pods described by us and run by a real containerd: what a process in a container finds there."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.images.errors import ImagePullError
from agent.images.puller import ImagePuller
from agent.pods.observed import ContainerState, ObservedContainer
from agent.pods.seams import ContainerRequest, StartError
from agent.resources.cgroups import PodCgroups, machine_tree
from agent.resources.kernel import look_up
from agent.runtime.dns import DnsSettings
from agent.runtime.executor import PodRuntime, Surroundings
from agent.runtime.facts import NodeFacts, Places
from agent.runtime.mounts import sub_path_folder
from agent.volumes.kernel import LinuxMounts
from agent.volumes.removing import remove_tree, unmount_all
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import from_builtins
from api.quantity import Quantity
from client.clock import SystemClock
from cri.client import RuntimeClient
from tests.node.containerd import TOOLBOX, Containerd

pytestmark = pytest.mark.node

SECONDS = 30.0


@dataclass
class Volume:
    path: str
    read_only: bool = False
    selinux_relabel: bool = True


@dataclass
class Heard:
    events: list[tuple[str, str, str]] = field(default_factory=list)

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.events.append((type_, reason, message))


class NoObjects:
    async def config_map(self, namespace: str, name: str) -> core.ConfigMap | None:
        return core.ConfigMap(data={"greeting": "hello"}) if name == "words" else None

    async def secret(self, namespace: str, name: str) -> core.Secret | None:
        return None


class Node:
    """Our runtime, puller and cgroups over the session's containerd."""

    def __init__(self, client: RuntimeClient, containerd: Containerd, folder: Path) -> None:
        kernel = look_up()
        clock = SystemClock()
        self.heard = Heard()
        self.changed = asyncio.Event()
        self.places = Places(root=folder / "agent", pod_logs=folder / "logs")
        self.cgroups = PodCgroups(machine_tree(kernel), kernel, clock, root=(containerd.prefix, "kubepods"))
        self.images = ImagePuller(client, self.heard, clock)
        facts = NodeFacts(
            name="here", ips=("192.0.2.1",), allocatable={"cpu": Quantity(2), "memory": Quantity("1Gi")}, kernel=kernel
        )
        self.runtime = PodRuntime(
            client,
            "containerd",
            Surroundings(
                facts=lambda: facts,
                places=self.places,
                dns=lambda: DnsSettings(cluster_servers=("10.43.0.10",)),
                cgroup_parent=self.cgroups.parent_of,
                objects=NoObjects(),
                services=list,
                runtime_handler=_no_handler,
                recorder=self.heard,
                clock=clock,
            ),
        )

    async def start(self, pod: core.Pod, volumes: Mapping[str, Any] | None = None) -> ObservedContainer:
        """Runs the pod's first container and returns how it is seen then."""
        await self.cgroups.ensure_pod(pod)
        sandbox = await self.runtime.create_sandbox(pod, 0)
        seen = await self.runtime.observe(pod.metadata.uid)
        container = pod.spec.containers[0]
        image_ref = await self.images.ensure(pod, container, container.image, "IfNotPresent", [])
        created = await self.runtime.create_container(
            ContainerRequest(pod, container, 0, sandbox, 0, image_ref, volumes or {}, seen.ips)
        )
        await self.runtime.start_container(created)
        one = (await self.runtime.observe(pod.metadata.uid)).container(container.name)
        assert one is not None
        return one

    async def ended(self, pod: core.Pod, name: str = "app") -> ObservedContainer:
        async with asyncio.timeout(SECONDS):
            while True:
                self.changed.clear()
                one = (await self.runtime.observe(pod.metadata.uid)).container(name)
                if one is not None and one.state is ContainerState.EXITED:
                    return one
                await self.changed.wait()

    async def follow(self) -> None:
        """Listens as the agent does, for as long as it is let."""
        async for _ in self.runtime.events():
            self.changed.set()

    async def says(self, container: ObservedContainer, *command: str) -> str:
        result = await self.runtime.exec_sync(container.id, command, 10)
        assert result.exit_code == 0, result.stderr
        return result.stdout.decode()

    async def close(self, uids: list[str]) -> None:
        for uid in uids:
            for sandbox in (await self.runtime.observe(uid)).sandboxes:
                await self.runtime.stop_sandbox(sandbox.id)
                await self.runtime.remove_sandbox(sandbox.id)
            await self.cgroups.remove_pod(uid)
            clear(sub_path_folder(self.places, uid))


def clear(folder: Path) -> None:
    unmount_all(folder, LinuxMounts())
    remove_tree(folder, LinuxMounts())


async def _no_handler(pod: core.Pod) -> str:
    return ""


@pytest.fixture
async def node(runtime: RuntimeClient, containerd: Containerd, tmp_path: Path) -> AsyncIterator[Node]:
    made = Node(runtime, containerd, tmp_path)
    await made.cgroups.start({"cpu": Quantity(2), "memory": Quantity("2Gi")})
    following = asyncio.create_task(made.follow())
    await made.changed.wait()
    yield made
    following.cancel()
    await asyncio.wait({following})
    await made.close(list(await made.cgroups.pods()))
    assert list(await made.cgroups.pods()) == []


def pod(*command: str, container: dict[str, Any] | None = None, **spec: Any) -> core.Pod:
    data = {
        "containers": [
            {
                "name": "app",
                "image": TOOLBOX,
                "command": list(command) or ["sleep", "1000"],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                **(container or {}),
            }
        ],
        **spec,
    }
    uid = secrets.token_hex(8)
    made = core.Pod(metadata=meta.ObjectMeta(name="web", namespace="test", uid=uid, labels={"app": "web"}))
    made.spec = from_builtins(data, core.PodSpec)
    return made


async def test_environment_files_and_names(node: Node) -> None:
    container = {
        "env": [
            {"name": "A", "value": "one"},
            {"name": "B", "value": "$(A) $$(A) $(NOPE)"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "words"}}, {"configMapRef": {"name": "none", "optional": True}}],
        "command": ["sh", "-c", "echo from $(A); sleep 1000"],
    }
    one = await node.start(
        pod(
            container=container,
            subdomain="team",
            hostAliases=[{"ip": "192.0.2.9", "hostnames": ["a.example", "b.example"]}],
        )
    )
    assert one.state is ContainerState.RUNNING
    environment = dict(line.split("=", 1) for line in (await node.says(one, "env")).splitlines())
    assert environment["B"] == "one $(A) $(NOPE)"
    assert environment["greeting"] == "hello"
    assert environment["CPU"] == "2000"
    assert environment["IP"] in await node.says(one, "ip", "-4", "addr", "show", "eth0")
    hosts = await node.says(one, "cat", "/etc/hosts")
    assert f"{environment['IP']}\tweb.team.test.svc.cluster.local\tweb\n" in hosts
    assert hosts.endswith("# Entries added by HostAliases.\n192.0.2.9\ta.example\tb.example\n")
    assert await node.says(one, "cat", "/etc/resolv.conf") == (
        "search test.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.43.0.10\noptions ndots:5\n"
    ) or "nameserver 10.43.0.10" in await node.says(one, "cat", "/etc/resolv.conf")
    assert await node.says(one, "hostname") == "web\n"


async def test_limits_stand_in_the_cgroups(node: Node, containerd: Containerd) -> None:
    made = pod(container={"resources": {"requests": {"cpu": "250m"}, "limits": {"cpu": "500m", "memory": "64Mi"}}})
    one = await node.start(made)
    kernel = look_up()
    group = f"{containerd.prefix}/kubepods/burstable/pod{made.metadata.uid}"
    if kernel.cgroup_v2:
        read = {"cpu.max": "50000 100000", "memory.max": str(64 << 20)}
        folders = dict.fromkeys(read, f"/sys/fs/cgroup/{group}")
    else:
        read = {"cpu.cfs_quota_us": "50000", "cpu.shares": "256", "memory.limit_in_bytes": str(64 << 20)}
        folders = {name: f"/sys/fs/cgroup/{name.partition('.')[0]}/{group}" for name in read}
    for level in ("", f"/{one.id}"):
        for name, value in read.items():
            assert Path(f"{folders[name]}{level}/{name}").read_text().strip() == value, (level, name)


async def test_who_it_runs_as_and_what_it_may(node: Node) -> None:
    one = await node.start(
        pod(
            container={
                "securityContext": {
                    "runAsUser": 1234,
                    "runAsNonRoot": True,
                    "readOnlyRootFilesystem": True,
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "seccompProfile": {"type": "RuntimeDefault"},
                }
            },
            securityContext={"runAsGroup": 77, "fsGroup": 88, "supplementalGroups": [99]},
        )
    )
    assert (await node.says(one, "id")).split() == ["uid=1234", "gid=77", "groups=77,88,99"]
    status = dict(
        line.split(":", 1) for line in (await node.says(one, "cat", "/proc/self/status")).splitlines() if ":" in line
    )
    assert status["NoNewPrivs"].strip() == "1"
    assert int(status["CapEff"], 16) == 0
    assert status["Seccomp"].strip() == "2"
    result = await node.runtime.exec_sync(one.id, ["touch", "/x"], 10)
    assert b"Read-only file system" in result.stderr


async def test_root_image_is_refused_for_non_root(node: Node) -> None:
    made = pod(container={"securityContext": {"runAsNonRoot": True}})
    with pytest.raises(StartError) as caught:
        await node.start(made)
    assert caught.value.reason == "CreateContainerConfigError"
    assert caught.value.message == (
        f'container has runAsNonRoot and image will run as root (pod: "web_test({made.metadata.uid})", container: app)'
    )


@pytest.mark.parametrize(
    ("script", "policy", "message"),
    [
        ("echo -n last words > /dev/termination-log; exit 3", "File", "last words"),
        ("echo from the log; exit 3", "File", ""),
        # A moment apart: the runtime reads the two streams each by itself.
        ("echo the log; sleep 0.3; echo and errors >&2; exit 3", "FallbackToLogsOnError", "the log\nand errors\n"),
        ("head -c 5000 /dev/zero | tr '\\0' x > /dev/termination-log; exit 3", "File", "x" * 4096),
    ],
)
async def test_last_words(node: Node, script: str, policy: str, message: str) -> None:
    made = pod("sh", "-c", script, container={"terminationMessagePolicy": policy})
    await node.start(made)
    one = await node.ended(made)
    assert (one.exit_code, one.message) == (3, message)


async def test_last_words_of_a_user_who_is_not_root(node: Node) -> None:
    script = "echo -n words > /dev/termination-log; exit 1"
    made = pod("sh", "-c", script, container={"securityContext": {"runAsUser": 1000}})
    await node.start(made)
    assert (await node.ended(made)).message == "words"


async def test_sub_paths_are_mounted_and_do_not_lead_out(node: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "file").write_text("content")
    (volume / "out").symlink_to("/etc")
    mounts = [
        {"name": "data", "mountPath": "/made", "subPathExpr": "$(WHO)/deep"},
        {"name": "data", "mountPath": "/file", "subPath": "file"},
    ]
    made = pod(
        container={"volumeMounts": mounts, "env": [{"name": "WHO", "value": "me"}]},
        volumes=[{"name": "data", "emptyDir": {}}],
    )
    one = await node.start(made, {"data": Volume(str(volume))})
    await node.says(one, "touch", "/made/here")
    assert (volume / "me/deep/here").exists()
    assert await node.says(one, "cat", "/file") == "content"

    mounts = [{"name": "data", "mountPath": "/out", "subPath": "out/ssh"}]
    led_out = pod(container={"volumeMounts": mounts}, volumes=[{"name": "data", "emptyDir": {}}])
    with pytest.raises(StartError, match='failed to prepare subPath for volumeMount "data" of container "app"'):
        await node.start(led_out, {"data": Volume(str(volume))})


async def test_releasing_sub_paths_leaves_the_volume_alone(node: Node, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    (volume / "a").mkdir(parents=True)
    (volume / "a/kept").write_text("kept")
    mounts = [{"name": "data", "mountPath": "/a", "subPath": "a"}]
    made = pod(container={"volumeMounts": mounts}, volumes=[{"name": "data", "emptyDir": {}}])
    await node.start(made, {"data": Volume(str(volume))})
    folder = sub_path_folder(node.places, made.metadata.uid)
    assert f" {folder}/data/app/0 " in Path("/proc/self/mountinfo").read_text()
    clear(folder)
    assert not folder.exists()
    assert (volume / "a/kept").read_text() == "kept"


async def test_an_ephemeral_container_sees_its_target(node: Node) -> None:
    made = pod("sleep", "1234", ephemeralContainers=[{"name": "debug", "image": TOOLBOX, "command": ["sleep", "99"]}])
    target = await node.start(made)
    debug = made.spec.ephemeral_containers[0]
    request = ContainerRequest(made, debug, 0, target.sandbox_id, 0, TOOLBOX, {}, (), target_container_id=target.id)
    created = await node.runtime.create_container(request)
    await node.runtime.start_container(created)
    result = await node.runtime.exec_sync(created, ["ps"], 10)
    assert b"sleep 1234" in result.stdout


async def test_removing_a_container_takes_its_log_along(node: Node) -> None:
    made = pod("sh", "-c", "echo hello")
    await node.start(made)
    one = await node.ended(made)
    folder = node.places.log_folder("test", "web", made.metadata.uid)
    assert (folder / "app/0.log").read_text().endswith(" stdout F hello\n")
    await node.runtime.remove_container(one.id)
    assert not (folder / "app/0.log").exists()
    await node.runtime.remove_container(one.id)
    await node.runtime.remove_pod_logs(made)
    assert not folder.exists()


async def test_what_crictl_would_show(node: Node, runtime: RuntimeClient) -> None:
    made = pod(container={"ports": [{"containerPort": 80}]})
    one = await node.start(made)
    (sandbox,) = await runtime.list_pod_sandbox(labels={"io.kubernetes.pod.uid": made.metadata.uid})
    assert dict(sandbox.labels) == {
        "app": "web",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "test",
        "io.kubernetes.pod.uid": made.metadata.uid,
    }
    status = (await runtime.container_status(one.id)).status
    assert status.labels["io.kubernetes.container.name"] == "app"
    assert status.annotations["io.kubernetes.container.restartCount"] == "0"
    assert json.loads(status.annotations["io.kubernetes.container.ports"]) == [{"containerPort": 80}]
    pods = await node.runtime.list_pods()
    assert pods[made.metadata.uid].name == "web"


async def test_images_that_are_here_and_not(node: Node, containerd: Containerd) -> None:
    made = pod()
    here = await node.images.ensure(made, made.spec.containers[0], TOOLBOX, "Never", [])
    assert here.startswith("sha256:")
    absent = "localhost:1/no/such:1"
    expectations: dict[str, Callable[[ImagePullError], bool]] = {
        "Never": lambda error: error.reason == "ErrImageNeverPull",
        "Always": lambda error: error.reason == "ErrImagePull" and "connection refused" in error.message,
        "IfNotPresent": lambda error: error.reason == "ImagePullBackOff",
    }
    for policy, fits in expectations.items():
        with pytest.raises(ImagePullError) as caught:
            await node.images.ensure(made, made.spec.containers[0], absent, policy, [])
        assert fits(caught.value), caught.value
    reasons = [(kind, reason) for kind, reason, _ in node.heard.events]
    assert reasons == [
        ("Normal", "Pulled"),
        ("Warning", "ErrImageNeverPull"),
        ("Warning", "Failed"),
        ("Normal", "Pulling"),
        ("Warning", "Failed"),
        ("Warning", "Failed"),
        ("Normal", "BackOff"),
        ("Warning", "Failed"),
    ]


async def test_leftover_processes_go_with_the_pods_cgroup(node: Node) -> None:
    made = pod()
    one = await node.start(made)
    pid = int(json.loads((await node.runtime._client.container_status(one.id, verbose=True)).info["info"])["pid"])
    await node.cgroups.remove_pod(made.metadata.uid)
    assert not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    assert made.metadata.uid not in await node.cgroups.pods()
