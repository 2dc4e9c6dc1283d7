"""Whether a roll-out is getting on, and what is said of it."""

import pytest

from api import apps_v1 as apps
from api import codec
from api.pods import get_condition
from api.times import Time
from controlplane.controllers.deployments import progress
from controlplane.controllers.deployments.status import plain_status, rollout_status
from controlplane.controllers.deployments.templates import new_replica_set
from tests.unit.controlplane.controllers.small_cluster import deployment

NOW = 1_767_225_600.0


def _asked(reason: str = "", status: str = "True", *, since: float = NOW, **fields: int) -> apps.Deployment:
    asked = deployment(progress_deadline_seconds=600)
    asked.status = apps.DeploymentStatus(**fields)
    if reason:
        moment = Time.from_timestamp(since)
        asked.status.conditions = [apps.DeploymentCondition("Progressing", status, moment, moment, reason, "")]
    return asked


def _new(asked: apps.Deployment, replicas: int, available: int) -> apps.ReplicaSet:
    made = new_replica_set(asked)
    made.metadata.name = "web-1"
    made.spec.replicas = asked.spec.replicas
    made.status = apps.ReplicaSetStatus(replicas=replicas, ready_replicas=available, available_replicas=available)
    return made


def _told(asked: apps.Deployment, status: apps.DeploymentStatus) -> tuple[str, str, str] | None:
    condition = get_condition(status.conditions, "Progressing")
    return (condition.status, condition.reason, condition.message) if condition is not None else None


@pytest.mark.parametrize(
    ("asked", "replicas", "available", "told"),
    [
        (_asked("NewReplicaSetCreated"), 1, 0, ("True", "ReplicaSetUpdated", 'ReplicaSet "web-1" is progressing.')),
        (
            _asked("ReplicaSetUpdated", replicas=3, updated_replicas=3, available_replicas=2, ready_replicas=2),
            3,
            3,
            ("True", "NewReplicaSetAvailable", 'ReplicaSet "web-1" has successfully progressed.'),
        ),
        (
            _asked("ReplicaSetUpdated", since=NOW - 601, replicas=3, updated_replicas=3),
            3,
            0,
            ("False", "ProgressDeadlineExceeded", 'ReplicaSet "web-1" has timed out progressing.'),
        ),
        (
            _asked("ReplicaSetUpdated", since=NOW - 600, replicas=3, updated_replicas=3),
            3,
            0,
            ("True", "ReplicaSetUpdated", ""),
        ),
        # A deployment that lost pods after it was rolled out is not rolling out again.
        (
            _asked("NewReplicaSetAvailable", since=NOW - 9000, replicas=3, updated_replicas=3, available_replicas=3),
            3,
            1,
            ("True", "NewReplicaSetAvailable", ""),
        ),
    ],
)
def test_progress_is_judged(asked: apps.Deployment, replicas: int, available: int, told: tuple[str, str, str]) -> None:
    status = rollout_status(asked, _new(asked, replicas, available), [], NOW)
    assert _told(asked, status) == told


def test_without_a_deadline_nothing_is_said_of_progress() -> None:
    asked = _asked("ReplicaSetUpdated")
    asked.spec.progress_deadline_seconds = 2**31 - 1
    assert _told(asked, rollout_status(asked, _new(asked, 1, 0), [], NOW)) is None


def test_a_pause_stops_the_deadline_and_a_resumption_starts_it_anew() -> None:
    asked = _asked("ReplicaSetUpdated", since=NOW - 500)
    asked.spec.paused = True
    paused = progress.paused_or_resumed(asked, NOW)
    assert _told(paused, paused.status) == ("Unknown", "DeploymentPaused", "Deployment is paused")
    assert progress.until_deadline(paused, paused.status, NOW) is None
    assert progress.paused_or_resumed(paused, NOW + 1) is paused
    again = codec.deepcopy(paused)
    again.spec.paused = False
    resumed = progress.paused_or_resumed(again, NOW + 900)
    assert _told(resumed, resumed.status) == ("Unknown", "DeploymentResumed", "Deployment is resumed")
    assert progress.until_deadline(resumed, resumed.status, NOW + 900) == 601


def test_a_failure_once_reported_outlives_a_pause() -> None:
    asked = _asked("ProgressDeadlineExceeded", "False")
    asked.spec.paused = True
    assert progress.paused_or_resumed(asked, NOW) is asked


def test_a_failing_replica_set_shows_on_the_deployment_until_it_works() -> None:
    asked = _asked()
    new = _new(asked, 0, 0)
    new.status.conditions = [apps.ReplicaSetCondition("ReplicaFailure", "True", None, "FailedCreate", "quota")]
    failing = rollout_status(asked, new, [], NOW)
    condition = get_condition(failing.conditions, "ReplicaFailure")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == ("True", "FailedCreate", "quota")
    asked.status = failing
    new.status.conditions = []
    assert get_condition(rollout_status(asked, new, [], NOW).conditions, "ReplicaFailure") is None


@pytest.mark.parametrize(
    ("available", "told"),
    [
        (3, ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")),
        (2, ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")),
    ],
)
def test_availability_counts_what_may_be_missing(available: int, told: tuple[str, str, str]) -> None:
    asked = deployment()
    asked.spec.strategy.rolling_update = apps.RollingUpdateDeployment(0, 1)
    status = plain_status(asked, _new(asked, 3, available), [], NOW)
    condition = get_condition(status.conditions, "Available")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == told
    assert (status.replicas, status.unavailable_replicas) == (3, 3 - available)
