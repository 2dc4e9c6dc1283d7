"""Whether a container that ended starts again: by its own rules, its own policy or the pod's (KEP-5307, KEP-5532).

The node acts by it, and the API server holds it against statuses: what has ended for good stays ended.
"""

from __future__ import annotations

from typing import Final

from api import core_v1 as core
from api.pods import AnyContainer, is_restartable_init

RESTART_ALL: Final = "RestartAllContainers"


def restarts_after(pod: core.Pod, container: AnyContainer, exit_code: int) -> bool:
    """Whether a container that ended with `exit_code` is to run again: its rules, else its own policy, else the
    pod's.
    """
    if _matching_action(container, exit_code):
        return True
    policy = getattr(container, "restart_policy", None) or pod.spec.restart_policy or "Always"
    if policy == "OnFailure":
        return exit_code != 0
    return bool(policy == "Always")


def init_restarts_after(pod: core.Pod, container: core.Container, exit_code: int) -> bool:
    """The same for a failed regular init container, for which the pod's Always means: until it succeeds."""
    return is_restartable_init(container) or (exit_code != 0 and restarts_after(pod, container, exit_code))


def asks_to_restart_all(container: AnyContainer, exit_code: int) -> bool:
    """Whether this end of this container starts the whole pod anew in its sandbox."""
    return _matching_action(container, exit_code) == RESTART_ALL


def may_restart_all(pod: core.Pod) -> bool:
    """Whether any container has a rule that could start the whole pod anew."""
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    return any(rule.action == RESTART_ALL for one in containers for rule in one.restart_policy_rules)


def _matching_action(container: AnyContainer, exit_code: int) -> str:
    for rule in getattr(container, "restart_policy_rules", []):
        codes = rule.exit_codes
        if codes is None:
            continue
        if (exit_code in codes.values) == (codes.operator == "In"):
            return str(rule.action)
    return ""
