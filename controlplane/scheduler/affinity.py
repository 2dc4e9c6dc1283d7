"""Which nodes a pod wants by their labels and names: nodeSelector and node affinity.

Each requirement is one comparison over a label column. The semantics are upstream's (component-helpers
`nodeaffinity`): terms are alternatives, requirements within a term all hold; a term without requirements matches
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from api import core_v1 as core
from controlplane.scheduler.nodes import Bools, Floats, LabelColumn, NodeColumns

_NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """What of a pod's spec chooses nodes by label or name."""

    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[core.NodeSelectorTerm, ...] | None = None
    preferred: tuple[tuple[int, core.NodeSelectorTerm], ...] = ()

    @classmethod
    def of(cls, spec: core.PodSpec) -> NodeAffinity:
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else []
        return cls(
            selector=tuple(sorted(spec.node_selector.items())),
            required=tuple(required.node_selector_terms) if required is not None else None,
            preferred=tuple((term.weight, term.preference) for term in preferred if term.weight),
        )

    def allowed_names(self) -> frozenset[str] | None:
        """The only nodes that can match, when every alternative names some (a DaemonSet's pods do); None for no
        limit.
        """
        if not self.required:
            return None
        names: set[str] = set()
        for term in self.required:
            wanted: set[str] | None = None
            for field in term.match_fields:
                if field.key == _NAME_FIELD and field.operator == "In":
                    wanted = set(field.values) if wanted is None else wanted & set(field.values)
            if wanted is None:
                return None
            names |= wanted
        return frozenset(names)

    def matches(self, nodes: NodeColumns) -> Bools:
        """The nodes that satisfy all that is required."""
        matching = np.ones(nodes.rows, np.bool_)
        for key, value in self.selector:
            matching &= _has(nodes, key, (value,))
        if self.required is not None:
            matching &= _any_term(nodes, self.required)
        return matching

    def preference(self, nodes: NodeColumns) -> Floats | None:
        """How much each node is preferred, as a sum of weights; None when the pod prefers none."""
        if not self.preferred:
            return None
        weights = np.zeros(nodes.rows, np.float64)
        for weight, term in self.preferred:
            weights += weight * _term(nodes, term)
        return weights


def _any_term(nodes: NodeColumns, terms: Sequence[core.NodeSelectorTerm]) -> Bools:
    matching = np.zeros(nodes.rows, np.bool_)
    for term in terms:
        matching |= _term(nodes, term)
    return matching


def _term(nodes: NodeColumns, term: core.NodeSelectorTerm) -> Bools:
    if not term.match_expressions and not term.match_fields:
        return np.zeros(nodes.rows, np.bool_)
    matching = np.ones(nodes.rows, np.bool_)
    for requirement in term.match_expressions:
        matching &= _requirement(nodes, requirement)
    for requirement in term.match_fields:
        matching &= _name_requirement(nodes, requirement)
    return matching


def _requirement(nodes: NodeColumns, requirement: core.NodeSelectorRequirement) -> Bools:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case "In":
            return _has(nodes, key, values)
        case "NotIn":
            return ~_has(nodes, key, values)
        case "Exists":
            return _exists(nodes, key)
        case "DoesNotExist":
            return ~_exists(nodes, key)
        case "Gt" | "Lt" if len(values) == 1:
            return _compares(nodes, key, requirement.operator, values[0])
        case _:
            return np.zeros(nodes.rows, np.bool_)


def _name_requirement(nodes: NodeColumns, requirement: core.NodeSelectorRequirement) -> Bools:
    if requirement.key != _NAME_FIELD or requirement.operator not in ("In", "NotIn"):
        return np.zeros(nodes.rows, np.bool_)
    matching = nodes.marked(requirement.values)
    return matching if requirement.operator == "In" else ~matching


def _has(nodes: NodeColumns, key: str, values: Sequence[str]) -> Bools:
    column = nodes.label(key)
    if column is None:
        return np.zeros(nodes.rows, np.bool_)
    numbers = nodes.domains(key)
    if len(values) == 1:
        matching: Bools = numbers == column.number(values[0])
        return matching
    return np.isin(numbers, [column.number(value) for value in values])


def _exists(nodes: NodeColumns, key: str) -> Bools:
    matching: Bools = nodes.domains(key) != 0
    return matching


def _compares(nodes: NodeColumns, key: str, operator: str, bound: str) -> Bools:
    """Gt and Lt, once per distinct value. What is no integer matches neither."""
    column, limit = nodes.label(key), _integer(bound)
    if column is None or limit is None:
        return np.zeros(nodes.rows, np.bool_)
    verdicts = np.array([_within(column, number, operator, limit) for number in range(len(column.values))], np.bool_)
    return verdicts[nodes.domains(key)]


def _within(column: LabelColumn, number: int, operator: str, limit: int) -> bool:
    value = _integer(column.values[number]) if number else None
    if value is None:
        return False
    return value > limit if operator == "Gt" else value < limit


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() else None
