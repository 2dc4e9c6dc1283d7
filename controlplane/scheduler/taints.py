"""Which nodes repel a pod: taints and tolerations.

A verdict is reached once per distinct set of taints, of which a cluster has few, and spread over the nodes by one
index operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from api import core_v1 as core
from api.pods import tolerates, untolerated_taint
from controlplane.scheduler.nodes import Bools, Floats, NodeColumns

REPELLING_EFFECTS = ("NoSchedule", "NoExecute")
UNSCHEDULABLE = core.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def repelling(nodes: NodeColumns, tolerations: Sequence[core.Toleration]) -> Bools:
    """The nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""

    def repels(taints: Sequence[core.Taint]) -> bool:
        return untolerated_taint(taints, tolerations, REPELLING_EFFECTS) is not None

    return _by_set(nodes, repels).astype(np.bool_)


def reluctance(nodes: NodeColumns, tolerations: Sequence[core.Toleration]) -> Floats | None:
    """How many PreferNoSchedule taints of each node the pod does not tolerate; None when there are none."""

    def count(taints: Sequence[core.Taint]) -> int:
        return sum(
            taint.effect == "PreferNoSchedule" and not any(tolerates(toleration, taint) for toleration in tolerations)
            for taint in taints
        )

    counts = _by_set(nodes, count)
    return counts if counts.any() else None


def tolerates_unschedulable(tolerations: Sequence[core.Toleration]) -> bool:
    """Whether a cordoned node is good enough (a DaemonSet's pods think so)."""
    return any(tolerates(toleration, UNSCHEDULABLE) for toleration in tolerations)


def _by_set(nodes: NodeColumns, judge: Callable[[Sequence[core.Taint]], float]) -> Floats:
    verdicts = np.array([judge(taints) for taints in nodes.taint_sets], np.float64)
    return verdicts[nodes.taints]
