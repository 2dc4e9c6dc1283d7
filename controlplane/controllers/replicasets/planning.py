"""How many pods to make, and which to remove: a pure function of a replica set and its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from api import core_v1 as core
from api import meta_v1 as meta
from api.apps_v1 import ReplicaSet
from api.owners import new_controller_ref
from api.pods import is_active
from controlplane.controllers.replicasets.ranking import in_order_of_deletion

BURST = 500  # pods made or removed at one go; the rest follows when these are done
_NAME_LIMIT = 253


@dataclass(frozen=True, slots=True)
class Plan:
    """So many pods to create, or these to delete."""

    create: int = 0
    delete: tuple[core.Pod, ...] = ()


def plan(
    replica_set: ReplicaSet, pods: Sequence[core.Pod], related: Callable[[], Iterable[core.Pod]], now: float
) -> Plan:
    """Compare what is wanted with the replica set's pods. `related` gives the pods of its whole deployment, should they
    matter; `now` is wall time in seconds. A replica set that is being deleted leaves its pods to the garbage collector.
    """
    if replica_set.metadata.deletion_timestamp is not None:
        return Plan()
    active = [pod for pod in pods if is_active(pod)]
    surplus = len(active) - wanted(replica_set)
    if surplus < 0:
        return Plan(create=min(-surplus, BURST))
    if surplus == 0:
        return Plan()
    surplus = min(surplus, BURST)
    if surplus < len(active):
        active = in_order_of_deletion(active, related(), now)
    return Plan(delete=tuple(active[:surplus]))


def wanted(replica_set: ReplicaSet) -> int:
    """How many pods are asked for; one if nothing is said."""
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def pod_of(replica_set: ReplicaSet) -> core.Pod:
    """A pod of the template, to be named by the server."""
    template = replica_set.spec.template
    prefix = f"{replica_set.metadata.name}-"
    return core.Pod(
        metadata=meta.ObjectMeta(
            generate_name=prefix if len(prefix) <= _NAME_LIMIT else replica_set.metadata.name,
            namespace=replica_set.metadata.namespace,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            finalizers=template.metadata.finalizers,
            owner_references=[new_controller_ref(replica_set)],
        ),
        spec=template.spec,
    )
