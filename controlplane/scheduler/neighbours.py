"""Which other pods a pod wants near, or not near: inter-pod affinity and anti-affinity.

Pods are indexed by group (namespace and labels): a selector is then matched once per group, of which a workload is
one, and not once per pod. "Near" means the same value of a topology label. The semantics are upstream's
(plugins/interpodaffinity), both ways round: what a pod asks for, and what the pods that run already asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from api import core_v1 as core
from api import meta_v1 as meta
from api.selectors import NOTHING, LabelSelector, Operator, Requirement, SelectorError, from_struct
from controlplane.scheduler.nodes import Bools, Floats, NodeColumns, Numbers

Labels = Mapping[str, str]
HARD_AFFINITY_WEIGHT = 1  # what a running pod's required affinity counts for in the score of another


@dataclass(frozen=True, slots=True)
class Term:
    """One (anti-)affinity term: which pods, and how near."""

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    namespace_selector: LabelSelector

    @classmethod
    def of(cls, term: core.PodAffinityTerm, pod: core.Pod) -> Term:
        selector = selector_of(term.label_selector)
        if term.label_selector is not None:
            selector = with_label_keys(selector, pod.metadata.labels, term.match_label_keys, Operator.IN)
            selector = with_label_keys(selector, pod.metadata.labels, term.mismatch_label_keys, Operator.NOT_IN)
        namespaces = frozenset(term.namespaces)
        if not namespaces and term.namespace_selector is None:
            namespaces = frozenset((pod.metadata.namespace,))
        namespace_selector = NOTHING if term.namespace_selector is None else selector_of(term.namespace_selector)
        return cls(term.topology_key, selector, namespaces, namespace_selector)

    def selects(self, namespace: str, namespace_labels: Labels, labels: Labels) -> bool:
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class NeighbourTerms:
    """All (anti-)affinity terms of a pod; preferred ones with their weights, negative for anti-affinity."""

    near: tuple[Term, ...]
    apart: tuple[Term, ...]
    preferred: tuple[tuple[int, Term], ...]

    @classmethod
    def of(cls, pod: core.Pod) -> NeighbourTerms | None:
        """None for a pod that has none, as most do not."""
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return None
        near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
        preferred = [
            (sign * weighted.weight, Term.of(weighted.pod_affinity_term, pod))
            for sign, kind in ((1, near), (-1, apart))
            if kind is not None
            for weighted in kind.preferred_during_scheduling_ignored_during_execution
        ]
        return cls(
            near=_required(near, pod),
            apart=_required(apart, pod),
            preferred=tuple(preferred),
        )


@dataclass(slots=True)
class _Group:
    """Pods that are the same to every selector, by the node they are on."""

    namespace: str
    labels: Labels
    nodes: Counter[str] = field(default_factory=Counter)
    terminating: Counter[str] = field(default_factory=Counter)


GroupKey = tuple[str, tuple[tuple[str, str], ...]]


class Neighbours:
    """The pods there are, by group, and the terms that they brought with them, by node."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, _Group] = {}
        self._apart: dict[Term, Counter[str]] = {}
        self._weights: dict[Term, dict[str, int]] = {}
        self._namespaces: dict[str, Labels] = {}

    def put_namespace(self, name: str, labels: Labels) -> None:
        self._namespaces[name] = labels

    def remove_namespace(self, name: str) -> None:
        self._namespaces.pop(name, None)

    def add(self, namespace: str, labels: Labels, terms: NeighbourTerms | None, node: str, terminating: bool) -> None:
        group = self._groups.setdefault(_group_key(namespace, labels), _Group(namespace, labels))
        group.nodes[node] += 1
        group.terminating[node] += terminating
        self._count(terms, node, 1)

    def remove(
        self, namespace: str, labels: Labels, terms: NeighbourTerms | None, node: str, terminating: bool
    ) -> None:
        key = _group_key(namespace, labels)
        group = self._groups[key]
        group.nodes[node] -= 1
        group.terminating[node] -= terminating
        if not group.nodes[node]:
            del group.nodes[node]
            del group.terminating[node]
        if not group.nodes:
            del self._groups[key]
        self._count(terms, node, -1)

    def matching(self, namespace: str, selector: LabelSelector) -> Iterator[tuple[str, int]]:
        """Nodes and how many pods of a namespace on them match, those that terminate not counted."""
        for group in self._groups.values():
            if group.namespace == namespace and selector.matches(group.labels):
                for node, count in group.nodes.items():
                    yield node, count - group.terminating[node]

    def lacks_near(self, nodes: NodeColumns, namespace: str, labels: Labels, terms: Sequence[Term]) -> Bools:
        """The nodes that do not satisfy the required affinity of a pod."""
        lacking = np.zeros(nodes.rows, np.bool_)
        if not terms:
            return lacking
        groups = [group for group in self._groups.values() if self._all_select(terms, group.namespace, group.labels)]
        for term in terms:
            numbers = nodes.domains(term.topology_key)
            inhabited = _domains(nodes, numbers, (node for group in groups for node in group.nodes))
            lacking |= (numbers == 0) | ~inhabited[numbers]
        if groups or not self._all_select(terms, namespace, labels):
            return lacking
        # The first pod of a group that wants to be near itself may go anywhere that has the topology.
        first = np.zeros(nodes.rows, np.bool_)
        for term in terms:
            first |= nodes.domains(term.topology_key) == 0
        return first

    def breaks_apart(self, nodes: NodeColumns, terms: Sequence[Term]) -> Bools:
        """The nodes where a pod would be near one that it must not be near."""
        broken = np.zeros(nodes.rows, np.bool_)
        for term in terms:
            numbers = nodes.domains(term.topology_key)
            broken |= _domains(nodes, numbers, self._nodes_selected(term))[numbers] & (numbers != 0)
        return broken

    def unwelcome(self, nodes: NodeColumns, namespace: str, labels: Labels) -> Bools:
        """The nodes near a running pod that must not be near this one."""
        broken = np.zeros(nodes.rows, np.bool_)
        for term, holders in self._apart.items():
            if self._selects(term, namespace, labels):
                numbers = nodes.domains(term.topology_key)
                broken |= _domains(nodes, numbers, holders)[numbers] & (numbers != 0)
        return broken

    def attraction(
        self, nodes: NodeColumns, namespace: str, labels: Labels, terms: NeighbourTerms | None
    ) -> Floats | None:
        """By how much each node is preferred for the pods near it, both ways round; None when nobody cares."""
        score: Floats | None = None
        for weight, term in terms.preferred if terms is not None else ():
            score = _spread_weights(nodes, score, term, ((node, weight * n) for node, n in self._counts_selected(term)))
        for term, holders in self._weights.items():
            if self._selects(term, namespace, labels):
                score = _spread_weights(nodes, score, term, holders.items())
        return score

    def _count(self, terms: NeighbourTerms | None, node: str, sign: int) -> None:
        if terms is None:
            return
        for term in terms.apart:
            holders = self._apart.setdefault(term, Counter())
            holders[node] += sign
            if not holders[node]:
                del holders[node]
            if not holders:
                del self._apart[term]
        for weight, term in (*terms.preferred, *((HARD_AFFINITY_WEIGHT, term) for term in terms.near)):
            weights = self._weights.setdefault(term, {})
            weights[node] = weights.get(node, 0) + sign * weight
            if not weights[node]:
                del weights[node]
            if not weights:
                del self._weights[term]

    def _selects(self, term: Term, namespace: str, labels: Labels) -> bool:
        return term.selects(namespace, self._namespaces.get(namespace, {}), labels)

    def _all_select(self, terms: Iterable[Term], namespace: str, labels: Labels) -> bool:
        return all(self._selects(term, namespace, labels) for term in terms)

    def _counts_selected(self, term: Term) -> Iterator[tuple[str, int]]:
        for group in self._groups.values():
            if self._selects(term, group.namespace, group.labels):
                yield from group.nodes.items()

    def _nodes_selected(self, term: Term) -> Iterator[str]:
        return (node for node, _ in self._counts_selected(term))


def selector_of(selector: meta.LabelSelector | None) -> LabelSelector:
    """A parsed selector. One that the API server should never have let in selects nothing, rather than stop us."""
    try:
        return from_struct(selector)
    except SelectorError:
        return NOTHING


def with_label_keys(selector: LabelSelector, labels: Labels, keys: Iterable[str], operator: Operator) -> LabelSelector:
    """A selector narrowed to pods that have the same (or other) values of some labels as this pod (KEP-3633)."""
    more = tuple(Requirement(key, operator, (labels[key],)) for key in keys if key in labels)
    return LabelSelector((*selector.requirements, *more), selector.selects_nothing) if more else selector


def _required(kind: core.PodAffinity | core.PodAntiAffinity | None, pod: core.Pod) -> tuple[Term, ...]:
    if kind is None:
        return ()
    return tuple(Term.of(term, pod) for term in kind.required_during_scheduling_ignored_during_execution)


def _group_key(namespace: str, labels: Labels) -> GroupKey:
    return (namespace, tuple(sorted(labels.items())))


def _domains(nodes: NodeColumns, numbers: Numbers, names: Iterable[str]) -> Bools:
    """Which domains the named nodes are in, indexed by the domain's number."""
    marked = np.zeros(int(numbers.max(initial=0)) + 1, np.bool_)
    for name in names:
        row = nodes.row(name)
        if row is not None:
            marked[numbers[row]] = True
    marked[0] = False
    return marked


def _spread_weights(
    nodes: NodeColumns, score: Floats | None, term: Term, weights: Iterable[tuple[str, int]]
) -> Floats | None:
    """Add to each node's score the weights of all nodes in its domain."""
    numbers = nodes.domains(term.topology_key)
    per_domain = np.zeros(int(numbers.max(initial=0)) + 1, np.float64)
    for name, weight in weights:
        row = nodes.row(name)
        if row is not None:
            per_domain[numbers[row]] += weight
    per_domain[0] = 0
    if not per_domain.any():
        return score
    spread: Floats = per_domain[numbers]
    return spread if score is None else score + spread
