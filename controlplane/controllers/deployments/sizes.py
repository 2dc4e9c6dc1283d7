"""The numbers that roll-outs are decided by, taken off the objects: goals and shares.

`rolling` and `scaling` work on these alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from api.apps_v1 import Deployment, ReplicaSet
from api.int_or_string import scaled
from controlplane.controllers.deployments.revisions import desired_replicas, max_replicas
from controlplane.controllers.deployments.templates import age_key
from controlplane.controllers.replicasets.planning import wanted

RECREATE = "Recreate"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a deployment asks for: so many pods, at most `surge` more and `unavailable` fewer while it rolls.

    `reported` is how many pods its status counts.
    """

    replicas: int
    surge: int = 0
    unavailable: int = 0
    reported: int = 0

    @property
    def most(self) -> int:
        """The most pods there may be."""
        return self.replicas + self.surge

    @property
    def fewest(self) -> int:
        """The fewest pods that must be available."""
        return self.replicas - self.unavailable


@dataclass(frozen=True, slots=True)
class Share:
    """One replica set: its UID, its size as specified, how many of its pods are available.

    `age` sorts the oldest first; `most_before` and `desired_before` are the deployment's figures when this share was
    last sized, None when they are not known.
    """

    uid: str
    size: int
    available: int = 0
    age: tuple[str, str] = ("", "")
    most_before: int | None = None
    desired_before: int | None = None


def replicas_of(deployment: Deployment) -> int:
    """How many pods are asked for; one if nothing is said."""
    return 1 if deployment.spec.replicas is None else deployment.spec.replicas


def is_recreate(deployment: Deployment) -> bool:
    return deployment.spec.strategy.type == RECREATE


def goal_of(deployment: Deployment) -> Goal:
    """Percentages are resolved here: surge is rounded up, unavailability down, and not both may come out as none."""
    replicas, reported = replicas_of(deployment), deployment.status.replicas
    rolling = deployment.spec.strategy.rolling_update
    if is_recreate(deployment) or rolling is None:
        return Goal(replicas, reported=reported)
    surge = scaled(rolling.max_surge or 0, replicas, round_up=True)
    unavailable = scaled(rolling.max_unavailable or 0, replicas, round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return Goal(replicas, surge, min(unavailable, replicas), reported)


def share_of(replica_set: ReplicaSet) -> Share:
    size = wanted(replica_set)
    return Share(
        uid=replica_set.metadata.uid,
        size=size,
        # A replica set that was just cut back still counts pods that are on their way out.
        available=min(replica_set.status.available_replicas, size),
        age=age_key(replica_set),
        most_before=max_replicas(replica_set),
        desired_before=desired_replicas(replica_set),
    )


def total(shares: Iterable[Share]) -> int:
    """How many pods all shares together are to have."""
    return sum(share.size for share in shares)
