"""emptyDir and hostPath: what is made, how large it may grow, and what a path must be."""

import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from agent.runtime.facts import NodeFacts
from agent.volumes.host import SetUpError
from agent.volumes.kernel import FakeMount, FakeMounts
from agent.volumes.local import Bounds, check_host_path, empty_dir_bounds, set_up_empty_dir
from api import core_v1 as core
from api.codec import from_builtins
from api.quantity import Quantity
from tests.unit.agent.pod_builders import pod

MIB = 1 << 20
FACTS = NodeFacts(name="here", allocatable={"memory": Quantity("1Gi")})


def limited(*limits: str, **more: Any) -> core.Pod:
    containers = [
        {"name": f"c{number}", "resources": {"limits": {"memory": each}} if each else {}}
        for number, each in enumerate(limits)
    ]
    return pod(*containers, **more)


def test_a_folder_is_for_everybody_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "kind" / "v"
    old_mask = os.umask(0o077)
    try:
        set_up_empty_dir(path, "", Bounds(), FakeMounts(), None)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777
    assert [each.name for each in path.parent.iterdir()] == ["v"]


def test_what_a_container_made_of_its_folder_stays(tmp_path: Path) -> None:
    """Setting up again after a restart of the agent must not open up keys that a container keeps for itself."""
    path = tmp_path / "v"
    set_up_empty_dir(path, "", Bounds(), FakeMounts(), os.getgid())
    assert stat.S_IMODE(path.stat().st_mode) == 0o2777
    (path / "key").touch(0o600)
    path.chmod(0o700)
    set_up_empty_dir(path, "", Bounds(), FakeMounts(), os.getgid())
    assert stat.S_IMODE((path / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_dying_while_a_folder_is_made_leaves_none_with_wrong_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v"
    with monkeypatch.context() as patched:
        patched.setattr(os, "chmod", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            set_up_empty_dir(path, "", Bounds(), FakeMounts(), None)
    assert not path.exists()
    set_up_empty_dir(path, "", Bounds(), FakeMounts(), None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777


def test_a_memory_volume_is_mounted_once(tmp_path: Path) -> None:
    mounts, path = FakeMounts(), tmp_path / "v"
    for _ in range(2):
        set_up_empty_dir(path, "Memory", Bounds(memory=64 * MIB), mounts, 2000)
    assert mounts.mounted == [FakeMount(path, "tmpfs", 64 * MIB, 0o3777, 2000)]


def test_a_medium_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetUpError, match=r'^unknown storage medium "Tape"$'):
        set_up_empty_dir(tmp_path / "v", "Tape", Bounds(), FakeMounts(), None)


@pytest.mark.parametrize(
    ("one", "size_limit", "expected"),
    [
        (limited(""), None, 1024 * MIB),  # what the node has for pods
        (limited("64Mi", "32Mi"), None, 96 * MIB),  # what the pod may use
        (limited("64Mi", ""), None, 1024 * MIB),  # one container without a limit: the pod has none
        (limited("64Mi"), "16Mi", 16 * MIB),
        (limited("64Mi"), "2Gi", 64 * MIB),
        (limited(""), "0", 1024 * MIB),
    ],
)
def test_a_memory_volume_is_no_larger_than_the_pod_may_use(
    one: core.Pod, size_limit: str | None, expected: int
) -> None:
    source = core.EmptyDirVolumeSource(medium="Memory", size_limit=Quantity(size_limit) if size_limit else None)
    assert empty_dir_bounds(one, source, FACTS).memory == expected


def test_without_knowing_the_node_the_kernel_decides() -> None:
    source = core.EmptyDirVolumeSource(medium="Memory")
    assert empty_dir_bounds(limited(""), source, NodeFacts(name="here")).memory is None


def huge(*names: str) -> core.Pod:
    return pod({"name": "c", "resources": {"requests": {f"hugepages-{name}": "4Mi" for name in names}}})


@pytest.mark.parametrize(
    ("medium", "one", "page"),
    [
        ("HugePages", huge("2Mi"), 2 * MIB),
        ("HugePages-1Gi", huge("2Mi", "1Gi"), 1024 * MIB),
        ("HugePages-2048Ki", huge("2Mi"), 2 * MIB),
    ],
)
def test_huge_pages_are_those_that_the_pod_requests(tmp_path: Path, medium: str, one: core.Pod, page: int) -> None:
    mounts = FakeMounts()
    bounds = empty_dir_bounds(one, core.EmptyDirVolumeSource(medium=medium), FACTS)
    set_up_empty_dir(tmp_path / "v", medium, bounds, mounts, None)
    assert mounts.mounted == [FakeMount(tmp_path / "v", "hugetlbfs", page, 0o1777, None)]


@pytest.mark.parametrize(
    ("medium", "one", "complaint"),
    [
        (
            "HugePages",
            huge("2Mi", "1Gi"),
            "medium: HugePages can't be used if container requests multiple huge page sizes",
        ),
        (
            "HugePages-1Gi",
            huge("2Mi"),
            "medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages",
        ),
        (
            "HugePages",
            pod(),
            "medium HugePages: hugePages storage requested, but there is no resource request for huge pages",
        ),
    ],
)
def test_huge_pages_that_do_not_fit_the_requests_are_refused(medium: str, one: core.Pod, complaint: str) -> None:
    with pytest.raises(SetUpError) as raised:
        empty_dir_bounds(one, core.EmptyDirVolumeSource(medium=medium), FACTS)
    assert str(raised.value) == complaint


def host_path(path: Path, kind: str) -> core.HostPathVolumeSource:
    return from_builtins({"path": str(path), "type": kind}, core.HostPathVolumeSource)


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("missing", ""),
        ("folder", "Directory"),
        ("link", "Directory"),
        ("folder", "DirectoryOrCreate"),
        ("file", "File"),
        ("file", "FileOrCreate"),
        ("socket", "Socket"),
        ("/dev/null", "CharDevice"),
    ],
)
def test_paths_of_the_kind_that_was_asked_for_pass(zoo: Path, name: str, kind: str) -> None:
    check_host_path(host_path(zoo / name, kind))


@pytest.mark.parametrize(
    ("name", "kind", "article"),
    [
        ("missing", "Directory", "directory"),
        ("file", "Directory", "directory"),
        ("file", "DirectoryOrCreate", "directory"),
        ("folder", "File", "file"),
        ("socket", "FileOrCreate", "file"),
        ("file", "Socket", "socket file"),
        ("file", "CharDevice", "character device"),
        ("file", "BlockDevice", "block device"),
        ("dangling", "File", "file"),
    ],
)
def test_other_paths_are_refused_in_upstreams_words(zoo: Path, name: str, kind: str, article: str) -> None:
    with pytest.raises(SetUpError) as raised:
        check_host_path(host_path(zoo / name, kind))
    assert str(raised.value) == f"hostPath type check failed: {zoo / name} is not a {article}"


def test_a_type_nobody_knows_is_refused(zoo: Path) -> None:
    with pytest.raises(SetUpError, match=r"^Heap is an invalid volume type$"):
        check_host_path(host_path(zoo / "file", "Heap"))


def test_missing_paths_are_made_where_that_was_asked_for(zoo: Path) -> None:
    check_host_path(host_path(zoo / "new" / "deep", "DirectoryOrCreate"))
    check_host_path(host_path(zoo / "new" / "file", "FileOrCreate"))
    assert (zoo / "new" / "deep").is_dir()
    assert (zoo / "new" / "file").is_file()


@pytest.mark.parametrize(
    ("name", "kind", "complaint"),
    [
        ("none/file", "FileOrCreate", "open {zoo}/none/file: no such file or directory"),
        ("file/under", "FileOrCreate", "open {zoo}/file/under: not a directory"),
        ("file/under/it", "DirectoryOrCreate", "mkdir {zoo}/file: not a directory"),
    ],
)
def test_what_cannot_be_made_is_told_in_upstreams_words(zoo: Path, name: str, kind: str, complaint: str) -> None:
    with pytest.raises(SetUpError) as raised:
        check_host_path(host_path(zoo / name, kind))
    assert str(raised.value) == complaint.format(zoo=zoo)
