"""What a deployment writes on its replica sets: which revision each is, and the sizes it was cut to.

`kubectl rollout history` and `undo` live by these annotations (deployment.kubernetes.io/…).
"""

from __future__ import annotations

from collections.abc import Iterable

from api import codec
from api.apps_v1 import Deployment, ReplicaSet

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"

# Of the deployment itself, not of the template that a replica set stands for.
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
_HISTORY_LIMIT = 2000  # characters


def revision_of(replica_set: ReplicaSet) -> int:
    """The revision a replica set has, 0 when it has none that can be read."""
    return _number(replica_set.metadata.annotations.get(REVISION)) or 0


def desired_replicas(replica_set: ReplicaSet) -> int | None:
    """The size of the deployment when the replica set was last sized."""
    return _number(replica_set.metadata.annotations.get(DESIRED_REPLICAS))


def max_replicas(replica_set: ReplicaSet) -> int | None:
    """The size of the deployment with its surge when the replica set was last sized."""
    return _number(replica_set.metadata.annotations.get(MAX_REPLICAS))


def next_revision(old: Iterable[ReplicaSet]) -> int:
    """The revision after all the old ones."""
    return max((revision_of(replica_set) for replica_set in old), default=0) + 1


def annotated(deployment: Deployment, replica_set: ReplicaSet, revision: int) -> ReplicaSet:
    """The replica set as the present one of the deployment: its annotations copied, its revision raised if need be, the
    old revision kept as history. The same object when nothing changes.
    """
    copied = {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}
    annotations = {**replica_set.metadata.annotations, **copied}
    text = annotations.get(REVISION)
    before = 0 if not text else _number(text)
    # A revision that is no number is the user's: hands off.
    if before is not None and before < revision:
        annotations[REVISION] = str(revision)
        if text is not None:
            annotations[REVISION_HISTORY] = _history(annotations.get(REVISION_HISTORY, ""), text)
    return _with_annotations(replica_set, annotations)


def sized(replica_set: ReplicaSet, size: int, desired: int, most: int) -> ReplicaSet:
    """The replica set with a size, and the deployment's figures that led to it; the same object if nothing changes."""
    annotations = {
        **replica_set.metadata.annotations,
        DESIRED_REPLICAS: str(desired),
        MAX_REPLICAS: str(most),
    }
    changed = _with_annotations(replica_set, annotations)
    if replica_set.spec.replicas != size:
        changed = changed if changed is not replica_set else codec.deepcopy(replica_set)
        changed.spec.replicas = size
    return changed


def _history(history: str, revision: str) -> str:
    """The history with one revision more, and the oldest ones dropped where it gets too long."""
    revisions = [*history.split(","), revision] if history else [revision]
    while len(revisions) > 1 and len(",".join(revisions)) > _HISTORY_LIMIT:
        revisions.pop(0)
    return ",".join(revisions)


def _with_annotations(replica_set: ReplicaSet, annotations: dict[str, str]) -> ReplicaSet:
    if annotations == replica_set.metadata.annotations:
        return replica_set
    changed = codec.deepcopy(replica_set)
    changed.metadata.annotations = annotations
    return changed


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return None
