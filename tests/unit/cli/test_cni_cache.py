"""Which of the results that containerd's CNI library keeps are a node's own."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from cli.cni_cache import ours

STATE = Path("/run/orlop/cni")
NAMESPACE = "/var/run/netns/cni-1"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """As containerd 1.6 writes them: two of a sandbox of ours, one of a pod of ours, and those of others."""
    write(tmp_path, "orlop", "box1", "u1", {"name": "orlop", "plugins": [{"stateDir": str(STATE)}]})
    write(tmp_path, "cni-loopback", "box1", "u1", {"name": "cni-loopback"})
    write(tmp_path, "cni-loopback", "box2", "u2", {"name": "cni-loopback"})
    write(tmp_path, "cni-loopback", "box3", "u3", {"name": "cni-loopback"})
    write(tmp_path, "orlop", "box4", "u4", {"name": "orlop", "plugins": [{"stateDir": "/run/orlop/cni2"}]})
    (tmp_path / "damaged").write_text("{")
    (tmp_path / "other").write_text('["no result"]')
    (tmp_path / "folder").mkdir()
    return tmp_path


def write(folder: Path, network: str, container: str, uid: str, configuration: dict[str, object]) -> None:
    content = {
        "kind": "cniCacheV1",
        "containerId": container,
        "config": base64.b64encode(json.dumps(configuration).encode()).decode(),
        "ifName": "eth0",
        "networkName": network,
        "cniArgs": [["K8S_POD_NAME", "web"], ["K8S_POD_UID", uid]],
        "result": {"interfaces": [{"name": "bridge"}, {"name": "eth0", "sandbox": NAMESPACE}]},
    }
    (folder / f"{network}-{container}-eth0").write_text(json.dumps(content))


def names(results: Path, pods: set[str]) -> list[str]:
    return [each.file.name for each in ours(pods, STATE, results)]


def test_a_network_of_ours_names_its_sandboxes_and_those_name_the_rest(results: Path) -> None:
    assert names(results, set()) == ["cni-loopback-box1-eth0", "orlop-box1-eth0"]
    assert {each.namespace for each in ours(set(), STATE, results)} == {NAMESPACE}


def test_a_pod_of_ours_is_enough(results: Path) -> None:
    assert "cni-loopback-box2-eth0" in names(results, {"u2", "u9"})
    assert "cni-loopback-box3-eth0" not in names(results, {"u2", "u9"})


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert ours({"u1"}, STATE, tmp_path / "absent") == []
