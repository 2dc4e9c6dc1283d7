"""What an operator does to a node and to running pods: cordon, taints, debugging, a runtime of their own."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from cri.client import RuntimeClient
from proto import cri_pb2 as cri
from tests.node.cluster.installation import Installation, admit_pods
from tests.node.cluster.kubectl import Kubectl, rows
from tests.node.cluster.manifests import container, once, pod
from tests.node.cluster.waiting import eventually
from tests.node.containerd import TOOLBOX, Containerd

pytestmark = pytest.mark.node


def test_cordoning(kubectl: Kubectl, node: Installation) -> None:
    assert kubectl("cordon", node.name) == f"node/{node.name} cordoned\n"
    try:
        assert rows(kubectl("get", "node", node.name))[0][1] == "Ready,SchedulingDisabled"
        kubectl.apply(pod("waits"))
        kubectl.expect_event("waits", "FailedScheduling", "0/1 nodes are available: 1 node(s) were unschedulable.")
    finally:
        assert kubectl("uncordon", node.name) == f"node/{node.name} uncordoned\n"
    kubectl.wait("pod/waits", "condition=Ready")


def test_taints_keep_pods_off_and_send_them_away(kubectl: Kubectl, node: Installation) -> None:
    tolerant = {"tolerations": [{"key": "broken", "operator": "Exists", "effect": "NoExecute"}]}
    patient = {"tolerations": [tolerant["tolerations"][0] | {"tolerationSeconds": 2}]}
    kubectl.apply(pod("leaves"), pod("stays", **tolerant), pod("leaves-later", **patient))
    for name in ("leaves", "stays", "leaves-later"):
        kubectl.wait(f"pod/{name}", "condition=Ready")
    assert kubectl("taint", "node", node.name, "broken=yes:NoExecute") == f"node/{node.name} tainted\n"
    begun = time.monotonic()
    try:
        kubectl.expect_event("leaves", "TaintManagerEviction", "Marking for deletion Pod")
        kubectl.wait("pod/leaves", "delete")
        kubectl.wait("pod/leaves-later", "delete")
        assert time.monotonic() - begun >= 2
        assert kubectl.field("pod/stays", ".status.phase") == "Running"
        kubectl.apply(pod("kept-off"))
        kubectl.expect_event("kept-off", "FailedScheduling", "1 node(s) had untolerated taint(s)")
    finally:
        kubectl("taint", "node", node.name, "broken-")
    kubectl.wait("pod/kept-off", "condition=Ready")


def test_pods_that_ask_for_too_much(kubectl: Kubectl) -> None:
    kubectl.apply(pod("greedy", container(resources={"requests": {"cpu": "1000", "memory": "1000Ti"}})))
    text = kubectl.expect_event("greedy", "FailedScheduling")
    assert text.startswith("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.")


def test_a_container_added_for_debugging(kubectl: Kubectl) -> None:
    kubectl.start_pod(pod("box"))
    with kubectl.at_terminal("debug", "-it", "box", f"--image={TOOLBOX}", "-c", "helper", "--", "sh") as terminal:
        terminal.type("\n")
        terminal.expect("# ")
        terminal.type("hostname; exit 3\n")
        terminal.expect("box\n")
    eventually(
        lambda: kubectl.field("pod/box", ".status.ephemeralContainerStatuses[0].state.terminated.exitCode") == "3",
        "the helper's end",
    )
    assert kubectl.field("pod/box", ".status.containerStatuses[0].restartCount") == "0"


def test_a_node_on_a_runtime_that_was_there_before(containerd: Containerd) -> None:
    """`--container-runtime-endpoint`: pods go to the stranger's runtime, and only they are taken from it at the end."""
    other = asyncio.run(_sandbox_of_somebody_else(containerd))
    node = Installation("--container-runtime-endpoint", containerd.endpoint, "--no-network-plugin")
    try:
        node.up()
        admit_pods(node)
        kubectl = node.kubectl
        kubectl.wait("serviceaccount/default", "create")
        assert kubectl.run_pod(once("guest", "echo guest")) == "guest\n"
        kubectl.start_pod(pod("lodger"))
        assert not node.pid("containerd")
        assert len(asyncio.run(_sandboxes(containerd))) == 3
        node.down(foreign_runtime=containerd.endpoint)
        assert asyncio.run(_sandboxes(containerd)) == [other]
    except BaseException:
        print(node.log_tails())
        raise
    finally:
        if Path(node.run).exists():
            node.down(foreign_runtime=containerd.endpoint)
        asyncio.run(_remove(containerd, other))
        shutil.rmtree(node.folder, ignore_errors=True)


async def _sandbox_of_somebody_else(containerd: Containerd) -> str:
    client = RuntimeClient(containerd.endpoint)
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="other", uid="other", namespace="other"),
        linux=cri.LinuxPodSandboxConfig(cgroup_parent=containerd.cgroup_parent),
    )
    try:
        return await client.run_pod_sandbox(config)
    finally:
        await client.close()


async def _sandboxes(containerd: Containerd) -> list[str]:
    client = RuntimeClient(containerd.endpoint)
    try:
        return [one.id for one in await client.list_pod_sandbox()]
    finally:
        await client.close()


async def _remove(containerd: Containerd, sandbox: str) -> None:
    client = RuntimeClient(containerd.endpoint)
    try:
        await client.stop_pod_sandbox(sandbox)
        await client.remove_pod_sandbox(sandbox)
    finally:
        await client.close()
