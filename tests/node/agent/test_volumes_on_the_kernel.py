"""Volumes on the real kernel: mounts with their bounds and owners, and removals that meet live mounts."""

import asyncio
import errno
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.pods.leftovers import Leftovers
from agent.pods.seams import VolumeError
from agent.runtime.facts import NodeFacts
from agent.runtime.subpaths import KernelSubPaths
from agent.volumes.kernel import LinuxMounts
from agent.volumes.manager import VolumeManager
from agent.volumes.removing import StillMounted, remove_tree
from api import core_v1 as core
from api import meta_v1 as meta
from api.quantity import Quantity
from client.clock import FakeClock, SystemClock
from client.fake import FakeApiServer
from tests.unit.agent.pod_builders import UID, pod

pytestmark = pytest.mark.node

FACTS = NodeFacts(name="here", allocatable={"memory": Quantity("1Gi")})
GROUP, USER = 23456, 12345


def command(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, timeout=10)


class Node:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "agent"
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "precious").write_text("data of a user")
        self.mounts = LinuxMounts()
        self.server = FakeApiServer()
        self.server.create(core.ServiceAccount(metadata=meta.ObjectMeta(name="default", namespace="default")))
        self.server.create(core.Secret(metadata=meta.ObjectMeta(name="s", namespace="default"), data={"word": b"hush"}))
        self.volumes = self.manager(self.mounts)

    def manager(self, mounts: LinuxMounts) -> VolumeManager:
        return VolumeManager(self.root, self.server.client(), SystemClock(), mounts, lambda: FACTS, lambda _uid: None)

    @property
    def pod_folder(self) -> Path:
        return self.root / "pods" / UID


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    for point in LinuxMounts().points(tmp_path):
        LinuxMounts().unmount(point, detach=True)


def using(*volumes: dict[str, Any], **spec: Any) -> core.Pod:
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    return pod({"name": "app", "volumeMounts": mounts}, volumes=list(volumes), **spec)


def as_user(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user with a group of a pod, as a container would."""
    return subprocess.run(
        [str(word) for word in words],
        user=USER,
        group=USER,
        extra_groups=[GROUP],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )


def reachable(folder: Path) -> None:
    """Let others walk to a folder below pytest's own, which are private."""
    for each in (folder, *folder.parents):
        if each == Path("/"):
            break
        each.chmod(each.stat().st_mode | 0o011)


async def test_a_memory_volume_ends_where_it_was_bounded(node: Node) -> None:
    one = using({"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}, securityContext={"fsGroup": GROUP})
    path = Path((await node.volumes.mount(one))["m"].path)
    await node.volumes.mount(one)
    assert node.mounts.points(path) == [path]
    status = path.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_gid) == (0o3777, GROUP)
    with pytest.raises(OSError, match="No space") as raised:
        (path / "file").write_bytes(bytes(2 << 20))
    assert raised.value.errno == errno.ENOSPC
    await node.volumes.unmount(UID)
    assert not node.pod_folder.exists()
    assert node.mounts.points(node.root) == []


async def test_what_is_secret_is_in_memory_and_readable_by_the_pods_group(node: Node) -> None:
    sources = [{"serviceAccountToken": {"path": "token"}}, {"secret": {"name": "s"}}]
    one = using(
        {"name": "all", "projected": {"sources": sources, "defaultMode": 0o400}},
        securityContext={"fsGroup": GROUP, "runAsUser": USER},
    )
    path = Path((await node.volumes.mount(one))["all"].path)
    reachable(path.parent)
    assert os.stat(path).st_dev != os.stat(path.parent).st_dev
    assert as_user("cat", path / "word").stdout == "hush"
    assert as_user("cat", path / "token").stdout.startswith("fake-token.")
    assert (path / "token").stat().st_uid == USER
    assert stat.S_IMODE((path / "token").stat().st_mode) == 0o640
    await node.volumes.unmount(UID)


async def test_files_are_written_where_the_pods_group_writes(node: Node) -> None:
    one = using({"name": "e", "emptyDir": {}}, securityContext={"fsGroup": GROUP})
    path = Path((await node.volumes.mount(one))["e"].path)
    reachable(path.parent)
    assert as_user("touch", path / "file").returncode == 0
    assert (path / "file").stat().st_gid == GROUP  # inherited from the folder


async def test_a_mount_that_somebody_works_in_is_taken_away_all_the_same(node: Node) -> None:
    path = Path((await node.volumes.mount(using({"name": "m", "emptyDir": {"medium": "Memory"}})))["m"].path)
    waiting = "import os, sys; os.chdir(sys.argv[1]); print(flush=True); sys.stdin.read()"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", waiting, str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    try:
        await node.volumes.unmount(UID)
        assert not node.pod_folder.exists()
    finally:
        await holder.communicate(b"")


async def test_binds_of_sub_paths_go_with_the_pod(node: Node) -> None:
    path = Path((await node.volumes.mount(using({"name": "e", "emptyDir": {}})))["e"].path)
    (path / "file").touch()
    places = node.pod_folder / "volume-subpaths" / "e" / "app"
    KernelSubPaths().bind(path, "folder", places / "0")
    KernelSubPaths().bind(path, "file", places / "1")
    assert len(node.mounts.points(node.pod_folder)) == 2
    await node.volumes.unmount(UID)
    assert not node.pod_folder.exists()


class CannotUnmount(LinuxMounts):
    def unmount(self, path: Path, *, detach: bool = False) -> None:
        raise OSError(errno.EBUSY, f"unmount {path}: Device or resource busy")


class SeesNothing(LinuxMounts):
    """Mounts that the table does not tell of: looked at too early, or from elsewhere."""

    def points(self, below: Path) -> list[Path]:
        return []


def left_behind(node: Node) -> Path:
    """Scenario 10: a pod's folder of an earlier life, with a user's data bound into it."""
    volume = node.pod_folder / "volumes" / "kubernetes.io~nfs" / "data"
    volume.mkdir(parents=True)
    (node.pod_folder / "etc-hosts").touch()
    command("mount", "--bind", node.outside, volume)
    return volume


async def test_scenario_10_removal_never_walks_into_a_live_mount(node: Node) -> None:
    volume = left_behind(node)
    assert await node.volumes.orphans() == [UID]
    with pytest.raises(VolumeError, match="busy"):
        await node.manager(CannotUnmount()).unmount(UID)
    with pytest.raises(StillMounted, match=f"{volume} is still mounted"):
        remove_tree(node.pod_folder, node.mounts)
    # Even if the mount table said nothing at all, and though it is the same file system:
    with pytest.raises(StillMounted, match=f"{volume} is still mounted"):
        remove_tree(node.pod_folder, SeesNothing())
    assert (node.outside / "precious").read_text() == "data of a user"
    assert (volume / "precious").exists()

    await node.volumes.unmount(UID)
    assert await node.volumes.orphans() == []
    assert (node.outside / "precious").read_text() == "data of a user"


async def test_scenario_10_a_file_bound_into_the_folder_is_kept_too(node: Node) -> None:
    place = node.pod_folder / "volume-subpaths" / "v" / "app" / "0"
    place.parent.mkdir(parents=True)
    place.touch()
    command("mount", "--bind", node.outside / "precious", place)
    with pytest.raises(OSError, match="busy"):
        remove_tree(node.pod_folder, SeesNothing())
    assert (node.outside / "precious").read_text() == "data of a user"
    await node.volumes.unmount(UID)
    assert not node.pod_folder.exists()
    assert (node.outside / "precious").read_text() == "data of a user"


async def test_scenario_10_mounts_upon_mounts_are_all_taken_down(node: Node) -> None:
    volume = left_behind(node)
    command("mount", "-t", "tmpfs", "tmpfs", volume)
    (volume / "in-memory").mkdir()
    command("mount", "--bind", node.outside, volume / "in-memory")
    await node.volumes.unmount(UID)
    assert not node.pod_folder.exists()
    assert (node.outside / "precious").exists()


async def test_scenario_10_what_cannot_go_yet_is_told_once_and_goes_later(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    left_behind(node)

    class Recovering(LinuxMounts):
        refusals = 4  # two a try: unmount, then detach

        def unmount(self, path: Path, *, detach: bool = False) -> None:
            if self.refusals:
                self.refusals -= 1
                raise OSError(errno.EBUSY, f"unmount {path}: Device or resource busy")
            super().unmount(path, detach=detach)

    class NoCgroups:
        async def pods(self) -> list[str]:
            return []

    clock = FakeClock(threshold=0.05)
    leftovers = Leftovers(node.manager(Recovering()), NoCgroups(), clock, lambda _uid: False)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(30):
            await leftovers.run()
    assert not node.pod_folder.exists()
    assert (node.outside / "precious").exists()
    assert sum(UID in record.getMessage() for record in caplog.records) == 1
    assert clock.monotonic() > 5  # and not at once, again and again
