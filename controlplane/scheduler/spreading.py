"""How evenly a pod wants its like spread: topology spread constraints (KEP-895, plugins/podtopologyspread).

A constraint counts the matching pods in each topology domain. DoNotSchedule forbids the nodes where one more pod
would make its domain exceed the emptiest one by more than `max_skew`; ScheduleAnyway prefers emptier domains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from api import core_v1 as core
from api.selectors import LabelSelector, Operator
from controlplane.scheduler.neighbours import Labels, Neighbours, selector_of, with_label_keys
from controlplane.scheduler.nodes import Bools, Floats, Ints, NodeColumns, Numbers


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One constraint, its selector narrowed by `matchLabelKeys`."""

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelSelector
    min_domains: int
    honour_affinity: bool
    honour_taints: bool

    @classmethod
    def of(cls, constraint: core.TopologySpreadConstraint, pod: core.Pod) -> SpreadConstraint:
        selector = selector_of(constraint.label_selector)
        return cls(
            topology_key=constraint.topology_key,
            max_skew=constraint.max_skew,
            hard=constraint.when_unsatisfiable == "DoNotSchedule",
            selector=with_label_keys(selector, pod.metadata.labels, constraint.match_label_keys, Operator.IN),
            min_domains=constraint.min_domains or 1,
            honour_affinity=constraint.node_affinity_policy != "Ignore",
            honour_taints=constraint.node_taints_policy == "Honor",
        )


@dataclass(frozen=True, slots=True)
class Eligible:
    """Which nodes count at all: those a pod may go to by its node affinity, and by the taints it tolerates."""

    by_affinity: Bools
    by_taints: Bools

    def nodes(self, constraint: SpreadConstraint, live: Bools) -> Bools:
        eligible = live.copy()
        if constraint.honour_affinity:
            eligible &= self.by_affinity
        if constraint.honour_taints:
            eligible &= self.by_taints
        return eligible


def unlabelled(nodes: NodeColumns, constraints: tuple[SpreadConstraint, ...]) -> Bools:
    """The nodes that lack a topology label which a hard constraint names."""
    lacking = np.zeros(nodes.rows, np.bool_)
    for constraint in constraints:
        if constraint.hard:
            lacking |= nodes.domains(constraint.topology_key) == 0
    return lacking


def skewed(
    nodes: NodeColumns,
    pods: Neighbours,
    namespace: str,
    labels: Labels,
    constraints: tuple[SpreadConstraint, ...],
    eligible: Eligible,
) -> Bools:
    """The nodes where the pod would break a hard constraint."""
    broken = np.zeros(nodes.rows, np.bool_)
    labelled = ~unlabelled(nodes, constraints)
    for constraint in constraints:
        if not constraint.hard:
            continue
        numbers = nodes.domains(constraint.topology_key)
        counted = eligible.nodes(constraint, nodes.live) & labelled
        counts, domains = _count(nodes, pods, namespace, constraint, numbers, counted)
        emptiest = 0
        if domains.any() and int(domains.sum()) >= constraint.min_domains:
            emptiest = int(counts[domains].min())
        itself = int(constraint.selector.matches(labels))
        broken |= counts[numbers] + itself - emptiest > constraint.max_skew
    return broken


def crowding(
    nodes: NodeColumns,
    pods: Neighbours,
    namespace: str,
    constraints: tuple[SpreadConstraint, ...],
    eligible: Eligible,
) -> Floats | None:
    """How crowded each node's domains are for the soft constraints; the less the better. None without any."""
    crowd: Floats | None = None
    for constraint in constraints:
        if constraint.hard:
            continue
        numbers = nodes.domains(constraint.topology_key)
        counts, domains = _count(nodes, pods, namespace, constraint, numbers, eligible.nodes(constraint, nodes.live))
        # Few domains hold many pods each: the logarithm makes a zone and a host comparable.
        weight = math.log(int(domains.sum()) + 2)
        part: Floats = counts[numbers].astype(np.float64) * weight + float(constraint.max_skew - 1)
        part[numbers == 0] = np.inf
        crowd = part if crowd is None else crowd + part
    return crowd


def _count(
    nodes: NodeColumns,
    pods: Neighbours,
    namespace: str,
    constraint: SpreadConstraint,
    numbers: Numbers,
    counted: Bools,
) -> tuple[Ints, Bools]:
    """Matching pods by number of domain, and which domains there are among the nodes that count."""
    size = int(numbers.max(initial=0)) + 1
    counts = np.zeros(size, np.int64)
    for node, count in pods.matching(namespace, constraint.selector):
        row = nodes.row(node)
        if row is not None and counted[row]:
            counts[numbers[row]] += count
    domains = np.zeros(size, np.bool_)
    domains[numbers[counted]] = True
    domains[0] = False
    return counts, domains
