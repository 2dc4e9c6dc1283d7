"""What a set of placement rules makes of the nodes, apart from what runs on them.

It changes only when a node's labels or taints do, and the pods of a workload share it: so it is worked out once, not
once a pod.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controlplane.scheduler.demand import PlacementRules
from controlplane.scheduler.failures import AFFINITY_MISMATCH, EXCLUDED_BY_NAME, TAINTED, UNSCHEDULABLE, Reason
from controlplane.scheduler.nodes import Bools, Floats, NodeColumns
from controlplane.scheduler.spreading import Eligible
from controlplane.scheduler.taints import reluctance, repelling, tolerates_unschedulable

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Rejection:
    """Nodes that one filter rejects for one reason; `hopeless` are those where no eviction would help."""

    reason: Reason
    nodes: Bools
    hopeless: Bools


@dataclass(frozen=True, slots=True)
class Suitability:
    """The static filters' rejections, filter by filter in upstream's order, and the raw static scores."""

    version: int
    stages: tuple[tuple[Rejection, ...], ...]
    suitable: Bools
    eligible: Eligible
    preference: Floats | None
    reluctance: Floats | None


def judge(nodes: NodeColumns, rules: PlacementRules) -> Suitability:
    """Apply a set of rules to all nodes."""
    nothing = np.zeros(nodes.rows, np.bool_)
    names = rules.affinity.allowed_names()
    excluded = nothing if names is None else ~nodes.marked(names)
    cordoned = nothing if tolerates_unschedulable(rules.tolerations) else nodes.unschedulable
    tainted = repelling(nodes, rules.tolerations)
    mismatched = ~rules.affinity.matches(nodes)
    stages = tuple(
        (Rejection(reason, rejected.copy(), rejected.copy()),)
        for reason, rejected in (
            (EXCLUDED_BY_NAME, excluded),
            (UNSCHEDULABLE, cordoned),
            (TAINTED, tainted),
            (AFFINITY_MISMATCH, mismatched),
        )
    )
    return Suitability(
        version=nodes.version,
        stages=stages,
        suitable=nodes.live & ~(excluded | cordoned | tainted | mismatched),
        eligible=Eligible(by_affinity=~mismatched, by_taints=~tainted),
        preference=rules.affinity.preference(nodes),
        reluctance=reluctance(nodes, rules.tolerations),
    )


class Judgements:
    """Remembers what was judged for as long as no node has changed."""

    def __init__(self) -> None:
        self._known: dict[PlacementRules, Suitability] = {}

    def of(self, nodes: NodeColumns, rules: PlacementRules) -> Suitability:
        known = self._known.get(rules)
        if known is None or known.version != nodes.version:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[rules] = judge(nodes, rules)
        return known
