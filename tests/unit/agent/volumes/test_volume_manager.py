"""All volumes of a pod, from mounting to removal, with a tmp dir for the disk and doubles for kernel and server."""

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.pods.seams import VolumeError
from agent.runtime.facts import NodeFacts
from agent.volumes import manager as manager_module
from agent.volumes.kernel import FakeMounts
from agent.volumes.manager import VolumeManager
from api import core_v1 as core
from api import meta_v1 as meta
from api.quantity import Quantity
from client.clock import FakeClock
from client.fake import FakeApiServer
from tests.unit.agent.pod_builders import UID, pod

FACTS = NodeFacts(name="here", ips=("192.0.2.1",), allocatable={"memory": Quantity("1Gi")})
MIB = 1 << 20


class Bench:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "agent"
        self.clock = FakeClock(autojump=False)
        self.server = FakeApiServer(clock=self.clock)
        self.server.create(core.ServiceAccount(metadata=meta.ObjectMeta(name="default", namespace="default")))
        self.mounts = FakeMounts()
        self.told: list[str] = []
        self.volumes = VolumeManager(
            self.root, self.server.client(), self.clock, self.mounts, lambda: FACTS, self.told.append
        )

    def config(self, name: str, **data: str) -> None:
        self.server.create(core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default"), data=data))

    def secret(self, name: str, **data: bytes) -> None:
        self.server.create(core.Secret(metadata=meta.ObjectMeta(name=name, namespace="default"), data=data))

    def path(self, kind: str, name: str, uid: str = UID) -> Path:
        return self.root / "pods" / uid / "volumes" / f"kubernetes.io~{kind}" / name


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    task = asyncio.create_task(made.volumes.run())
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def using(*volumes: dict[str, Any], **spec: Any) -> core.Pod:
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    return pod({"name": "app", "volumeMounts": mounts}, volumes=list(volumes), **spec)


async def test_every_kind_lies_where_tools_look_for_it(bench: Bench, tmp_path: Path) -> None:
    bench.config("c", key="value")
    bench.secret("s", word=b"hush")
    one = using(
        {"name": "scratch", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        {"name": "host", "hostPath": {"path": str(tmp_path / "new"), "type": "DirectoryOrCreate"}},
        {"name": "config", "configMap": {"name": "c", "defaultMode": 0o440}},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "self", "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {
            "name": "all",
            "projected": {
                "sources": [
                    {"serviceAccountToken": {"path": "token"}},
                    {"configMap": {"name": "c", "items": [{"key": "key", "path": "deep/k"}]}},
                    {"secret": {"name": "s"}},
                    {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
                    {},
                ]
            },
        },
    )
    mounted = await bench.volumes.mount(one)
    kinds = {
        "scratch": "empty-dir",
        "memory": "empty-dir",
        "config": "configmap",
        "secret": "secret",
        "self": "downward-api",
        "all": "projected",
    }
    assert {name: volume.path for name, volume in mounted.items()} == {
        **{name: str(bench.path(kind, name)) for name, kind in kinds.items()},
        "host": str(tmp_path / "new"),
    }
    assert {name for name, volume in mounted.items() if volume.read_only} == {"config", "secret", "self", "all"}
    assert {name for name, volume in mounted.items() if not volume.selinux_relabel} == {"host"}
    assert (tmp_path / "new").is_dir()
    assert (bench.path("configmap", "config") / "key").read_text() == "value"
    assert stat.S_IMODE((bench.path("configmap", "config") / "key").stat().st_mode) == 0o440
    assert (bench.path("secret", "secret") / "word").read_bytes() == b"hush"
    assert (bench.path("downward-api", "self") / "n").read_text() == "web"
    everything = bench.path("projected", "all")
    assert (everything / "token").read_text().startswith("fake-token.default.default.")
    assert (everything / "deep/k").read_text() == "value"
    assert (everything / "word").read_bytes() == b"hush"
    assert (everything / "n").read_text() == "default"
    # What is secret, or may be, is never on a disk.
    assert {mount.path: mount.size for mount in bench.mounts.mounted} == {
        bench.path("empty-dir", "memory"): 16 * MIB,
        bench.path("secret", "secret"): 1024 * MIB,
        bench.path("downward-api", "self"): 1024 * MIB,
        everything: 1024 * MIB,
    }


async def test_mounting_again_changes_nothing(bench: Bench) -> None:
    bench.secret("s", word=b"hush")
    one = using({"name": "v", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {"medium": "Memory"}})
    first = await bench.volumes.mount(one)
    before = (bench.path("secret", "v") / "..data").lstat()
    assert await bench.volumes.mount(one) == first
    assert len(bench.mounts.mounted) == 2
    assert (bench.path("secret", "v") / "..data").lstat() == before


async def test_a_link_in_the_way_to_the_root_hides_no_mount(bench: Bench, tmp_path: Path) -> None:
    """Mounts are known by real paths; taken by another name, each refresh would mount once more."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    volumes = VolumeManager(
        tmp_path / "link", bench.server.client(), bench.clock, bench.mounts, lambda: FACTS, bench.told.append
    )
    mounted = await volumes.mount(using({"name": "e", "emptyDir": {"medium": "Memory"}}))
    assert mounted["e"].path.startswith(str(tmp_path / "real"))


async def test_a_volume_that_no_container_uses_keeps_nothing_from_starting(bench: Bench) -> None:
    spare = [{"name": "spare", "configMap": {"name": "missing"}}, {"name": "image", "image": {"reference": "x"}}]
    assert await bench.volumes.mount(pod(volumes=spare)) == {}
    one = using({"name": "image", "image": {"reference": "x"}})  # the runtime's own business
    assert await bench.volumes.mount(one) == {}


async def test_a_volume_read_for_variables_alone_is_used(bench: Bench) -> None:
    reads = {"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "e", "path": "env", "key": "A"}}}
    one = pod({"name": "app", "env": [reads]}, volumes=[{"name": "e", "emptyDir": {}}])
    assert list(await bench.volumes.mount(one)) == ["e"]


@pytest.mark.parametrize(
    ("volume", "complaint"),
    [
        ({"configMap": {"name": "c"}}, 'configmap "c" not found'),
        ({"secret": {"secretName": "s"}}, 'secret "s" not found'),
        ({"hostPath": {"path": "/nowhere", "type": "File"}}, "hostPath type check failed: /nowhere is not a file"),
        ({"nfs": {"server": "x", "path": "/"}}, "no volume plugin matched"),
        ({"emptyDir": {"medium": "Tape"}}, 'unknown storage medium "Tape"'),
        (
            {"projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}},
            '[configmap "c" not found, secret "s" not found]',
        ),
    ],
)
async def test_a_volume_that_cannot_be_had_is_told_in_upstreams_words(
    bench: Bench, volume: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(VolumeError) as raised:
        await bench.volumes.mount(using({"name": "v", **volume}))
    assert str(raised.value) == f'MountVolume.SetUp failed for volume "v" : {complaint}'
    assert raised.value.reason == "FailedMount"


async def test_a_kernel_that_refuses_is_told_with_its_reason(bench: Bench) -> None:
    path = bench.path("empty-dir", "v")
    bench.mounts.faults[path] = OSError(12, f"mount tmpfs at {path}: Cannot allocate memory")
    with pytest.raises(VolumeError, match=r'^MountVolume\.SetUp failed for volume "v" : .*Cannot allocate memory$'):
        await bench.volumes.mount(using({"name": "v", "emptyDir": {"medium": "Memory"}}))


async def test_changed_objects_are_told_and_refreshed(bench: Bench) -> None:
    bench.config("c", key="1", old="x")
    one = using({"name": "v", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}})
    await bench.volumes.mount(one)
    await bench.clock.settle()
    assert bench.told == []
    changed = bench.server.get(core.ConfigMap, "c", "default")
    changed.data = {"key": "2"}
    bench.server.update(changed)
    await bench.clock.settle()
    assert bench.told == [UID]
    await bench.volumes.refresh(one)
    folder = bench.path("configmap", "v")
    assert (folder / "key").read_text() == "2"
    assert not os.path.lexists(folder / "old")


async def test_what_cannot_be_refreshed_stays_as_it_was(bench: Bench) -> None:
    bench.config("c", key="1")
    one = using({"name": "v", "configMap": {"name": "c"}})
    await bench.volumes.mount(one)
    await bench.clock.settle()
    bench.server.delete(core.ConfigMap, "c", "default")
    await bench.clock.settle()
    assert bench.told == [UID]
    with pytest.raises(VolumeError, match='configmap "c" not found'):
        await bench.volumes.refresh(one)
    assert (bench.path("configmap", "v") / "key").read_text() == "1"


async def test_a_volume_that_cannot_be_refreshed_holds_up_no_other(bench: Bench) -> None:
    """The token of the pod's account comes last: it would expire for a config map that somebody has removed."""
    bench.config("c", key="1")
    one = using(
        {"name": "v", "configMap": {"name": "c"}},
        {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "s", "configMap": {"name": "c"}},
    )
    await bench.volumes.mount(one)
    first = (bench.path("projected", "t") / "t").read_text()
    bench.server.delete(core.ConfigMap, "c", "default")
    await bench.clock.settle()
    await bench.clock.advance(0.8 * 3600)
    with pytest.raises(VolumeError) as raised:
        await bench.volumes.refresh(one)
    assert (bench.path("projected", "t") / "t").read_text() != first
    assert raised.value.messages == (
        'MountVolume.SetUp failed for volume "v" : configmap "c" not found',
        'MountVolume.SetUp failed for volume "s" : configmap "c" not found',
    )


async def test_a_container_starts_again_with_what_it_was_given_before(bench: Bench) -> None:
    bench.config("c", key="1")
    one = using({"name": "v", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}})
    first = await bench.volumes.mount(one)
    await bench.clock.settle()
    bench.server.delete(core.ConfigMap, "c", "default")
    await bench.clock.settle()
    assert await bench.volumes.mount(one) == first
    assert (bench.path("configmap", "v") / "key").read_text() == "1"


async def test_every_volume_that_cannot_be_had_is_told(bench: Bench) -> None:
    with pytest.raises(VolumeError) as raised:
        await bench.volumes.mount(
            using(
                {"name": "v", "configMap": {"name": "c"}},
                {"name": "e", "emptyDir": {}},
                {"name": "s", "secret": {"secretName": "s"}},
            )
        )
    assert raised.value.messages == (
        'MountVolume.SetUp failed for volume "v" : configmap "c" not found',
        'MountVolume.SetUp failed for volume "s" : secret "s" not found',
    )


async def test_an_optional_object_comes_and_goes(bench: Bench) -> None:
    one = using({"name": "v", "configMap": {"name": "c", "optional": True}})
    await bench.volumes.mount(one)
    await bench.clock.settle()
    bench.config("c", key="1")
    await bench.clock.settle()
    await bench.volumes.refresh(one)
    assert (bench.path("configmap", "v") / "key").read_text() == "1"
    bench.server.delete(core.ConfigMap, "c", "default")
    await bench.clock.settle()
    await bench.volumes.refresh(one)
    assert not (bench.path("configmap", "v") / "key").exists()
    assert bench.told == [UID, UID]


async def test_labels_reach_the_pod_when_they_change(bench: Bench) -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    one = using({"name": "v", "downwardAPI": {"items": items}})
    await bench.volumes.mount(one)
    one.metadata.labels = {"tier": "front"}
    await bench.volumes.refresh(one)
    assert (bench.path("downward-api", "v") / "labels").read_text() == 'tier="front"'


async def test_a_token_is_renewed_in_its_file(bench: Bench) -> None:
    one = using({"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}})
    await bench.volumes.mount(one)
    first = (bench.path("projected", "v") / "t").read_text()
    bench.config("tick")
    await bench.clock.advance(0.8 * 3600)
    assert bench.told == [UID]
    await bench.volumes.refresh(one)
    assert (bench.path("projected", "v") / "t").read_text() != first


async def test_a_group_gets_at_what_is_the_pods(bench: Bench) -> None:
    bench.config("c", key="1")
    one = using(
        {"name": "v", "configMap": {"name": "c"}},
        {"name": "e", "emptyDir": {}},
        {"name": "m", "emptyDir": {"medium": "Memory"}},
        securityContext={"fsGroup": os.getgid()},
    )
    for _ in range(2):
        await bench.volumes.mount(one)
        assert stat.S_IMODE(bench.path("empty-dir", "e").stat().st_mode) == 0o2777
        assert stat.S_IMODE(bench.path("configmap", "v").stat().st_mode) == 0o2777
    (mount,) = bench.mounts.mounted
    assert (mount.mode, mount.group) == (0o3777, os.getgid())


async def test_unmounting_takes_all_of_it_away(bench: Bench) -> None:
    bench.secret("s", word=b"hush")
    one = using({"name": "v", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {}})
    await bench.volumes.mount(one)
    folder = bench.root / "pods" / UID
    (folder / "etc-hosts").touch()
    bench.mounts.mount(folder / "volume-subpaths" / "e" / "app" / "0")
    assert await bench.volumes.orphans() == [UID]
    bench.told.clear()
    for _ in range(2):
        await bench.volumes.unmount(UID)
    assert await bench.volumes.orphans() == []
    assert bench.mounts.mounted == []
    bench.server.delete(core.Secret, "s", "default")
    await bench.clock.settle()
    assert bench.told == []


async def test_unmounting_what_stays_mounted_fails_and_keeps_the_files(bench: Bench) -> None:
    one = using({"name": "e", "emptyDir": {}})
    await bench.volumes.mount(one)
    path = bench.path("empty-dir", "e")
    (path / "precious").touch()
    bench.mounts.mount(path)
    bench.mounts.stuck.add(path)
    with pytest.raises(VolumeError, match=f"^UnmountVolume.TearDown failed for pod {UID}: .*busy") as raised:
        await bench.volumes.unmount(UID)
    assert raised.value.reason == "FailedUnMount"
    assert (path / "precious").exists()
    bench.mounts.stuck.clear()
    await bench.volumes.unmount(UID)
    assert not path.exists()


async def test_a_mount_that_hangs_holds_up_its_own_pod_alone_and_one_thread(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, entered, threads = threading.Event(), asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def hang(source: core.HostPathVolumeSource) -> None:
        if source.path == "/dead":
            threads.append(threading.current_thread())
            loop.call_soon_threadsafe(entered.set)
            stuck.wait(30)

    monkeypatch.setattr(manager_module, "check_host_path", hang)
    dead = using({"name": "v", "hostPath": {"path": "/dead", "type": "Directory"}})
    try:
        first = asyncio.create_task(bench.volumes.mount(dead))
        await entered.wait()
        alive = using({"name": "v", "hostPath": {"path": "/alive", "type": "Directory"}}, uid="other")
        assert (await bench.volumes.mount(alive))["v"].path == "/alive"
        await bench.clock.advance(200)
        with pytest.raises(VolumeError, match=r"timed out: check host path /dead: no end after 120 s"):
            await first
        second = asyncio.create_task(bench.volumes.mount(dead))
        await bench.clock.advance(200)
        with pytest.raises(VolumeError, match=f"timed out: .* an earlier step of pod {UID} has not come back"):
            await second
        assert len(threads) == 1
        third = asyncio.create_task(bench.volumes.mount(dead))
        await bench.clock.settle()
    finally:
        stuck.set()
    assert (await third)["v"].path == "/dead"
    for thread in threads:
        thread.join()


async def test_pull_secrets_are_those_that_exist_and_can_be_had(bench: Bench) -> None:
    bench.secret("one", x=b"1")
    one = pod(imagePullSecrets=[{"name": "one"}, {"name": "missing"}])
    assert [each.metadata.name for each in await bench.volumes.pull_secrets(one)] == ["one"]
    bench.server.faults.offline = True
    assert await bench.volumes.pull_secrets(one) == []
