"""Defaults of PriorityClasses."""

from __future__ import annotations

from api import scheduling_v1 as scheduling


def default_priority_class(priority: scheduling.PriorityClass) -> None:
    if priority.preemption_policy is None:
        priority.preemption_policy = "PreemptLowerPriority"


DEFAULTS = {("scheduling.k8s.io/v1", "PriorityClass"): default_priority_class}
