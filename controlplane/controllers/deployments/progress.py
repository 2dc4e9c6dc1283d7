"""Is the roll-out getting on? The condition Progressing, and the deadline behind it.

A roll-out that shows no progress for `progressDeadlineSeconds` is reported, not undone.
"""

from __future__ import annotations

from api import codec
from api.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from api.pods import get_condition
from api.rendering import quote
from api.times import Time
from controlplane.controllers.deployments.sizes import replicas_of

PROGRESSING = "Progressing"

COMPLETE = "NewReplicaSetAvailable"
CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
UPDATED = "ReplicaSetUpdated"
CREATE_ERROR = "ReplicaSetCreateError"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"

_NO_DEADLINE = 2**31 - 1


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds not in (None, _NO_DEADLINE)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """All pods are of the new template and available, none is left over, and the status is of this generation."""
    return (
        status.updated_replicas == status.replicas == status.available_replicas == replicas_of(deployment)
        and status.observed_generation >= deployment.metadata.generation
    )


def set_condition(status: DeploymentStatus, condition: DeploymentCondition) -> None:
    """Put a condition in place of the one of its type, unless that says the same (status and reason)."""
    present = get_condition(status.conditions, condition.type)
    if present is not None and present.status == condition.status:
        if present.reason == condition.reason:
            return
        condition.last_transition_time = present.last_transition_time
    drop_condition(status, condition.type)
    status.conditions.append(condition)


def drop_condition(status: DeploymentStatus, type_: str) -> None:
    status.conditions = [condition for condition in status.conditions if condition.type != type_]


def condition(type_: str, status: str, reason: str, message: str, now: float) -> DeploymentCondition:
    """A condition as of now (wall time in seconds)."""
    moment = Time.from_timestamp(now)
    return DeploymentCondition(type_, status, moment, moment, reason, message)


def noted(deployment: Deployment, status: str, reason: str, message: str, now: float) -> Deployment:
    """The deployment with a new state of progress, for those that have a deadline; the same object otherwise."""
    if not has_deadline(deployment):
        return deployment
    changed = codec.deepcopy(deployment)
    set_condition(changed.status, condition(PROGRESSING, status, reason, message, now))
    return changed


def created(deployment: Deployment, replica_set: ReplicaSet, now: float) -> Deployment:
    message = f"Created new replica set {quote(replica_set.metadata.name)}"
    return noted(deployment, "True", CREATED, message, now)


def creation_failed(deployment: Deployment, message: str, now: float) -> Deployment:
    return noted(deployment, "False", CREATE_ERROR, message, now)


def found(deployment: Deployment, replica_set: ReplicaSet, now: float) -> Deployment:
    """Deployments that got a deadline late have no condition yet to measure from."""
    if get_condition(deployment.status.conditions, PROGRESSING) is not None:
        return deployment
    return noted(deployment, "True", FOUND, f"Found new replica set {quote(replica_set.metadata.name)}", now)


def paused_or_resumed(deployment: Deployment, now: float) -> Deployment:
    """Pausing stops the deadline, resuming starts it anew; a failure once reported stays."""
    present = get_condition(deployment.status.conditions, PROGRESSING)
    reason = present.reason if present is not None else ""
    if reason == TIMED_OUT:
        return deployment
    if deployment.spec.paused and reason != PAUSED:
        return noted(deployment, "Unknown", PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and reason == PAUSED:
        return noted(deployment, "Unknown", RESUMED, "Deployment is resumed", now)
    return deployment


def judge(deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: float) -> None:
    """Set the condition in a new status, by comparison with the deployment's present one."""
    if not has_deadline(deployment):
        drop_condition(status, PROGRESSING)
        return
    present = get_condition(deployment.status.conditions, PROGRESSING)
    if present is not None and present.reason == COMPLETE and status.replicas == status.updated_replicas:
        return
    kind, name = ("ReplicaSet", new.metadata.name) if new is not None else ("Deployment", deployment.metadata.name)
    subject = f"{kind} {quote(name)}"
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        set_condition(status, condition(PROGRESSING, "True", COMPLETE, message, now))
    elif _has_progressed(deployment.status, status):
        # Set even when it says the same: its update time is what the deadline counts from.
        moved = condition(PROGRESSING, "True", UPDATED, f"{subject} is progressing.", now)
        if present is not None and present.status == "True":
            moved.last_transition_time = present.last_transition_time
        drop_condition(status, PROGRESSING)
        set_condition(status, moved)
    elif is_overdue(deployment, status, now):
        message = f"{subject} has timed out progressing."
        set_condition(status, condition(PROGRESSING, "False", TIMED_OUT, message, now))


def _has_progressed(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def is_overdue(deployment: Deployment, status: DeploymentStatus, now: float) -> bool:
    """Whether nothing has moved for longer than the deadline allows."""
    present = get_condition(status.conditions, PROGRESSING)
    if present is None or present.reason == COMPLETE or not has_deadline(deployment):
        return False
    return present.reason == TIMED_OUT or _left(deployment, present, now) < 0


def until_deadline(deployment: Deployment, status: DeploymentStatus, now: float) -> float | None:
    """Seconds after which it is worth looking at the deadline; None when it means nothing at present."""
    present = get_condition(status.conditions, PROGRESSING)
    if present is None or not has_deadline(deployment) or deployment.spec.paused:
        return None
    if present.reason in (TIMED_OUT, COMPLETE) or is_complete(deployment, status):
        return None
    # Stamps have whole seconds: one more, or the look would come too early.
    return max(_left(deployment, present, now), 0) + 1


def _left(deployment: Deployment, present: DeploymentCondition, now: float) -> float:
    since = present.last_update_time.timestamp() if present.last_update_time is not None else 0.0
    return since + (deployment.spec.progress_deadline_seconds or 0) - now
