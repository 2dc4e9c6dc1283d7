"""What is to be done about a deployment now: a pure function of it and its replica sets.

A plan is one step. Whoever carries it out asks for the next one with what has come of it, until a plan holds no step
more; then the status is written, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from api import codec
from api.apps_v1 import Deployment, ReplicaSet
from controlplane.controllers.deployments.progress import is_complete
from controlplane.controllers.deployments.revisions import annotated, next_revision, revision_of, sized
from controlplane.controllers.deployments.rolling import Sizes, grown, recreate, roll
from controlplane.controllers.deployments.scaling import is_resized, resize
from controlplane.controllers.deployments.sizes import Goal, goal_of, is_recreate, share_of
from controlplane.controllers.deployments.templates import age_key, find_new, new_replica_set
from controlplane.controllers.replicasets.planning import wanted

_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Create:
    """Make the replica set of a new revision."""

    replica_set: ReplicaSet


@dataclass(frozen=True, slots=True)
class Update:
    """Write a replica set whose size or annotations changed; `size_before` is what it was."""

    replica_set: ReplicaSet
    size_before: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Drop a replica set from history."""

    replica_set: ReplicaSet


@dataclass(frozen=True, slots=True)
class Plan:
    """The replica set of the present template (None before it is made), all others, and the next steps.

    `verdict` tells whether the status is to judge the progress of a roll-out: not while paused, resized or deleted.
    """

    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...]
    steps: tuple[Create | Update | Delete, ...]
    revision: int
    verdict: bool


def plan(deployment: Deployment, replica_sets: Iterable[ReplicaSet], *, old_pods_run: bool) -> Plan:
    """The next step. `old_pods_run` tells whether any pod of another template has not stopped yet; it matters to the
    strategy Recreate alone.
    """
    replica_sets = sorted(replica_sets, key=age_key)
    new = find_new(deployment, replica_sets)
    old = [one for one in replica_sets if new is None or one.metadata.uid != new.metadata.uid]
    goal, revision = goal_of(deployment), next_revision(old)
    verdict = True
    steps: list[Create | Update | Delete] = []
    if deployment.metadata.deletion_timestamp is not None:
        return Plan(new, tuple(old), (), _shown_revision(new, revision), False)
    shares = [share_of(one) for one in old]
    share = share_of(new) if new is not None else None
    if deployment.spec.paused or is_resized(goal, [*shares, *([share] if share is not None else ())]):
        verdict = False
        sizes = resize(goal, share, shares, rolling=not is_recreate(deployment))
        steps = _updates(deployment, goal, new, old, sizes, revision)
        if not steps and deployment.spec.paused:
            steps = _cleanup(deployment, old)
    elif new is None and _may_create(deployment, old, old_pods_run):
        steps = [Create(_fresh(deployment, goal, old, revision))]
    else:
        if is_recreate(deployment):
            sizes = recreate(goal, share, shares, old_pods_run)
        else:
            sizes = roll(goal, share, shares) if share is not None else {}
        steps = _updates(deployment, goal, new, old, sizes, revision)
        if not steps and is_complete(deployment, deployment.status):
            steps = _cleanup(deployment, old)
    return Plan(new, tuple(old), tuple(steps), _shown_revision(new, revision), verdict)


def _shown_revision(new: ReplicaSet | None, revision: int) -> int:
    """What the deployment itself says its revision is; 0 before there is one."""
    if new is None:
        return 0
    return max(revision_of(new), revision)


def _may_create(deployment: Deployment, old: Sequence[ReplicaSet], old_pods_run: bool) -> bool:
    if not is_recreate(deployment):
        return True
    return not old_pods_run and all(wanted(one) == 0 for one in old)


def _fresh(deployment: Deployment, goal: Goal, old: Sequence[ReplicaSet], revision: int) -> ReplicaSet:
    """The new replica set, as large as may be at once."""
    replica_set = new_replica_set(deployment)
    if is_recreate(deployment):
        size = goal.replicas
    else:
        size = grown(goal, share_of(replica_set), [share_of(one) for one in old])
    return sized(annotated(deployment, replica_set, revision), size, goal.replicas, goal.most)


def _updates(
    deployment: Deployment,
    goal: Goal,
    new: ReplicaSet | None,
    old: Sequence[ReplicaSet],
    sizes: Sizes,
    revision: int,
) -> list[Create | Update | Delete]:
    """One write for each replica set that has anything to change."""
    steps: list[Create | Update | Delete] = []
    for replica_set in [*([new] if new is not None else []), *old]:
        changed: ReplicaSet = replica_set
        if replica_set is new:
            changed = annotated(deployment, replica_set, revision)
            if changed.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
                changed = codec.deepcopy(changed)
                changed.spec.min_ready_seconds = deployment.spec.min_ready_seconds
        if replica_set.metadata.uid in sizes:
            changed = sized(changed, sizes[replica_set.metadata.uid], goal.replicas, goal.most)
        if changed is not replica_set:
            steps.append(Update(changed, wanted(replica_set)))
    return steps


def _cleanup(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[Create | Update | Delete]:
    """Drop the oldest revisions beyond the limit, but none that has, or may yet have, a pod."""
    limit = deployment.spec.revision_history_limit
    if limit is None or limit == _NO_LIMIT:
        return []
    present = [one for one in old if one.metadata.deletion_timestamp is None]
    surplus = max(0, len(present) - limit)
    oldest = sorted(present, key=lambda one: (revision_of(one), age_key(one)))[:surplus]
    return [
        Delete(one)
        for one in oldest
        if one.status.replicas == 0 == wanted(one) and one.metadata.generation <= one.status.observed_generation
    ]
