"""A node on a real machine: systemd, cgroup v2, power cuts.

The tests share one machine, since a boot and a start take minutes under emulation; each finds a node that is up, with
the hello Deployment on it, and leaves one or none.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.vm.conftest import lab
from tests.vm.image import PROJECT_AT, Image
from tests.vm.node import KUBECTL, Node, container, sleeper

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1800)]

MIB = 1 << 20
POWER_CUTS = 3
WRITES = 300
ACKNOWLEDGED_BEFORE_THE_CUT = 30
GUARANTEED = sleeper(
    "guaranteed", {"requests": {"cpu": "100m", "memory": "48Mi"}, "limits": {"cpu": "100m", "memory": "48Mi"}}
)
BURSTABLE = sleeper(
    "burstable", {"requests": {"cpu": "250m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}
)
BEST_EFFORT = sleeper("best-effort", {})


@dataclass(frozen=True, slots=True)
class Installed:
    """A machine that has all that a node needs, and what was there before there ever was one."""

    node: Node
    before: dict[str, set[str]]


@pytest.fixture(scope="module")
def installed(vm_image: Image, vm_project: Path) -> Iterator[Installed]:
    with lab(vm_image, vm_project) as make:
        (machine,) = make("node-1")
        machine.boot()
        node = Node(machine)
        yield Installed(node, node.traces())


@pytest.fixture
def node(installed: Installed) -> Node:
    """A node that is up, with the hello Deployment rolled out."""
    node = installed.node
    if node.machine.shell("test -e /run/orlop/supervisor.pid || echo down"):
        node.up()
    node.kubectl(f"apply -f {PROJECT_AT}/examples/hello.yaml")
    node.wait("deployment/hello", "condition=Available")
    return node


def assert_answers(node: Node, pods: dict[str, Any]) -> None:
    """Both replicas of the hello Deployment are among `pods` and say their names."""
    hello = {name: pod for name, pod in pods.items() if pod["metadata"].get("labels", {}).get("app") == "hello"}
    assert len(hello) == 2
    for name, pod in hello.items():
        assert node.answers(pod["status"]["podIP"]) == f"hello from {name} on node-1"


def identities(pods: dict[str, Any]) -> dict[str, str]:
    """UIDs by name."""
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


def running_again(restarts: dict[str, int], pods: dict[str, Any]) -> bool:
    """Whether all are ready after so many restarts.

    The status is the one from before the power cut until the agent has seen that the containers are gone.
    """
    return all(
        container(pod)["ready"] and container(pod)["restartCount"] >= restarts[name] for name, pod in pods.items()
    )


def test_the_hello_deployment_answers_over_its_pods_addresses(node: Node) -> None:
    assert_answers(node, node.items("pods"))


def test_a_node_outlives_the_login_that_started_it(node: Node) -> None:
    """The machine's logind kills what a session leaves behind."""
    pid = node.machine.shell("cat /run/orlop/supervisor.pid").strip()
    ours = node.machine.shell("loginctl list-sessions --no-legend").splitlines()
    assert len(ours) == 1, "only the login of the harness is left"
    assert node.machine.shell(f"cat /proc/{pid}/cgroup").strip() == f"0::/system.slice/orlop-{pid}.scope"


def test_requests_and_limits_are_in_the_files_of_cgroup_v2(node: Node) -> None:
    node.apply(GUARANTEED, BURSTABLE, BEST_EFFORT)
    names = ("guaranteed", "burstable", "best-effort")
    node.wait(" ".join(f"pod/{name}" for name in names), "condition=Ready")
    pods = node.items("pods")

    def path(name: str, quality: str, *, inner: bool) -> str:
        below = container(pods[name])["containerID"].removeprefix("containerd://") if inner else ""
        return f"{quality}/pod{pods[name]['metadata']['uid']}/{below}"

    # cpu.weight follows from shares (1024 for a core) as runtimes work it out: 1 + (shares - 2) * 9999 / 262142.
    for inner in (False, True):
        guaranteed = node.cgroup(path("guaranteed", "", inner=inner))
        assert guaranteed["cpu.weight"] == "4"  # 102 shares
        assert guaranteed["cpu.max"] == "10000 100000"
        assert guaranteed["memory.max"] == str(48 * MIB)
        burstable = node.cgroup(path("burstable", "burstable", inner=inner))
        assert burstable["cpu.weight"] == "10"  # 256 shares
        assert burstable["cpu.max"] == "50000 100000"
        assert burstable["memory.max"] == str(64 * MIB)
        best_effort = node.cgroup(path("best-effort", "besteffort", inner=inner))
        assert best_effort["cpu.weight"] == "1"
        assert best_effort["cpu.max"] == "max 100000"
        assert best_effort["memory.max"] == "max"
        # Out of memory, a container dies as a whole (kubelet configuration, singleProcessOOMKill).
        assert guaranteed["memory.oom.group"] == ("1" if inner else "0")

    classes = {name: node.cgroup(name) for name in ("burstable", "besteffort")}
    hello = 2 * 10  # milli-CPU that the Deployment requests
    shares = (250 + hello) * 1024 // 1000
    assert classes["burstable"]["cpu.weight"] == str(1 + (shares - 2) * 9999 // 262142)
    assert classes["besteffort"]["cpu.weight"] == "1"
    top = node.cgroup("")
    allocatable = node.items("nodes")["node-1"]["status"]["allocatable"]
    assert allocatable["cpu"] == "2"
    assert top["cpu.weight"] == "79"  # of 2048 shares
    assert int(top["memory.max"]) >= int(allocatable["memory"].removesuffix("Ki")) * 1024
    controllers = node.machine.shell("cat /sys/fs/cgroup/kubepods/burstable/cgroup.subtree_control").split()
    assert {"cpuset", "cpu", "io", "memory", "pids"} <= set(controllers)


def test_a_container_out_of_memory_is_killed_whole_and_reported(node: Node) -> None:
    greedy = sleeper(
        "greedy",
        {"limits": {"memory": "32Mi"}},
        "dd if=/dev/zero of=/dev/null bs=100M count=1; exec sleep 1000000",
    )
    greedy["spec"]["restartPolicy"] = "Never"
    node.apply(greedy)
    node.wait("pod/greedy", "jsonpath={.status.phase}=Failed")
    ended = container(node.items("pods")["greedy"])["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    node.kubectl("delete pod greedy")
    assert "greedy" not in node.items("pods")


def test_a_node_comes_back_from_power_cuts_with_all_it_acknowledged(node: Node) -> None:
    node.apply(GUARANTEED)
    node.wait("pod/guaranteed", "condition=Ready")
    before = node.items("pods")
    restarts = {name: container(pod)["restartCount"] for name, pod in before.items()}
    acknowledged: set[str] = set()
    for cut in range(1, POWER_CUTS + 1):
        acknowledged |= _cut_the_power_while_writing(node, cut)
        node.machine.boot()
        assert "is ready" in node.up()
        expected = {name: count + cut for name, count in restarts.items()}
        pods = node.eventually("pods", partial(running_again, expected))
        assert identities(pods) == identities(before)
        assert {name: container(pod)["restartCount"] for name, pod in pods.items()} == expected
        assert all(container(pod)["ready"] for pod in pods.values())
        assert_answers(node, pods)
        assert node.leased() == sorted(pod["status"]["podIP"] for pod in pods.values())
        uids = set(identities(pods).values())
        assert node.pod_cgroups() == uids
        assert node.pod_folders() == uids
        assert acknowledged <= set(node.items("configmaps"))


def _cut_the_power_while_writing(node: Node, cut: int) -> set[str]:
    """Pull the plug amid a series of writes; returns the names of the objects that kubectl was told are created."""
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"cut-{cut}-{number}"}}
        for number in range(WRITES)
    ]
    text = shlex.quote("\n".join(json.dumps(each) for each in maps))
    acknowledged: set[str] = set()
    with node.machine.running(f"printf %s {text} | {KUBECTL} create -f - 2>&1") as output:
        for line in output:
            name, _, what = line.strip().partition(" ")
            if what == "created":
                acknowledged.add(name.removeprefix("configmap/"))
            if len(acknowledged) == ACKNOWLEDGED_BEFORE_THE_CUT:
                node.machine.pull_the_plug()  # what is still in the pipe was acknowledged as well
    assert ACKNOWLEDGED_BEFORE_THE_CUT <= len(acknowledged) < WRITES
    return acknowledged


def test_down_with_purge_leaves_nothing(installed: Installed, node: Node) -> None:
    node.down(purge=True)
    after = node.traces()
    left = {kind: sorted(things - installed.before[kind]) for kind, things in after.items()}
    assert {kind: things for kind, things in left.items() if things} == {}
