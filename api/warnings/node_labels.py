"""Labels of nodes that have been given another name, and selectors that still use the old one."""

from __future__ import annotations

from collections.abc import Iterator

from api import core_v1 as core
from api.names import label_value

DEPRECATED = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def affinity_warnings(affinity: core.NodeAffinity, path: str) -> Iterator[str]:
    """What to say of the terms of a node affinity. Values of preferred terms are not validated, so they are judged."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(required.node_selector_terms):
            yield from term_warnings(term, f"{where}[{index}]", values=False)
    where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        yield from term_warnings(preferred.preference, f"{where}[{index}].preference", values=True)


def term_warnings(term: core.NodeSelectorTerm, path: str, *, values: bool) -> Iterator[str]:
    """What to say of a term's labels, and of their values where validation has left those alone."""
    for index, expression in enumerate(term.match_expressions):
        where = f"{path}.matchExpressions[{index}]"
        if message := DEPRECATED.get(expression.key):
            yield f"{where}.key: {expression.key} is {message}"
        if values:
            for position, value in enumerate(expression.values):
                for problem in label_value(value):
                    yield f"{where}.values[{position}]: {value} is invalid, {problem}"
