"""PodDisruptionBudgets (policy)."""

from __future__ import annotations

from api import policy_v1 as policy
from api.fields import FieldErrors, invalid
from api.validation.checks import at_most_all, count_or_percent, one_of
from api.validation.metadata import validate_label_selector
from api.validation.rules import Rules

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def validate_budget(budget: policy.PodDisruptionBudget, out: FieldErrors) -> None:
    spec = budget.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        out.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for value, wire in ((spec.min_available, "minAvailable"), (spec.max_unavailable, "maxUnavailable")):
        if value is not None:
            count_or_percent(value, f"spec.{wire}", out)
            at_most_all(value, f"spec.{wire}", out)
    validate_label_selector(spec.selector, "spec.selector", out)
    if spec.unhealthy_pod_eviction_policy is not None:
        where = "spec.unhealthyPodEvictionPolicy"
        one_of(spec.unhealthy_pod_eviction_policy, _EVICTION_POLICIES, where, out)


def validate_budget_status_update(
    new: policy.PodDisruptionBudget, old: policy.PodDisruptionBudget, out: FieldErrors
) -> None:
    status = new.status
    counts = (
        (status.disruptions_allowed, "disruptionsAllowed"),
        (status.current_healthy, "currentHealthy"),
        (status.desired_healthy, "desiredHealthy"),
        (status.expected_pods, "expectedPods"),
    )
    for count, wire in counts:
        if count < 0:
            out.append(invalid(f"status.{wire}", count, "must be greater than or equal to 0"))


RULES = {"PodDisruptionBudget": Rules(create=validate_budget, status=validate_budget_status_update)}
