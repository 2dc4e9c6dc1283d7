"""What a deployment reports, added up from its replica sets."""

from __future__ import annotations

from collections.abc import Sequence

from api import codec
from api.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from controlplane.controllers.deployments.progress import condition, drop_condition, judge, set_condition
from controlplane.controllers.deployments.sizes import goal_of
from controlplane.controllers.replicasets.planning import wanted
from controlplane.controllers.replicasets.status import REPLICA_FAILURE

AVAILABLE = "Available"


def rollout_status(
    deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet], now: float
) -> DeploymentStatus:
    """The status in the course of a roll-out: with a verdict on its progress, and with failures of replica sets."""
    status = plain_status(deployment, new, old, now)
    judge(deployment, status, new, now)
    failures = [*_failures([new] if new is not None else []), *_failures(old)]
    if failures:
        set_condition(status, failures[0])
    else:
        drop_condition(status, REPLICA_FAILURE)
    return status


def plain_status(
    deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet], now: float
) -> DeploymentStatus:
    """Counts and availability as of now (wall time in seconds); all else as it was."""
    replica_sets = [*old, *([new] if new is not None else ())]
    available = sum(one.status.available_replicas for one in replica_sets)
    specified = sum(wanted(one) for one in replica_sets)
    terminating = [one.status.terminating_replicas for one in replica_sets]
    status = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas for one in replica_sets),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(one.status.ready_replicas for one in replica_sets),
        available_replicas=available,
        unavailable_replicas=max(0, specified - available),
        # Known only when every replica set tells.
        terminating_replicas=None if None in terminating else sum(count or 0 for count in terminating),
        collision_count=deployment.status.collision_count,
        conditions=[codec.deepcopy(one) for one in deployment.status.conditions],
    )
    if available >= goal_of(deployment).fewest:
        verdict = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        verdict = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    set_condition(status, condition(AVAILABLE, *verdict, now))
    return status


def _failures(replica_sets: Sequence[ReplicaSet]) -> list[DeploymentCondition]:
    """The replica sets' own reports of failure, as conditions of the deployment."""
    return [
        DeploymentCondition(
            one.type, one.status, one.last_transition_time, one.last_transition_time, one.reason, one.message
        )
        for replica_set in replica_sets
        for one in replica_set.status.conditions
        if one.type == REPLICA_FAILURE
    ]
