"""Scenario 26: `kubectl logs -f` goes on over the rotation of a log, without a lost or doubled line."""

from __future__ import annotations

import pytest

from tests.node.cluster.installation import Installation
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, pod, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node

# 1.5 MB a second in lines of 1 KB: the limit of 10 MiB is passed between two looks at the log's size.
WRITER = (
    "fill=$(head -c 1000 /dev/zero | tr '\\0' x); i=0; "
    "while [ ! -f /tmp/stop ]; do n=0; while [ $n -lt 150 ]; do echo $i $fill; i=$((i+1)); n=$((n+1)); done; "
    "sleep 0.1; done; echo $i end"
)


def test_following_over_a_rotation(kubectl: Kubectl, node: Installation) -> None:
    kubectl.start_pod(pod("writes", container(command=shell(WRITER)), restartPolicy="Never"))
    (folder,) = node.pod_logs.glob(f"{kubectl.namespace}_writes_*/main")
    with kubectl.background("logs", "-f", "writes") as following:
        eventually(lambda: list(folder.glob("0.log.*")), "a rotated log", 60.0)
        rotated_at = following.output.count("\n")
        eventually(lambda: following.output.count("\n") > rotated_at + 1000, "more after it", 30.0)
        kubectl("exec", "writes", "--", "touch", "/tmp/stop")
        assert following.end() == 0
        said = following.output.splitlines()
    assert [int(line.split()[0]) for line in said] == list(range(len(said)))
    assert said[-1].endswith(" end")
    current = kubectl("logs", "writes").splitlines()
    assert current == said[-len(current) :]
    assert len(current) < len(said)
