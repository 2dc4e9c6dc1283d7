"""Static pods: manifests in a folder of the node, and their mirrors in the API."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.node.cluster.footprint import cgroups
from tests.node.cluster.installation import Installation
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import Manifest, container, pod, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node


def static(kubectl: Kubectl, text: str = "static") -> Manifest:
    made = pod("web", container(command=shell(f"echo {text}; sleep infinity")))
    made["metadata"]["namespace"] = kubectl.namespace
    return made


@contextmanager
def manifest(node: Installation, kubectl: Kubectl) -> Iterator[Path]:
    """A manifest in the node's folder for as long as the block lasts, written whole or not at all."""
    path = node.manifests / f"{kubectl.namespace}.yaml"
    write(path, static(kubectl))
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def write(path: Path, content: Manifest) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_text(yaml.safe_dump(content))
    new.rename(path)


def running(node: Installation, uid: str) -> bool:
    return any(any(group.glob(f"**/*pod{uid}*")) for group in cgroups(node.cgroup))


def test_a_static_pod_and_its_mirror(kubectl: Kubectl, node: Installation) -> None:
    mirror = f"web-{node.name}"
    with manifest(node, kubectl) as path:
        kubectl.wait(f"pod/{mirror}", "create")
        kubectl.wait(f"pod/{mirror}", "condition=Ready")
        assert kubectl("logs", mirror) == "static\n"
        made = kubectl.get("pod", mirror)
        assert made["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
        uid = made["metadata"]["annotations"]["kubernetes.io/config.hash"]
        assert made["metadata"]["annotations"]["kubernetes.io/config.mirror"] == uid
        assert [one["kind"] for one in made["metadata"]["ownerReferences"]] == ["Node"]
        assert running(node, uid)

        # The mirror is only an image: breaking it does no harm, and there is soon another.
        kubectl("delete", "pod", mirror, "--wait=false")
        eventually(
            lambda: kubectl.field(f"pod/{mirror}", ".metadata.uid") != made["metadata"]["uid"], "another mirror", 20
        )
        kubectl.wait(f"pod/{mirror}", "condition=Ready")
        status = kubectl.get("pod", mirror)["status"]["containerStatuses"][0]
        assert status["containerID"] == made["status"]["containerStatuses"][0]["containerID"]

        write(path, static(kubectl, "changed"))
        eventually(lambda: kubectl("logs", mirror) == "changed\n", "the changed pod", 30)
    kubectl.wait(f"pod/{mirror}", "delete")
    eventually(lambda: not running(node, uid), "the first pod's end")


def test_a_manifest_that_goes_while_the_api_server_is_away(kubectl: Kubectl, node: Installation) -> None:
    """Scenario 15: the pod is stopped all the same, and its mirror goes once the server is back."""
    mirror = f"web-{node.name}"
    with manifest(node, kubectl) as path:
        kubectl.wait(f"pod/{mirror}", "create")
        kubectl.wait(f"pod/{mirror}", "condition=Ready")
        uid = kubectl.field(f"pod/{mirror}", ".metadata.annotations.kubernetes\\.io/config\\.hash")
        server = node.pid("apiserver")
        os.kill(server, signal.SIGSTOP)
        try:
            path.unlink()
            eventually(lambda: not running(node, uid), "the pod's end without a server", 30)
        finally:
            os.kill(server, signal.SIGCONT)
    kubectl.wait(f"pod/{mirror}", "delete", 60)


def test_a_damaged_manifest_harms_no_other(kubectl: Kubectl, node: Installation) -> None:
    damaged = node.manifests / f"{kubectl.namespace}-damaged.yaml"
    damaged.write_text("apiVersion: v1\nkind: Pod\nspec: [nonsense\n")
    try:
        with manifest(node, kubectl):
            kubectl.wait(f"pod/web-{node.name}", "create")
            kubectl.wait(f"pod/web-{node.name}", "condition=Ready")
    finally:
        damaged.unlink()
    kubectl.wait(f"pod/web-{node.name}", "delete")
