"""Mounts: volumes, sub-paths, the agent's own files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts, Places
from agent.runtime.mounts import Mounts, SubPathBind, own_mounts, volume_mounts
from agent.runtime.opening import open_beneath
from agent.runtime.preparing import prepare_container
from agent.runtime.subpaths import FakeSubPaths, KernelSubPaths, SubPathError, is_outside
from agent.runtime.volume_files import read_volume_file
from proto import cri_pb2 as cri
from tests.unit.agent.pod_builders import UID, pod

PLACES = Places(root=Path("/agent"), pod_logs=Path("/logs"))


@dataclass
class Volume:
    path: str
    read_only: bool = False
    selinux_relabel: bool = True


VOLUMES = {"data": Volume("/vol/data"), "fixed": Volume("/vol/fixed", read_only=True, selinux_relabel=False)}


def mounted(*mounts: dict[str, Any], facts: NodeFacts | None = None, **spec: Any) -> Mounts:
    one = pod({"name": "app", "volumeMounts": list(mounts)}, **spec)
    return volume_mounts(
        one, one.spec.containers[0], VOLUMES, {"NAME": "x", "UP": ".."}, facts or NodeFacts("node"), PLACES
    )


def test_a_volume_is_mounted_where_it_is_wanted() -> None:
    (first, second) = mounted(
        {"name": "data", "mountPath": "/data", "mountPropagation": "HostToContainer"},
        {"name": "fixed", "mountPath": "relative"},
    ).mounts
    assert first == cri.Mount(
        container_path="/data",
        host_path="/vol/data",
        selinux_relabel=True,
        propagation=cri.PROPAGATION_HOST_TO_CONTAINER,
    )
    assert second == cri.Mount(container_path="/relative", host_path="/vol/fixed", readonly=True)


def test_sub_paths_are_bound_to_a_place_of_the_pods() -> None:
    made = mounted(
        {"name": "data", "mountPath": "/a", "subPath": "a/b"},
        {"name": "data", "mountPath": "/c", "subPathExpr": "logs/$(NAME)", "readOnly": True},
    )
    places = [f"/agent/pods/{UID}/volume-subpaths/data/app/{index}" for index in (0, 1)]
    assert [mount.host_path for mount in made.mounts] == places
    assert [(str(bind.volume), bind.sub_path, str(bind.target)) for bind in made.binds] == [
        ("/vol/data", "a/b", places[0]),
        ("/vol/data", "logs/x", places[1]),
    ]
    assert made.mounts[1].readonly


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ({"name": "gone", "mountPath": "/x"}, 'cannot find volume "gone" to mount into container "app"'),
        ({"name": "data", "mountPath": "/x", "subPath": "/etc"}, "error SubPath `/etc` must not be an absolute path"),
        ({"name": "data", "mountPath": "/x", "subPath": "a/../.."}, "unable to provision SubPath `a/../..`: "),
        ({"name": "data", "mountPath": "/x", "subPathExpr": "$(UP)/etc"}, "unable to provision SubPath `../etc`: "),
        ({"name": "data", "mountPath": "/x", "subPathExpr": "$(NOPE)/$(NO)"}, "missing value for NO, NOPE"),
        ({"name": "data", "mountPath": "/x", "mountPropagation": "Sideways"}, 'invalid MountPropagation mode: "Side'),
        (
            {"name": "data", "mountPath": "/x", "readOnly": True, "recursiveReadOnly": "Enabled"},
            'volume "data" requested recursive read-only mode, but it is not supported by the runtime',
        ),
    ],
)
def test_what_cannot_be_mounted_is_refused(mount: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        mounted(mount)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("wanted", "supported", "recursive"),
    [(None, True, False), ("Disabled", True, False), ("IfPossible", True, True), ("IfPossible", False, False)],
)
def test_recursive_read_only(wanted: str | None, supported: bool, recursive: bool) -> None:
    mount = {"name": "data", "mountPath": "/x", "readOnly": True, "recursiveReadOnly": wanted}
    (made,) = mounted(mount, facts=NodeFacts("node", recursive_read_only=supported)).mounts
    assert made.readonly and made.recursive_read_only is recursive


def test_images_are_mounted_by_the_runtime() -> None:
    (made,) = mounted(
        {"name": "model", "mountPath": "/model", "subPath": "weights"},
        volumes=[{"name": "model", "image": {"reference": "registry/model:1"}}],
    ).mounts
    assert made.image.image == "registry/model:1"
    assert (made.image_sub_path, made.readonly, made.host_path) == ("weights", True, "")


def test_the_agents_own_files() -> None:
    hosts, words = Path("/agent/pods/u/etc-hosts"), Path("/agent/pods/u/containers/app/termination-0")
    plain = pod({"name": "app", "terminationMessagePath": "/dev/termination-log"}).spec.containers[0]
    assert [(one.container_path, one.host_path) for one in own_mounts(plain, hosts, words)] == [
        ("/etc/hosts", str(hosts)),
        ("/dev/termination-log", str(words)),
    ]
    bare = pod({"name": "app", "volumeMounts": [{"name": "v", "mountPath": "/etc/hosts"}]}).spec.containers[0]
    assert own_mounts(bare, hosts, words) == []


@pytest.mark.parametrize(
    ("path", "outside"), [("a/b", False), ("a..b", False), ("..", True), ("a/..", True), ("/a", True), ("", False)]
)
def test_paths_that_lead_out(path: str, outside: bool) -> None:
    assert is_outside(path) is outside


def test_opening_beneath_a_folder_never_leaves_it(tmp_path: Path) -> None:
    folder = tmp_path / "volume"
    (folder / "in/side").mkdir(parents=True)
    (folder / "in/file").write_text("content")
    (folder / "link").symlink_to("in")
    (folder / "out").symlink_to(tmp_path)
    (folder / "absolute").symlink_to("/etc/hostname")
    descriptor = open_beneath(folder, "link/file", os.O_RDONLY)
    assert os.read(descriptor, 10) == b"content"
    os.close(descriptor)
    for path in ("out", "absolute", "../secret", "in/../../x"):
        with pytest.raises(OSError, match=r"(Invalid cross-device link|No such file)"):
            open_beneath(folder, path, os.O_RDONLY)


def test_the_double_refuses_what_the_kernel_would() -> None:
    fake = FakeSubPaths()
    fake.bind(Path("/vol"), "a", Path("/agent/p/volume-subpaths/v/c/0"))
    assert fake.bound == {Path("/agent/p/volume-subpaths/v/c/0"): (Path("/vol"), "a")}
    for double in (fake, KernelSubPaths()):
        with pytest.raises(SubPathError, match="leads out of the volume"):
            double.bind(Path("/vol"), "../a", Path("/agent/x"))


@pytest.mark.parametrize(
    ("sub_path", "step"),
    [
        ("out", "prepare subPath"),
        ("up", "prepare subPath"),
        ("file/below", "prepare subPath"),
        ("dangling", "create subPath directory"),
        ("dangling/below", "create subPath directory"),
    ],
)
def test_a_sub_path_that_is_refused_tells_users_nothing_of_the_host(tmp_path: Path, sub_path: str, step: str) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "out").symlink_to("/etc")
    (volume / "up").symlink_to("../..")
    (volume / "file").touch()
    (volume / "dangling").symlink_to("nowhere")
    with pytest.raises(ConfigError) as raised:
        prepare_container(
            "app",
            log_folder=tmp_path / "log",
            hosts=None,
            termination=tmp_path / "words",
            binds=[SubPathBind(volume, sub_path, tmp_path / "places/0", "data")],
            sub_paths=KernelSubPaths(),
        )
    assert str(raised.value) == f'failed to {step} for volumeMount "data" of container "app"'


def test_files_of_variables_are_read_inside_their_volume(tmp_path: Path) -> None:
    (tmp_path / "app.env").write_text("A='one'")
    (tmp_path / "out").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe")
    volumes = {"data": Volume(str(tmp_path))}
    assert read_volume_file(volumes, "data", "app.env") == "A='one'"
    assert read_volume_file(volumes, "data", "gone") is None
    for volume, path, message in (
        ("other", "app.env", "cannot find volume"),
        ("data", "../x", "leads out"),
        ("data", "out", "couldn't read env file"),
        ("data", "pipe", "not a regular file"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_volume_file(volumes, volume, path)
