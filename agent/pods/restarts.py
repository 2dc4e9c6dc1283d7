"""Which containers are due to start, and when.

Whether one starts again at all is in `api.pod_restarts`. Here is the arithmetic of CrashLoopBackOff: 10 s, doubled at
each restart, at most 5 min, forgotten once a container has run for 10 min. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod
from api import core_v1 as core
from api.pod_restarts import asks_to_restart_all, restarts_after
from api.pods import AnyContainer

FIRST_DELAY = 10.0
LONGEST_DELAY = 300.0
FORGET_AFTER = 2 * LONGEST_DELAY


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a container must have been dead before it starts again; `since` is when the delay was last raised
    (monotonic seconds).
    """

    delay: float
    since: float


def restart_of_all_due(pod: core.Pod, observed: ObservedPod) -> bool:
    """Whether some container has ended in a way that starts the whole pod anew (KEP-5532)."""
    return any(
        (last := observed.container(one.name)) is not None
        and last.state is ContainerState.EXITED
        and asks_to_restart_all(one, last.exit_code)
        for one in [*pod.spec.init_containers, *pod.spec.containers]
    )


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
