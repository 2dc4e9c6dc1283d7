"""`kill -9` of each part of a node, and of all at once: what runs goes on, and the node comes back by itself."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.node.cluster.accounts import balanced, leases
from tests.node.cluster.bystander import bystander
from tests.node.cluster.conftest import namespace
from tests.node.cluster.footprint import Footprint, cgroups, node_processes
from tests.node.cluster.installation import Installation, admit_pods, running
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, deployment, once, pod
from tests.node.cluster.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def mortal() -> Iterator[Installation]:
    """A node to be killed. At the end its network plugin is broken: `orlop down` must leave nothing all the same."""
    with running() as one:
        yield one
        balanced(one)
        kubectl = one.kubectl
        kubectl("create", "namespace", "last")
        kubectl.within("last").wait("serviceaccount/default", "create")
        kubectl.within("last").start_pod(pod("survivor"))
        plugin = one.data / "cni" / "bin" / "orlop-cni"
        plugin.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")


@pytest.fixture
def kubectl(mortal: Installation, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own on that node, where no other pods are."""
    yield from namespace(mortal, request)
    eventually(lambda: not mortal.kubectl.items("pods", "-A"), "no pods", 60.0)


def release(version: int) -> dict[str, object]:
    web = container(env=[{"name": "VERSION", "value": str(version)}], readinessProbe={"exec": {"command": ["true"]}})
    return deployment("web", 4, web)


def converged(kubectl: Kubectl, version: int) -> bool:
    pods = kubectl.items("pods", "-l", "app=web")
    assert [one["spec"]["containers"][0]["env"][0]["value"] for one in pods] == [str(version)] * 4
    return True


def kill_agent_in_rollouts(node: Installation, kubectl: Kubectl, times: int) -> None:
    """One kill somewhere in the course of each roll-out."""
    chance = random.Random(times)
    kubectl.apply(release(0))
    kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=70)
    with bystander(kubectl):
        for version in range(1, times + 1):
            kubectl.apply(release(version))
            time.sleep(chance.uniform(0.0, 2.0))
            node.killed_and_back("agent")
            kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=70)
        eventually(lambda: converged(kubectl, times), "the last version alone", 60.0)
        balanced(node)


def test_four_kills_of_the_agent_in_rolling_updates(mortal: Installation, kubectl: Kubectl) -> None:
    kill_agent_in_rollouts(mortal, kubectl, 4)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_thirty_kills_of_the_agent_in_rolling_updates(mortal: Installation, kubectl: Kubectl) -> None:
    kill_agent_in_rollouts(mortal, kubectl, 30)


@pytest.mark.parametrize("part", ["apiserver", "controller", "containerd"])
def test_killing_a_part(mortal: Installation, kubectl: Kubectl, part: str) -> None:
    kubectl.apply(deployment("web", 1))
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    with bystander(kubectl):
        mortal.killed_and_back(part)
        eventually(lambda: kubectl.run("get", "--raw", "/readyz").stdout == "ok", "the API server", 30.0)
        kubectl("scale", "deployment/web", "--replicas=2")
        kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=70)
        assert kubectl.run_pod(once("after", "echo alive"), seconds=60) == "alive\n"
        kubectl("delete", "pod", "after")
        kubectl.wait(f"node/{mortal.name}", "condition=Ready")
        balanced(mortal)


def test_killing_the_supervisor(mortal: Installation, kubectl: Kubectl) -> None:
    """Its children end with it, pods do not; the next `orlop up` takes them over."""
    with bystander(kubectl):
        before = mortal.supervisor
        children = [mortal.pid(name) for name in ("containerd", "apiserver", "controller", "agent")]
        os.kill(before, signal.SIGKILL)
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children), "the children's end", 30.0)
        mortal.up()
        assert mortal.supervisor != before
        assert kubectl.run_pod(once("after", "echo alive"), seconds=60) == "alive\n"
        kubectl("delete", "pod", "after")
        balanced(mortal)


def test_pods_deleted_while_the_agent_is_away_are_cleaned_up(mortal: Installation, kubectl: Kubectl) -> None:
    """Scenario 1, and 10 for what the API server knows no more: the next agent finds both, and ends them."""
    kubectl.apply(pod("marked"), pod("forgotten"))
    for name in ("marked", "forgotten"):
        kubectl.wait(f"pod/{name}", "condition=Ready")
    uid = kubectl.field("pod/marked", ".metadata.uid")
    with bystander(kubectl):
        os.kill(mortal.pid("agent"), signal.SIGSTOP)
        kubectl("delete", "pod", "forgotten", "--force", "--grace-period=0")
        kubectl("delete", "pod", "marked", "--grace-period=600", "--wait=false")
        for pid in processes_of_pod(mortal, uid):
            os.kill(pid, signal.SIGKILL)
        mortal.killed_and_back("agent")
        kubectl.wait("pod/marked", "delete", 30)
        balanced(mortal)


def processes_of_pod(node: Installation, uid: str) -> list[int]:
    (group,) = [path for path in cgroups(node.cgroup) if path.parent.name in ("memory", "cgroup")]
    return [int(pid) for file in group.glob(f"**/*pod{uid}*/**/cgroup.procs") for pid in file.read_text().split()]


def test_down_and_up_again_keeps_the_cluster(mortal: Installation, kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", 2))
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    known = sorted(one["metadata"]["uid"] for one in kubectl.items("pods"))
    mortal.down(purge=False)
    mortal.up()
    admit_pods(mortal)
    kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=70)
    assert sorted(one["metadata"]["uid"] for one in kubectl.items("pods")) == known
    balanced(mortal)


@pytest.mark.slow
def test_a_silent_agent_makes_its_node_unknown_until_it_speaks_again(mortal: Installation, kubectl: Kubectl) -> None:
    """No taint that evicts: with every node of the cluster silent, it is the control plane that may be cut off."""
    with bystander(kubectl):
        agent = mortal.pid("agent")
        os.kill(agent, signal.SIGSTOP)
        try:
            kubectl.wait(f"node/{mortal.name}", "condition=Ready=Unknown", 90)
            taints = {(one["key"], one["effect"]) for one in kubectl.get("node", mortal.name)["spec"]["taints"]}
            assert taints == {("node.kubernetes.io/unreachable", "NoSchedule")}
        finally:
            os.kill(agent, signal.SIGCONT)
        kubectl.wait(f"node/{mortal.name}", "condition=Ready", 30)
        admit_pods(mortal)


def test_killing_everything_leaks_no_address(mortal: Installation, kubectl: Kubectl) -> None:
    """Scenario 29, as near as it comes to a power cut without one: not even the shims and containers survive."""
    kubectl.apply(deployment("web", 4))
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    before = leases(mortal)
    assert len(before) == 4
    kill_everything(mortal)
    mortal.up()
    admit_pods(mortal)
    eventually(lambda: started_anew(mortal, kubectl, before), "the pods with new sandboxes", 60.0)
    balanced(mortal)


def test_a_runtime_whose_memory_of_its_networks_a_power_cut_emptied_takes_its_sandboxes_down(
    mortal: Installation, kubectl: Kubectl
) -> None:
    """Its CNI library does not see its files onto the disk, and cannot read one that is empty."""
    kubectl.apply(deployment("web", 4))
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    before = leases(mortal)
    kept = Footprint.of(mortal).attachments
    assert len(kept) >= 4
    kill_everything(mortal)
    for file in kept:
        file.write_bytes(b"")
    mortal.up()
    admit_pods(mortal)
    eventually(lambda: started_anew(mortal, kubectl, before), "the pods with new sandboxes", 60.0)
    balanced(mortal)


def started_anew(node: Installation, kubectl: Kubectl, before: list[str]) -> bool:
    ready = [one["status"]["containerStatuses"][0]["ready"] for one in kubectl.items("pods")]
    return ready == [True] * 4 and not set(before) & set(leases(node))


def kill_everything(node: Installation) -> None:
    """SIGKILL to the supervisor first, so that nothing is restarted, and to all that is the node's."""
    os.kill(node.supervisor, signal.SIGKILL)

    def none_left() -> bool:
        left = node_processes(node)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    eventually(none_left, "the end of all processes", 30.0, 0.05)


def test_up_again_while_running_is_refused(mortal: Installation) -> None:
    process = mortal.start_up()
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert said == f"orlop up: orlop is running already (process {mortal.supervisor})\n"


def test_down_leaves_nothing_of_sandboxes_that_were_being_made() -> None:
    """A runtime that was killed amid them does not know them, and is not yet up to answer when `orlop down` asks it."""
    before = attached()
    with running() as one:
        one.kubectl.apply(deployment("web", 8))
        eventually(lambda: len(leases(one)) >= 3, "the first sandboxes", 60.0, 0.02)
        one.kill("containerd")
    assert attached() - before == set()


def test_down_goes_on_where_another_was_killed() -> None:
    """Killed while it asks a containerd of its own to let go of the pods: which must not stay behind it."""
    with running() as one:
        one.kubectl.apply(deployment("web", 2))
        one.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        with one.start_down() as process:
            containerd = eventually(
                lambda: child_named(process.pid, "containerd"), "a containerd of its own", 60.0, 0.01
            )
            process.kill()
        eventually(lambda: containerd not in node_processes(one), "the end of that containerd", 30.0)


def test_down_after_a_power_cut_has_nothing_to_complain_of() -> None:
    """The node was not started again after the cut that emptied its runtime's memory of its networks."""
    with running() as one:
        one.kubectl.apply(deployment("web", 2))
        one.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        kept = Footprint.of(one).attachments
        assert len(kept) >= 2
        kill_everything(one)
        for file in kept:
            file.write_bytes(b"")
        assert "failed to destroy network" not in one.down(purge=False)
        assert not [file for file in kept if file.exists()]


def child_named(parent: int, name: str) -> int:
    """The process id of a child of `parent` that runs the program `name`, 0 if there is none."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):
            if Path("/proc", child, "comm").read_text().strip() == name:
                return int(child)
    return 0


def attached() -> set[Path]:
    """What runtimes remember of sandboxes that were attached to a network."""
    return set(Path("/var/lib/cni/results").glob("*"))
