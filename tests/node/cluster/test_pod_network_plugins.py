"""Networks that come late, from strangers, or are told twice to go (scenarios 31 and 33)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cri.client import RuntimeClient
from tests.node.cluster.footprint import namespaces_of
from tests.node.cluster.installation import Installation, admit_pods
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import once, pod
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node

STATUS_PERIOD = 10.0
PROGRAMS = ("bridge", "host-local", "loopback", "portmap")


@pytest.fixture(scope="module")
def without_network() -> Iterator[Installation]:
    """A node whose operator brings the pod network; it is not Ready, and so `orlop up` is still waiting."""
    node = Installation("--no-network-plugin")
    process = node.start_up()
    try:
        eventually(lambda: (node.config / "admin.kubeconfig").exists(), "an API server", 60.0)
        eventually(lambda: node.kubectl.run("get", "node", node.name).returncode == 0, "the node", 60.0)
        bin_dir = node.data / "cni" / "bin"
        for name in PROGRAMS:
            shutil.copy(f"/usr/lib/cni/{name}", bin_dir / name)
        yield node
    except BaseException:
        print(node.log_tails())
        raise
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        subprocess.run(["ip", "link", "delete", f"{node.bridge}x"], capture_output=True, timeout=10, check=False)
        node.down()
        node.forget()


def ready(node: Installation) -> tuple[str, str, str]:
    conditions = {one["type"]: one for one in node.kubectl.get("node", node.name)["status"]["conditions"]}
    return conditions["Ready"]["status"], conditions["Ready"]["reason"], conditions["Ready"]["message"]


def configuration(node: Installation) -> str:
    """Debian's plugins; the bridge's name is marked so that it is the test that removes it."""
    ipam = {
        "type": "host-local",
        "dataDir": str(node.run / "addresses"),
        "ranges": [[{"subnet": node.pod_cidr}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": f"{node.bridge}x", "isGateway": True, "ipam": ipam}
    return json.dumps({"cniVersion": "1.0.0", "name": "strange", "plugins": [bridge]})


def test_a_node_without_a_network_says_where_it_looks(without_network: Installation) -> None:
    node = without_network
    status, reason, message = eventually(lambda: ready(node), "a condition")
    assert (status, reason) == ("False", "KubeletNotReady")
    assert "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady" in message
    assert str(node.config / "cni" / "net.d") in message
    taints = node.kubectl.get("node", node.name)["spec"]["taints"]
    assert {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"} in [
        {"key": one["key"], "effect": one["effect"]} for one in taints
    ]


@pytest.mark.parametrize("way", ["written", "renamed", "linked"])
def test_the_node_is_ready_soon_after_the_configuration_appears(without_network: Installation, way: str) -> None:
    node = without_network
    folder = node.config / "cni" / "net.d"
    file = folder / "10-strange.conflist"
    aside = node.folder / "strange.conflist"
    aside.write_text(configuration(node))
    begun = time.monotonic()
    if way == "written":
        file.write_text(configuration(node))
    elif way == "renamed":
        hidden = folder / ".strange.tmp"
        shutil.copy(aside, hidden)
        hidden.rename(file)
    else:
        file.symlink_to(aside)
    eventually(lambda: ready(node)[0] == "True", "a ready node", STATUS_PERIOD + 10)
    took = time.monotonic() - begun
    assert took < STATUS_PERIOD + 5, f"took {took:.1f} s"
    admit_pods(node)
    name = f"pod-{way}"
    node.kubectl.wait("serviceaccount/default", "create")
    said = node.kubectl.run_pod(once(name, "ip -4 -o addr show eth0"))
    assert f"inet {node.pod_cidr.rpartition('.')[0]}." in said
    node.kubectl("delete", "pod", name)
    file.unlink()
    node.killed_and_back("agent")  # it looks at once where it would have looked within a period
    eventually(lambda: ready(node)[0] == "False", "a node without a network again", STATUS_PERIOD + 10)


def test_ending_an_attachment_again_and_again_succeeds(kubectl: Kubectl, node: Installation) -> None:
    kubectl.start_pod(pod("victim"))
    uid = kubectl.field("pod/victim", ".metadata.uid")
    sandbox = asyncio.run(_sandbox(node.runtime_endpoint, uid))
    (space,) = asyncio.run(namespaces_of(node.runtime_endpoint, sandbox))
    for container in (sandbox, sandbox, "never-was"):
        done = _delete(node, container, space)
        assert done.returncode == 0, done.stdout
    # The runtime does it once more.
    kubectl("delete", "pod", "victim")
    kubectl.run_pod(once("next", "true"))


def _delete(node: Installation, container: str, space: str) -> subprocess.CompletedProcess[str]:
    network = json.loads((node.config / "cni" / "net.d" / "10-orlop.conflist").read_text())
    call = network["plugins"][0] | {"cniVersion": "1.0.0", "name": network["name"]}
    environment = {
        "CNI_COMMAND": "DEL",
        "CNI_CONTAINERID": container,
        "CNI_NETNS": space,
        "CNI_IFNAME": "eth0",
        "CNI_PATH": str(node.data / "cni" / "bin"),
        "PATH": os.environ["PATH"],
    }
    program = Path(node.data, "cni", "bin", "orlop-cni")
    return subprocess.run(
        [program], input=json.dumps(call), capture_output=True, text=True, env=environment, timeout=30, check=False
    )


async def _sandbox(endpoint: str, uid: str) -> str:
    client = RuntimeClient(endpoint)
    try:
        (one,) = [one for one in await client.list_pod_sandbox() if one.labels["io.kubernetes.pod.uid"] == uid]
    finally:
        await client.close()
    return str(one.id)
