"""Which of the results that containerd's CNI library keeps are a node's own."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection
from pathlib import Path

import pytest

from cli.cni_cache import Owner, ours, remove_damaged
from cli.layout import Layout

STATE = Path("/run/orlop/cni")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """As containerd 1.6 writes them: two of a sandbox of ours, one of a pod of ours, and those of others."""
    write(tmp_path, "orlop", "box1", "u1", {"name": "orlop", "plugins": [{"stateDir": str(STATE)}]})
    write(tmp_path, "cni-loopback", "box1", "u1", {"name": "cni-loopback"})
    write(tmp_path, "cni-loopback", "box2", "u2", {"name": "cni-loopback"})
    write(tmp_path, "cni-loopback", "box3", "u3", {"name": "cni-loopback"})
    write(tmp_path, "orlop", "box4", "u4", {"name": "orlop", "plugins": [{"stateDir": "/run/orlop/cni2"}]})
    (tmp_path / "damaged").write_text("{")
    (tmp_path / "a-folder-eth0").mkdir()
    return tmp_path


def write(folder: Path, network: str, container: str, uid: str, configuration: dict[str, object]) -> None:
    content = {
        "kind": "cniCacheV1",
        "containerId": container,
        "config": base64.b64encode(json.dumps(configuration).encode()).decode(),
        "ifName": "eth0",
        "networkName": network,
        "cniArgs": [["K8S_POD_NAME", "web"], ["K8S_POD_UID", uid]],
        "result": {"interfaces": [{"name": "bridge"}, {"name": "eth0", "sandbox": "/run/netns/cni-1"}]},
    }
    (folder / f"{network}-{container}-eth0").write_text(json.dumps(content))


def names(results: Path, pods: Collection[str] = (), containers: Collection[str] = ()) -> list[str]:
    owner = Owner(set(pods), {"orlop"}, set(containers), STATE)
    return [each.file.name for each in ours(owner, results)]


def test_a_network_of_ours_names_its_sandboxes_and_those_name_the_rest(results: Path) -> None:
    assert names(results) == ["cni-loopback-box1-eth0", "orlop-box1-eth0"]


def test_a_pod_of_ours_is_enough(results: Path) -> None:
    assert "cni-loopback-box2-eth0" in names(results, {"u2", "u9"})
    assert "cni-loopback-box3-eth0" not in names(results, {"u2", "u9"})


def test_a_sandbox_that_holds_an_address_of_ours_is_enough(results: Path) -> None:
    assert "cni-loopback-box3-eth0" in names(results, containers={"box3"})


def test_what_is_empty_is_known_by_the_name_of_the_network_or_the_sandbox(results: Path) -> None:
    """containerd was killed between making the file and writing to it."""
    for name in ("orlop-box5-eth0", "orlop-2-box6-eth0", "cni-loopback-box5-lo", "cni-loopback-box7-lo"):
        (results / name).touch()
    ours_alone = {"orlop-box5-eth0", "cni-loopback-box5-lo"}
    others = {"orlop-2-box6-eth0", "cni-loopback-box7-lo"}
    assert ours_alone <= set(names(results))
    assert not others & set(names(results))
    assert "cni-loopback-box7-lo" in names(results, containers={"box7"})


def test_what_is_empty_is_removed_before_it_keeps_a_sandbox_from_being_taken_down(
    results: Path, tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "data", tmp_path / "etc", tmp_path / "run")
    layout.cni_config.mkdir(parents=True)
    (layout.cni_config / "10-orlop.conflist").write_text(json.dumps({"name": "orlop", "plugins": [{"type": "bridge"}]}))
    before = {file.name for file in results.iterdir()}
    for name in ("orlop-box5-eth0", "cni-loopback-box5-lo", "theirs-box6-eth0"):
        (results / name).touch()
    remove_damaged(layout, results)
    assert {file.name for file in results.iterdir()} == {*before, "theirs-box6-eth0"}


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert ours(Owner({"u1"}, {"orlop"}, set(), STATE), tmp_path / "absent") == []


def test_what_is_known_of_the_owner_is_read_from_its_folders(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "data", tmp_path / "etc", tmp_path / "run")
    assert Owner.of(layout, {"u1"}) == Owner({"u1"}, set(), set(), layout.cni_state)
    layout.cni_config.mkdir(parents=True)
    plugins = [{"type": "bridge"}]
    (layout.cni_config / "10-mine.conflist").write_text(json.dumps({"name": "mine", "plugins": plugins}))
    (layout.cni_config / "20-damaged.conf").write_text("{")
    (layout.cni_state / "mine").mkdir(parents=True)
    (layout.cni_state / "mine" / "10.0.0.2,box1,eth0").write_text("{}")
    (layout.cni_state / "mine" / "next").write_text("10.0.0.3")
    assert Owner.of(layout, {"u1"}) == Owner({"u1"}, {"mine"}, {"box1"}, layout.cni_state)
