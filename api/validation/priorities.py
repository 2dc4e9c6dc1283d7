"""PriorityClasses (scheduling.k8s.io): users' values stay below the system's own."""

from __future__ import annotations

from api import scheduling_v1 as scheduling
from api.fields import FieldErrors, forbidden
from api.validation.checks import immutable, required_one_of
from api.validation.podspec import PREEMPTION_POLICIES
from api.validation.rules import Rules

HIGHEST_USER_PRIORITY = 10**9
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {"system-node-critical": 2 * 10**9 + 1000, "system-cluster-critical": 2 * 10**9}


def validate_priority_class(priority: scheduling.PriorityClass, out: FieldErrors) -> None:
    name = priority.metadata.name
    if name.startswith(SYSTEM_PREFIX):
        problem = _system_problem(priority)
        if problem:
            detail = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"
            )
            out.append(forbidden("metadata.name", detail))
    elif priority.value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        out.append(forbidden("value", detail))
    if priority.preemption_policy is not None:
        required_one_of(priority.preemption_policy, PREEMPTION_POLICIES, "preemptionPolicy", out, ordered=True)


def _system_problem(priority: scheduling.PriorityClass) -> str:
    name = priority.metadata.name
    expected = SYSTEM_CLASSES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if priority.value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    if priority.global_default:
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def validate_priority_class_update(
    new: scheduling.PriorityClass, old: scheduling.PriorityClass, out: FieldErrors
) -> None:
    if new.value != old.value:
        out.append(forbidden("value", "may not be changed in an update."))
    immutable(new.preemption_policy, old.preemption_policy, "preemptionPolicy", out)


RULES = {"PriorityClass": Rules(create=validate_priority_class, update=validate_priority_class_update)}
