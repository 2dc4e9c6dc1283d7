"""`kubectl rollout`, `scale` and `delete`: changes that controllers and the agent carry out."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.node.cluster.footprint import cgroups
from tests.node.cluster.installation import Installation
from tests.node.cluster.kubectl import Kubectl, rows
from tests.node.cluster.manifests import config_map, container, deployment, pod, shell
from tests.node.cluster.waiting import eventually, stays

pytestmark = pytest.mark.node


def release(version: str) -> dict[str, object]:
    return deployment("web", 2, container(env=[{"name": "VERSION", "value": version}]))


def versions(kubectl: Kubectl) -> set[str]:
    return {
        one["spec"]["containers"][0]["env"][0]["value"]
        for one in kubectl.items("pods", "-l", "app=web")
        if "deletionTimestamp" not in one["metadata"]
    }


def rolled_out(kubectl: Kubectl) -> str:
    return kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=70)


def test_rollout_status_undo_history_and_restart(kubectl: Kubectl) -> None:
    kubectl.apply(release("1"))
    assert rolled_out(kubectl).splitlines()[-1] == 'deployment "web" successfully rolled out'
    kubectl.apply(release("2"))
    said = rolled_out(kubectl)
    assert re.search(
        r'Waiting for deployment "web" rollout to finish: \d out of 2 new replicas have been updated', said
    )
    assert versions(kubectl) == {"2"}

    assert kubectl("rollout", "history", "deployment/web") == (
        "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n"
    )
    assert "VERSION:\t1" in kubectl("rollout", "history", "deployment/web", "--revision=1")

    assert kubectl("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    rolled_out(kubectl)
    assert versions(kubectl) == {"1"}
    assert [line.split()[0] for line in kubectl("rollout", "history", "deployment/web").splitlines()[2:4]] == ["2", "3"]

    before = {one["metadata"]["uid"] for one in kubectl.items("pods")}
    assert kubectl("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    rolled_out(kubectl)
    live = {one["metadata"]["uid"] for one in kubectl.items("pods") if "deletionTimestamp" not in one["metadata"]}
    assert not before & live


def test_pausing_and_resuming(kubectl: Kubectl) -> None:
    kubectl.apply(release("1"))
    rolled_out(kubectl)
    assert kubectl("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    kubectl("set", "env", "deployment/web", "VERSION=2")
    stays(lambda: len(kubectl.items("replicasets")) == 1, "the paused deployment", 1.0)
    assert kubectl("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"
    rolled_out(kubectl)
    assert versions(kubectl) == {"2"}


def test_a_rollout_that_gets_nowhere(kubectl: Kubectl) -> None:
    bad = deployment(
        "web", 1, container(image="localhost/orlop/none:1", imagePullPolicy="Never"), progressDeadlineSeconds=2
    )
    kubectl.apply(bad)
    done = kubectl.run("rollout", "status", "deployment/web", "--timeout=30s")
    assert done.returncode == 1
    assert done.stderr == 'error: deployment "web" exceeded its progress deadline\n'


def test_scaling(kubectl: Kubectl) -> None:
    kubectl.apply(release("1"))
    rolled_out(kubectl)
    assert kubectl("scale", "deployment/web", "--replicas=4") == "deployment.apps/web scaled\n"
    rolled_out(kubectl)
    assert rows(kubectl("get", "deployment", "web"))[0][:4] == ["web", "4/4", "4", "4"]
    kubectl("scale", "deployment/web", "--replicas=1", "--current-replicas=4")
    eventually(lambda: len(kubectl.items("pods")) == 1, "one pod")
    said = kubectl.refused("scale", "deployment/web", "--replicas=2", "--current-replicas=9")
    assert "Expected replicas to be 9, was 1" in said
    kubectl("scale", "deployment/web", "--replicas=0")
    eventually(lambda: not kubectl.items("pods"), "no pod")


def test_deleting_waits_for_the_end(kubectl: Kubectl) -> None:
    last_words = "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done"
    slow = pod("slow", container(command=shell(last_words)))
    slow["spec"]["terminationGracePeriodSeconds"] = 20
    kubectl.start_pod(slow)
    begun = time.monotonic()
    said = kubectl("delete", "pod", "slow")
    assert said.startswith('pod "slow" deleted')
    assert 1.0 <= time.monotonic() - begun < 15
    assert "NotFound" in kubectl.refused("get", "pod", "slow")


def test_grace_periods(kubectl: Kubectl) -> None:
    deaf = pod("deaf", container(command=shell("trap '' TERM; sleep infinity")))
    deaf["spec"]["terminationGracePeriodSeconds"] = 600
    kubectl.start_pod(deaf)
    kubectl("delete", "pod", "deaf", "--wait=false")
    row = rows(kubectl("get", "pod", "deaf"))[0]
    assert row[2] == "Terminating"
    begun = time.monotonic()
    kubectl("delete", "pod", "deaf", "--grace-period=1")  # shortens the one that is under way
    assert time.monotonic() - begun < 15


def test_forcing(kubectl: Kubectl, node: Installation) -> None:
    """The object goes at once; what runs is not granted the 600 seconds that the pod had for itself."""
    deaf = pod("deaf", container(command=shell("trap '' TERM; sleep infinity")))
    deaf["spec"]["terminationGracePeriodSeconds"] = 600
    kubectl.start_pod(deaf)
    uid = kubectl.field("pod/deaf", ".metadata.uid")
    assert pod_cgroups(node, uid)
    done = kubectl.run("delete", "pod", "deaf", "--force", "--grace-period=0")
    assert "Immediate deletion does not wait for confirmation" in done.stderr
    assert "force deleted" in done.stdout
    assert "NotFound" in kubectl.refused("get", "pod", "deaf")
    eventually(lambda: not pod_cgroups(node, uid), "an end of the processes", 20)


def pod_cgroups(node: Installation, uid: str) -> list[Path]:
    return [path for group in cgroups(node.cgroup) for path in group.glob(f"**/*pod{uid}*")]


def test_the_ways_of_cascading(kubectl: Kubectl) -> None:
    for mode in ("background", "foreground"):
        kubectl.apply(deployment("web", 1))
        rolled_out(kubectl)
        kubectl("delete", "deployment", "web", f"--cascade={mode}")
        if mode == "foreground":
            assert not kubectl.items("replicasets,pods")
        eventually(lambda: not kubectl.items("replicasets,pods"), "no dependents")

    kubectl.apply(deployment("web", 1))
    rolled_out(kubectl)
    (orphan,) = kubectl.items("pods")
    kubectl("delete", "deployment", "web", "--cascade=orphan")
    eventually(
        lambda: [one for one in kubectl.items("replicasets") if "ownerReferences" not in one["metadata"]],
        "the replica set without an owner",
    )
    kubectl.apply(deployment("web", 1))  # takes the orphans in again
    rolled_out(kubectl)
    assert [one["metadata"]["uid"] for one in kubectl.items("pods")] == [orphan["metadata"]["uid"]]


def test_deleting_a_namespace_takes_all_in_it(kubectl: Kubectl) -> None:
    other = f"{kubectl.namespace}-2"
    inside = kubectl.within(other)
    kubectl("create", "namespace", other)
    inside.wait("serviceaccount/default", "create")
    inside.apply(deployment("web", 2), config_map("settings", a="b"))
    inside("rollout", "status", "deployment/web", "--timeout=30s")
    assert kubectl("delete", "namespace", other).startswith(f'namespace "{other}" deleted')
    assert "NotFound" in kubectl.refused("get", "namespace", other)
    assert "No resources found" in inside.run("get", "all,configmaps,serviceaccounts").stderr


def test_selectors_pick_what_is_deleted(kubectl: Kubectl) -> None:
    kubectl.apply(*(config_map(name) | {"metadata": {"name": name, "labels": {"kind": kind}}}
                    for name, kind in (("a", "odd"), ("b", "odd"), ("c", "even"))))  # fmt: skip
    kubectl("delete", "configmap", "-l", "kind=odd")
    assert {one["metadata"]["name"] for one in kubectl.items("configmaps")} == {"c", "kube-root-ca.crt"}
    kubectl("delete", "configmap", "c", "none", "--ignore-not-found")
