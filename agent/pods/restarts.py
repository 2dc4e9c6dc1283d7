"""Whether a container that ended starts again, and when.

Restart policies of pod and container with their rules (KEP-5307), and the arithmetic of CrashLoopBackOff: 10 s,
doubled at each restart, at most 5 min, forgotten once a container has run for 10 min. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod
from api import core_v1 as core
from api.pods import AnyContainer, is_restartable_init

FIRST_DELAY = 10.0
LONGEST_DELAY = 300.0
FORGET_AFTER = 2 * LONGEST_DELAY

RESTART_ALL = "RestartAllContainers"


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a container must have been dead before it starts again; `since` is when the delay was last raised
    (monotonic seconds).
    """

    delay: float
    since: float


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
    """Whether this end of this container starts the whole pod anew in its sandbox (KEP-5532)."""
    return _matching_action(container, exit_code) == RESTART_ALL


def restart_of_all_due(pod: core.Pod, observed: ObservedPod) -> bool:
    """Whether some container has ended in a way that starts the whole pod anew (KEP-5532)."""
    return any(
        (last := observed.container(one.name)) is not None
        and last.state is ContainerState.EXITED
        and asks_to_restart_all(one, last.exit_code)
        for one in [*pod.spec.init_containers, *pod.spec.containers]
    )


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


def due_to_start(pod: core.Pod, container: AnyContainer, observed: ObservedPod) -> bool:
    """Whether a container that does not run is to be started: it never ran, was never started, cannot be told, or is
    to run again.
    """
    if pod.metadata.deletion_timestamp is not None:
        return False
    newest = observed.container(container.name)
    if newest is None or newest.state in (ContainerState.CREATED, ContainerState.UNKNOWN):
        return True
    if newest.state is ContainerState.RUNNING:
        return False
    return restarts_after(pod, container, newest.exit_code)


def remaining(backoff: Backoff | None, exited_at: float, now: float) -> float:
    """Seconds still to wait before a start, 0 when there is nothing to wait for."""
    if backoff is None or exited_at - backoff.since > FORGET_AFTER:
        return 0.0
    return max(0.0, exited_at + backoff.delay - now)


def raised(backoff: Backoff | None, exited_at: float, now: float) -> Backoff:
    """The back-off after one more start of a container that last ended at `exited_at`."""
    if backoff is None or exited_at - backoff.since > FORGET_AFTER:
        return Backoff(FIRST_DELAY, now)
    return Backoff(min(2 * backoff.delay, LONGEST_DELAY), now)


def newest_exited(observed: ObservedPod, name: str) -> ObservedContainer | None:
    """The last attempt at a container that has ended, even when a newer one runs."""
    for one in observed.attempts(name):
        if one.state is ContainerState.EXITED:
            return one
    return None
