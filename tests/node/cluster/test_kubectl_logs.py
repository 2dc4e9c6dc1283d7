"""`kubectl logs` in all its forms."""

from __future__ import annotations

import re

import pytest

from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, once, pod, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node


def test_following_from_the_start_to_the_end(kubectl: Kubectl) -> None:
    kubectl.apply(once("counter", "for i in 1 2 3 4; do echo line $i; sleep 0.5; done; echo end >&2"))
    kubectl.wait("pod/counter", "jsonpath={.status.containerStatuses[0].started}=true")
    with kubectl.background("logs", "-f", "counter") as following:
        following.expect("line 1\n")
        assert following.end() == 0
    assert following.output == "line 1\nline 2\nline 3\nline 4\nend\n"


def test_tail_since_timestamps_and_bytes(kubectl: Kubectl) -> None:
    kubectl.run_pod(once("lines", "for i in 1 2 3 4 5; do echo line $i; done"))
    assert kubectl("logs", "lines", "--tail=2") == "line 4\nline 5\n"
    assert kubectl("logs", "lines", "--tail=0") == ""
    assert kubectl("logs", "lines", "--limit-bytes=9") == "line 1\nli"
    stamped = kubectl("logs", "lines", "--timestamps", "--tail=1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line 5\n", stamped)
    assert kubectl("logs", "lines", "--since=1h").count("\n") == 5
    assert kubectl("logs", "lines", "--since-time=2100-01-01T00:00:00Z") == ""


def test_the_previous_container(kubectl: Kubectl) -> None:
    kubectl.apply(pod("restarts", container(command=shell("echo born at $(cat /proc/uptime); sleep 1; exit 1"))))
    kubectl.wait("pod/restarts", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    eventually(lambda: kubectl("logs", "restarts"), "the second container's log")
    previous, current = kubectl("logs", "restarts", "--previous"), kubectl("logs", "restarts")
    assert previous.startswith("born at ") and current.startswith("born at ")
    assert previous != current
    kubectl.start_pod(pod("steady"))
    said = kubectl.refused("logs", "steady", "--previous")
    assert said == ('Error from server (BadRequest): previous terminated container "main" in pod "steady" not found\n')


def test_several_containers(kubectl: Kubectl) -> None:
    kubectl.start_pod(
        pod(
            "two",
            container("first", shell("echo from first; sleep infinity")),
            container("second", shell("echo from second; sleep infinity")),
            initContainers=[container("setup", shell("echo from setup"))],
        )
    )
    done = kubectl.run("logs", "two")
    assert done.stdout == "from first\n"
    assert done.stderr == 'Defaulted container "first" out of: first, second, setup (init)\n'
    assert kubectl("logs", "two", "-c", "setup") == "from setup\n"
    said = kubectl("logs", "two", "--all-containers", "--prefix")
    assert sorted(said.splitlines()) == [
        "[pod/two/first] from first",
        "[pod/two/second] from second",
        "[pod/two/setup] from setup",
    ]
    assert "container none is not valid for pod two" in kubectl.refused("logs", "two", "-c", "none")
    assert "from second" in kubectl("logs", "-l", "app=two", "-c", "second")


def test_a_container_that_is_not_there_yet(kubectl: Kubectl) -> None:
    kubectl.apply(pod("pulls", container(image="localhost/orlop/none:1", imagePullPolicy="Never")))
    kubectl.wait("pod/pulls", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull")
    said = kubectl.refused("logs", "pulls")
    assert said == (
        'Error from server (BadRequest): container "main" in pod "pulls" is waiting to start: ErrImageNeverPull\n'
    ) or said == (
        'Error from server (BadRequest): container "main" in pod "pulls" is waiting to start: image can\'t be pulled\n'
    )


def test_long_lines_and_those_without_an_end(kubectl: Kubectl) -> None:
    """The runtime cuts lines at 16 KiB; a reader gets them whole."""
    kubectl.run_pod(once("long", "head -c 40000 /dev/zero | tr '\\0' x; echo; printf 'no end'"))
    assert kubectl("logs", "long") == "x" * 40000 + "\nno end"
