"""Why no node takes a pod, in the words of upstream's scheduler (framework `FitError`, default preemption).

The texts go over the wire, as events and as the message of the PodScheduled condition, where people and tools read
them: they are upstream's to the letter.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


class Cause(enum.Enum):
    """What kind of thing stands in the way: the queue asks it what could help."""

    NO_NODES = enum.auto()
    CORDON = enum.auto()
    TAINT = enum.auto()
    AFFINITY = enum.auto()
    PORTS = enum.auto()
    RESOURCES = enum.auto()
    SPREAD = enum.auto()
    NEIGHBOURS = enum.auto()
    MISSING_FEATURE = enum.auto()


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a node does not do, as it is counted in the message."""

    text: str
    cause: Cause


UNSCHEDULABLE = Reason("node(s) were unschedulable", Cause.CORDON)
TAINTED = Reason("node(s) had untolerated taint(s)", Cause.TAINT)
EXCLUDED_BY_NAME = Reason("node(s) didn't satisfy plugin(s) [NodeAffinity]", Cause.AFFINITY)
AFFINITY_MISMATCH = Reason("node(s) didn't match Pod's node affinity/selector", Cause.AFFINITY)
PORTS_TAKEN = Reason("node(s) didn't have free ports for the requested pod ports", Cause.PORTS)
TOO_MANY_PODS = Reason("Too many pods", Cause.RESOURCES)
SKEWED = Reason("node(s) didn't match pod topology spread constraints", Cause.SPREAD)
UNLABELLED = Reason("node(s) didn't match pod topology spread constraints (missing required label)", Cause.SPREAD)
LACKS_NEIGHBOURS = Reason("node(s) didn't match pod affinity rules", Cause.NEIGHBOURS)
BREAKS_APART = Reason("node(s) didn't match pod anti-affinity rules", Cause.NEIGHBOURS)
UNWELCOME = Reason("node(s) didn't satisfy existing pods anti-affinity rules", Cause.NEIGHBOURS)

PREEMPTION_HOPELESS = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
# Ours: victims there are, but to evict them is not built yet.
PREEMPTION_MISSING = "Preemption is not available yet"

_PREEMPTION_DECLINED = "not eligible due to preemptionPolicy=Never."
# Two plugins of upstream have their say after a failure, and their messages stand side by side: dynamic resource
# allocation, which has nothing to do for a pod without claims, and preemption.
_AFTERTHOUGHT = "no new claims to deallocate, preemption: "


def insufficient(resource: str) -> Reason:
    """The reason for too little of a resource."""
    return Reason(f"Insufficient {resource}", Cause.RESOURCES)


@dataclass(frozen=True, slots=True)
class Failure:
    """No node takes the pod. `reasons` and `preemption` count nodes; a node may stand under several reasons."""

    nodes: int
    reasons: Mapping[Reason, int] = field(default_factory=dict)
    preemption: Mapping[str, int] = field(default_factory=dict)
    may_preempt: bool = True
    missing_feature: str = ""

    @property
    def causes(self) -> frozenset[Cause]:
        if self.missing_feature:
            return frozenset((Cause.MISSING_FEATURE,))
        if not self.nodes:
            return frozenset((Cause.NO_NODES,))
        return frozenset(reason.cause for reason in self.reasons)

    @property
    def message(self) -> str:
        if not self.nodes:
            return "no nodes available to schedule pods"
        head = f"0/{self.nodes} nodes are available"
        if self.missing_feature:
            return f"{head}: {self.missing_feature} are not supported by this scheduler yet."
        # Different reasons may read the same.
        counted: Counter[str] = Counter()
        for reason, count in self.reasons.items():
            counted[reason.text] += count
        afterthought = f"{head}: {_histogram(self.preemption)}." if self.may_preempt else _PREEMPTION_DECLINED
        return f"{head}: {_histogram(counted)}. {_AFTERTHOUGHT}{afterthought}"


def _histogram(counted: Mapping[str, int]) -> str:
    """`2 Insufficient cpu, 1 Too many pods`: sorted as text, as upstream does, so that 10 comes before 2."""
    return ", ".join(sorted(f"{count} {text}" for text, count in counted.items()))
