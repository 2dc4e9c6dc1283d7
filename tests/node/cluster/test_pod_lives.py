"""The life of a pod: init containers, sidecars, restarts, hooks, last words and deadlines."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.node.cluster.kubectl import Kubectl, rows
from tests.node.cluster.manifests import container, once, pod, shell

pytestmark = pytest.mark.node

SHARED = {"volumes": [{"name": "shared", "emptyDir": {}}]}
MOUNTED = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}


def status(kubectl: Kubectl, name: str) -> Any:
    return kubectl.get("pod", name)["status"]


def test_init_containers_run_one_after_the_other(kubectl: Kubectl) -> None:
    said = kubectl.run_pod(
        pod(
            "prepared",
            container(command=shell("cat /shared/steps"), **MOUNTED),
            initContainers=[
                container("first", shell("sleep 0.5; echo first >> /shared/steps"), **MOUNTED),
                container("second", shell("echo second >> /shared/steps"), **MOUNTED),
            ],
            restartPolicy="Never",
            **SHARED,
        )
    )
    assert said == "first\nsecond\n"
    inits = status(kubectl, "prepared")["initContainerStatuses"]
    assert [one["state"]["terminated"]["reason"] for one in inits] == ["Completed", "Completed"]


def test_a_failing_init_container_holds_the_pod_back(kubectl: Kubectl) -> None:
    again = pod("again", initContainers=[container("setup", shell("exit 1"))])
    never = pod("never", initContainers=[container("setup", shell("exit 4"))], restartPolicy="Never")
    kubectl.apply(again, never)
    kubectl.wait("pod/never", "jsonpath={.status.phase}=Failed")
    assert rows(kubectl("get", "pod", "never"))[0][2] == "Init:Error"
    kubectl.wait("pod/again", "jsonpath={.status.initContainerStatuses[0].restartCount}=1")
    kubectl.wait("pod/again", "jsonpath={.status.initContainerStatuses[0].state.waiting.reason}=CrashLoopBackOff")
    row = rows(kubectl("get", "pod", "again"))[0]
    assert row[1:3] == ["0/1", "Init:CrashLoopBackOff"]
    conditions = {one["type"]: one for one in status(kubectl, "again")["conditions"]}
    assert conditions["Initialized"]["status"] == "False"
    assert conditions["Initialized"]["message"] == "containers with incomplete status: [setup]"


def test_sidecars_start_before_and_end_after_the_rest(kubectl: Kubectl) -> None:
    note = "trap 'echo sidecar ends; exit 0' TERM; echo sidecar starts; touch /shared/up; while :; do sleep 0.1; done"
    sidecar = container(
        "sidecar",
        shell(note),
        restartPolicy="Always",
        startupProbe={"exec": {"command": ["test", "-f", "/shared/up"]}, "periodSeconds": 1},
        **MOUNTED,
    )
    kubectl.apply(
        pod(
            "job",
            container(command=shell("ls /shared; sleep 1"), **MOUNTED),
            initContainers=[sidecar],
            restartPolicy="Never",
            terminationGracePeriodSeconds=10,
            **SHARED,
        )
    )
    kubectl.wait("pod/job", "jsonpath={.status.phase}=Succeeded")
    assert kubectl("logs", "job", "-c", "main") == "up\n"
    assert kubectl("logs", "job", "-c", "sidecar") == "sidecar starts\nsidecar ends\n"
    (kept,) = status(kubectl, "job")["initContainerStatuses"]
    assert kept["state"]["terminated"]["exitCode"] == 0


def test_a_crashing_container_is_restarted_ever_more_slowly(kubectl: Kubectl) -> None:
    kubectl.apply(pod("crashes", container(command=shell("exit 7"))))
    kubectl.wait("pod/crashes", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    kubectl.wait("pod/crashes", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff")
    (one,) = status(kubectl, "crashes")["containerStatuses"]
    assert one["lastState"]["terminated"]["exitCode"] == 7
    assert one["lastState"]["terminated"]["reason"] == "Error"
    waiting = one["state"]["waiting"]["message"]
    assert waiting.startswith("back-off 10s restarting failed container=main pod=crashes_")
    text = kubectl.expect_event("crashes", "BackOff")
    assert text.startswith("Back-off restarting failed container main in pod crashes_")
    row = rows(kubectl("get", "pod", "crashes"))[0]
    assert row[1:4] == ["0/1", "CrashLoopBackOff", "1"]


def test_restart_policies(kubectl: Kubectl) -> None:
    counts = "echo run >> /shared/runs; "
    twice = counts + "[ $(wc -l < /shared/runs) -ge 2 ]"
    kubectl.apply(
        pod("on-failure", container(command=shell(twice), **MOUNTED), restartPolicy="OnFailure", **SHARED),
        pod("never", container(command=shell("exit 2")), restartPolicy="Never"),
        pod("always", container(command=shell("sleep 0.2"))),
    )
    kubectl.wait("pod/on-failure", "jsonpath={.status.phase}=Succeeded")
    assert status(kubectl, "on-failure")["containerStatuses"][0]["restartCount"] == 1
    kubectl.wait("pod/never", "jsonpath={.status.phase}=Failed")
    assert status(kubectl, "never")["containerStatuses"][0]["restartCount"] == 0
    kubectl.wait("pod/always", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    assert status(kubectl, "always")["phase"] == "Running"


def test_a_container_with_rules_of_its_own_starts_again_in_a_pod_that_never_restarts(kubectl: Kubectl) -> None:
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    script = "echo run >> /shared/runs; [ $(wc -l < /shared/runs) -ge 2 ] || exit 42"
    main = container(command=shell(script), restartPolicy="Never", restartPolicyRules=rules, **MOUNTED)
    kubectl.apply(pod("ruled", main, restartPolicy="Never", **SHARED))
    kubectl.wait("pod/ruled", "jsonpath={.status.phase}=Succeeded")
    assert status(kubectl, "ruled")["containerStatuses"][0]["restartCount"] == 1


def test_hooks_after_the_start_and_before_the_end(kubectl: Kubectl) -> None:
    hooks = {
        "postStart": {"exec": {"command": shell("echo started > /shared/started")}},
        "preStop": {"exec": {"command": shell("echo stopping > /proc/1/fd/1")}},
    }
    script = (
        "trap 'echo terminated; sleep 1; exit 0' TERM; while [ ! -f /shared/started ]; do sleep 0.1; done; "
        "cat /shared/started; while :; do sleep 0.1; done"
    )
    hooked = pod("hooked", container(command=shell(script), lifecycle=hooks, **MOUNTED), **SHARED)
    hooked["spec"]["terminationGracePeriodSeconds"] = 20
    kubectl.start_pod(hooked)
    with kubectl.background("logs", "-f", "hooked") as following:
        following.expect("started\n")
        kubectl("delete", "pod", "hooked", "--wait=false")
        assert following.expect("terminated\n") == "started\nstopping\nterminated\n"


def test_a_failing_hook_after_the_start_ends_the_container(kubectl: Kubectl) -> None:
    hooks = {"postStart": {"exec": {"command": shell("echo no luck; exit 3")}}}
    kubectl.apply(pod("unlucky", container(lifecycle=hooks)))
    text = kubectl.expect_event("unlucky", "FailedPostStartHook")
    assert "PostStartHook failed" in text or "Exec lifecycle hook" in text
    kubectl.wait("pod/unlucky", "jsonpath={.status.containerStatuses[0].restartCount}=1")


def test_last_words(kubectl: Kubectl) -> None:
    to_file = "echo -n from the file > /dev/termination-log; exit 1"
    kubectl.apply(
        once("file", to_file),
        once("elsewhere", "echo -n other > /tmp/last; exit 0", terminationMessagePath="/tmp/last"),
        once("log", "echo from the log; exit 1", terminationMessagePolicy="FallbackToLogsOnError"),
        once("success", "echo from the log; exit 0", terminationMessagePolicy="FallbackToLogsOnError"),
    )
    for name, phase, message in (
        ("file", "Failed", "from the file"),
        ("elsewhere", "Succeeded", "other"),
        ("log", "Failed", "from the log\n"),
        ("success", "Succeeded", None),
    ):
        kubectl.wait(f"pod/{name}", f"jsonpath={{.status.phase}}={phase}")
        ended = status(kubectl, name)["containerStatuses"][0]["state"]["terminated"]
        assert ended.get("message") == message


def test_a_deadline(kubectl: Kubectl) -> None:
    kubectl.apply(pod("late", activeDeadlineSeconds=2))
    kubectl.wait("pod/late", "jsonpath={.status.phase}=Failed")
    ended = status(kubectl, "late")
    assert ended["reason"] == "DeadlineExceeded"
    assert ended["message"] == "Pod was active on the node longer than the specified deadline"
    # Not before its container, which does not mind SIGTERM, is dead.
    assert "terminated" in ended["containerStatuses"][0]["state"]


def test_an_ended_pod_keeps_its_log_and_gives_back_its_address(kubectl: Kubectl) -> None:
    kubectl.run_pod(once("done", "echo words"))
    assert kubectl("logs", "done") == "words\n"
    ended = status(kubectl, "done")
    assert ended["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    conditions = {one["type"]: one for one in ended["conditions"]}
    assert conditions["Ready"]["reason"] == "PodCompleted"


def test_out_of_memory(kubectl: Kubectl) -> None:
    eats = container(
        command=shell("head -c 200000000 /dev/zero | tail -c 150000000 > /dev/null"),
        resources={"limits": {"memory": "24Mi"}},
    )
    kubectl.apply(pod("hungry", eats, restartPolicy="Never"))
    kubectl.wait("pod/hungry", "jsonpath={.status.phase}=Failed")
    ended = status(kubectl, "hungry")["containerStatuses"][0]["state"]["terminated"]
    assert ended["reason"] == "OOMKilled"
    assert rows(kubectl("get", "pod", "hungry"))[0][2] == "OOMKilled"


def test_containers_that_cannot_be_started(kubectl: Kubectl) -> None:
    kubectl.apply(pod("no-program", container(command=["/no/such/program"])))
    kubectl.wait("pod/no-program", "jsonpath={.status.containerStatuses[0].lastState.terminated.reason}=StartError")
    (one,) = status(kubectl, "no-program")["containerStatuses"]
    assert one["lastState"]["terminated"]["exitCode"] == 128
    assert "no such file or directory" in one["lastState"]["terminated"]["message"]
    assert "Error: failed to create containerd task" in kubectl.expect_event("no-program", "Failed")


def test_readiness_follows_the_end_of_a_container_at_once(kubectl: Kubectl) -> None:
    two = pod("two", container("stays"), container("leaves", shell("sleep 1; exit 0")), restartPolicy="Never")
    kubectl.apply(two)
    kubectl.wait("pod/two", "condition=Ready=False", 20)
    begun = time.monotonic()
    kubectl.wait("pod/two", "jsonpath={.status.containerStatuses[?(@.name=='leaves')].state.terminated.exitCode}=0")
    assert time.monotonic() - begun < 20
    message = {one["type"]: one for one in status(kubectl, "two")["conditions"]}["Ready"]["message"]
    assert message == "containers with unready status: [leaves]"
