"""The two kinds of cgroup trees on folders that look like them, and what the agent keeps in a tree."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agent.resources.cgroups import PodCgroups
from agent.resources.fake import FakeCgroups
from agent.resources.kernel import KernelFacts
from agent.resources.names import Driver, class_name, parent_of_sandbox, path_of, pod_name, uid_of
from agent.resources.settings import UNLIMITED, Settings
from agent.resources.v1 import SplitTree, mounted_hierarchies
from agent.resources.v2 import UnifiedTree
from api.quantity import Quantity
from client.clock import FakeClock
from tests.unit.agent.pod_builders import UID, pod

FULL = Settings(
    cpu_shares=1024,
    cpu_quota=50_000,
    cpu_period=100_000,
    memory_limit=1 << 20,
    pids_limit=7,
    huge_page_limits={2 << 20: 4 << 20},
)


@pytest.mark.parametrize(
    ("quality", "driver", "path", "parent"),
    [
        ("Guaranteed", Driver.CGROUPFS, "kubepods/poda-b", "/kubepods/poda-b"),
        ("Burstable", Driver.CGROUPFS, "kubepods/burstable/poda-b", "/kubepods/burstable/poda-b"),
        ("Guaranteed", Driver.SYSTEMD, "kubepods.slice/kubepods-poda_b.slice", "kubepods-poda_b.slice"),
        (
            "BestEffort",
            Driver.SYSTEMD,
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poda_b.slice",
            "kubepods-besteffort-poda_b.slice",
        ),
    ],
)
def test_names(quality: str, driver: Driver, path: str, parent: str) -> None:
    name = pod_name("a-b", quality)
    assert path_of(name, driver) == path
    assert parent_of_sandbox(name, driver) == parent
    assert uid_of(path.rpartition("/")[2], driver) == "a-b"


@pytest.mark.parametrize("entry", ["burstable", "besteffort", "kubepods", "pod", "kubepods-burstable.slice", "x.scope"])
def test_what_is_no_pod(entry: str) -> None:
    assert uid_of(entry, Driver.CGROUPFS) is None
    assert uid_of(entry, Driver.SYSTEMD) is None


class Unified:
    """Folders like a cgroup2 mount: each new group has the files a kernel would put there."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, controllers: str = "cpu memory pids") -> None:
        self.folder = folder
        (folder / "cgroup.controllers").write_text(controllers)
        (folder / "cgroup.subtree_control").touch()
        real = os.makedirs

        def makedirs(path: str, mode: int = 0o777, exist_ok: bool = False) -> None:
            real(path, mode, exist_ok)
            for name in ("cgroup.subtree_control", "cgroup.procs", "cpu.weight", "cpu.max", "memory.max", "pids.max"):
                Path(path, name).touch()

        monkeypatch.setattr("agent.resources.v2.os.makedirs", makedirs)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()


def test_version_2_enables_controllers_on_the_way_and_writes_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = Unified(tmp_path, monkeypatch)
    UnifiedTree(tmp_path).ensure("kubepods/pod1", FULL)
    for level in ("", "kubepods/", "kubepods/pod1/"):
        assert mount.read(f"{level}cgroup.subtree_control") == "+cpu +memory +pids"
    files = {name: mount.read(f"kubepods/pod1/{name}") for name in ("cpu.weight", "cpu.max", "memory.max", "pids.max")}
    assert files == {"cpu.weight": "39", "cpu.max": "50000 100000", "memory.max": "1048576", "pids.max": "7"}
    lifted = Settings(cpu_quota=UNLIMITED, memory_limit=UNLIMITED, pids_limit=UNLIMITED)
    for name in files:
        (tmp_path / "kubepods/pod1" / name).write_text("")
    UnifiedTree(tmp_path).ensure("kubepods/pod1", lifted)
    assert mount.read("kubepods/pod1/cpu.max") == "max 100000"
    assert mount.read("kubepods/pod1/memory.max") == "max"
    assert mount.read("kubepods/pod1/cpu.weight") == ""


def test_a_file_that_refuses_is_named_with_the_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Unified(tmp_path, monkeypatch)
    tree = UnifiedTree(tmp_path)
    tree.ensure("kubepods", Settings())
    (tmp_path / "kubepods/memory.max").unlink()
    with pytest.raises(OSError, match=r"write '1048576': .*memory.max"):
        tree.ensure("kubepods", FULL)


def split(folder: Path) -> SplitTree:
    for name in ("cpu", "memory", "devices"):
        (folder / name).mkdir()
    return SplitTree({"cpu": f"{folder}/cpu", "memory": f"{folder}/memory", "devices": f"{folder}/devices"})


def test_version_1_writes_each_setting_where_it_belongs(tmp_path: Path) -> None:
    tree = split(tmp_path)
    for path in ("cpu/kubepods/pod1", "memory/kubepods/pod1"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us"):
        (tmp_path / "cpu/kubepods/pod1" / path).touch()
    (tmp_path / "memory/kubepods/pod1/memory.limit_in_bytes").touch()
    tree.ensure("kubepods/pod1", FULL)
    assert (tmp_path / "cpu/kubepods/pod1/cpu.shares").read_text() == "1024"
    assert (tmp_path / "cpu/kubepods/pod1/cpu.cfs_quota_us").read_text() == "50000"
    assert (tmp_path / "memory/kubepods/pod1/memory.limit_in_bytes").read_text() == "1048576"
    assert not (tmp_path / "devices/kubepods").exists()


def test_version_1_finds_and_removes_in_every_hierarchy(tmp_path: Path) -> None:
    tree = split(tmp_path)
    (tmp_path / "devices/kubepods/pod1/container").mkdir(parents=True)
    (tmp_path / "cpu/kubepods/pod2").mkdir(parents=True)
    assert tree.children("kubepods") == ["pod1", "pod2"]
    assert not tree.exists("kubepods/pod2")
    tree.remove("kubepods/pod1")
    tree.remove("kubepods/pod1")
    assert tree.children("kubepods") == ["pod2"]


def test_hierarchies_are_read_from_the_mount_table(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "30 24 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw,mode=755\n"
        "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
        "32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
        "33 30 0:29 / /sys/fs/cgroup/net_cls rw - cgroup cgroup rw,net_cls,net_prio\n"
        "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    assert mounted_hierarchies(table) == {
        "cpu": "/sys/fs/cgroup/cpu,cpuacct",
        "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
        "systemd": "/sys/fs/cgroup/systemd",
        "net_cls": "/sys/fs/cgroup/net_cls",
        "net_prio": "/sys/fs/cgroup/net_cls",
        "unified": "/sys/fs/cgroup/unified",
    }


KERNEL = KernelFacts(huge_page_sizes=(2 << 20,))


def cgroups(tree: FakeCgroups, driver: Driver = Driver.CGROUPFS) -> PodCgroups:
    return PodCgroups(tree, KERNEL, FakeClock(threshold=0.02), driver=driver, pids_limit=50)


async def test_the_root_is_held_to_what_pods_may_have() -> None:
    tree = FakeCgroups()
    await cgroups(tree).start({"cpu": Quantity("1500m"), "memory": Quantity("1Gi"), "hugepages-2Mi": Quantity("8Mi")})
    root = tree.groups["kubepods"]
    assert (root.cpu_shares, root.memory_limit, root.huge_page_limits) == (1536, 1 << 30, {2 << 20: 8 << 20})
    assert tree.groups["kubepods/besteffort"].cpu_shares == 2
    assert tree.groups["kubepods/burstable"].memory_limit is None


async def test_the_burstable_class_has_the_shares_of_its_pods() -> None:
    tree = FakeCgroups()
    kept = cgroups(tree)
    request = {"resources": {"requests": {"cpu": "250m"}}}
    full = {"cpu": "1", "memory": "1Gi"}
    pods = [
        pod({"name": "a", **request}),
        pod({"name": "a", **request}, {"name": "b", **request}),
        pod({"name": "a", "resources": {"requests": full, "limits": full}}),
        pod(),
    ]
    await kept.update_classes(pods)
    assert tree.groups["kubepods/burstable"].cpu_shares == 768
    await kept.update_classes([])
    assert tree.groups["kubepods/burstable"].cpu_shares == 2


@pytest.mark.parametrize("driver", list(Driver))
async def test_pods_come_are_listed_and_go(driver: Driver) -> None:
    tree = FakeCgroups()
    kept = cgroups(tree, driver)
    one = pod()
    await kept.ensure_pod(one)
    await kept.ensure_pod(one)
    assert await kept.pods() == [UID]
    path = path_of(pod_name(UID, "BestEffort"), driver)
    assert tree.groups[path].pids_limit == 50
    assert kept.parent_of(one).endswith(path.rpartition("/")[2])
    await kept.remove_pod(UID)
    await kept.remove_pod(UID)
    assert await kept.pods() == []
    assert path_of(class_name("BestEffort"), driver) in tree.groups


async def test_what_is_left_in_a_pods_group_is_killed() -> None:
    tree = FakeCgroups()
    kept = cgroups(tree)
    await kept.ensure_pod(pod())
    tree.ensure(f"kubepods/besteffort/pod{UID}/container", Settings())
    tree.processes[f"kubepods/besteffort/pod{UID}/container"] = {41, 42}
    await kept.remove_pod(UID)
    assert tree.killed == [41, 42]
    assert await kept.pods() == []


async def test_a_process_nobody_can_kill_leaves_the_group_and_an_error() -> None:
    tree = FakeCgroups()
    kept = cgroups(tree)
    await kept.ensure_pod(pod())
    tree.processes[f"kubepods/besteffort/pod{UID}"] = {41}
    tree.immortal = {41}
    with pytest.raises(OSError) as caught:
        await kept.remove_pod(UID)
    assert caught.value.errno == errno.EBUSY
    assert await kept.pods() == [UID]


async def test_other_errors_are_not_hidden() -> None:
    tree = FakeCgroups()
    kept = cgroups(tree)
    tree.fails[f"kubepods/besteffort/pod{UID}"] = errno.EROFS
    with pytest.raises(OSError, match="Read-only file system"):
        await kept.ensure_pod(pod())
