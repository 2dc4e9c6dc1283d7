"""Whether a node is one that a pod asks for by name, label or affinity. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from api import core_v1 as core


def node_suits(pod: core.Pod, node: core.Node) -> bool:
    """Whether the node meets the pod's node selector and its required node affinity."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    if required is None:
        return True
    # Terms are alternatives; what a term lists must all hold, and an empty term holds nowhere.
    return any(_term_holds(term, node) for term in required.node_selector_terms)


def _term_holds(term: core.NodeSelectorTerm, node: core.Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    labels = node.metadata.labels
    fields = {"metadata.name": node.metadata.name}
    return all(_holds(one, labels.get(one.key)) for one in term.match_expressions) and all(
        _holds(one, fields.get(one.key)) for one in term.match_fields
    )


def _holds(requirement: core.NodeSelectorRequirement, value: str | None) -> bool:
    operator, values = requirement.operator, requirement.values
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator in ("Gt", "Lt"):
        return value is not None and _compares(operator, value, values)
    return False


def _compares(operator: str, value: str, values: Sequence[str]) -> bool:
    try:
        left, right = int(value), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right
