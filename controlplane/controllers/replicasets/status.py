"""What a replica set reports: counts of its pods, and whether it fails to make or remove some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api import codec
from api import core_v1 as core
from api.apps_v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from api.pods import get_condition, is_active, is_available, is_ready, is_terminal
from api.times import Time

REPLICA_FAILURE = "ReplicaFailure"
FAILED_CREATE = "FailedCreate"
FAILED_DELETE = "FailedDelete"


def status_of(
    replica_set: ReplicaSet, pods: Sequence[core.Pod], failure: tuple[str, str] | None, now: float
) -> ReplicaSetStatus:
    """The status as of now (wall time in seconds). `failure` is (reason, message) of what just went wrong."""
    labels = replica_set.spec.template.metadata.labels.items()
    active = [pod for pod in pods if is_active(pod)]
    ready = [pod for pod in active if is_ready(pod)]
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(1 for pod in active if labels <= pod.metadata.labels.items()),
        ready_replicas=len(ready),
        available_replicas=sum(1 for pod in ready if is_available(pod, replica_set.spec.min_ready_seconds, now)),
        terminating_replicas=sum(
            1 for pod in pods if pod.metadata.deletion_timestamp is not None and not is_terminal(pod)
        ),
        observed_generation=replica_set.metadata.generation,
        conditions=_conditions(replica_set.status.conditions, failure, now),
    )


def _conditions(
    present: Iterable[ReplicaSetCondition], failure: tuple[str, str] | None, now: float
) -> list[ReplicaSetCondition]:
    conditions = [codec.deepcopy(condition) for condition in present]
    if failure is None:
        return [condition for condition in conditions if condition.type != REPLICA_FAILURE]
    if get_condition(conditions, REPLICA_FAILURE) is None:
        reason, message = failure
        since = Time.from_timestamp(now)
        conditions.append(ReplicaSetCondition(REPLICA_FAILURE, "True", since, reason, message))
    return conditions


def next_availability(replica_set: ReplicaSet, pods: Iterable[core.Pod], now: float) -> float | None:
    """Seconds until the next pod will have been ready for long enough; None when no pod is on its way there."""
    minimum = replica_set.spec.min_ready_seconds
    if minimum == 0:
        return None
    left = [
        condition.last_transition_time.timestamp() + minimum - now
        for pod in pods
        if is_active(pod)
        and not is_available(pod, minimum, now)
        and (condition := get_condition(pod.status.conditions, "Ready")) is not None
        and condition.status == "True"
        and condition.last_transition_time is not None
    ]
    return max(min(left), 0.001) if left else None
