"""Deleting what a namespace holds, kind by kind.

Pods go first and alone: while one of them still runs, the policies and secrets it relies on stay (KEP-5080).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import Reason, StatusError
from api.pods import is_terminal
from api.scheme import SCHEME, Resource
from client.clock import Clock
from client.errors import BadAnswer
from client.interface import Client
from controlplane.controllers.namespaces.conditions import Leftovers

FINALIZER_ESTIMATE = 15.0  # seconds an object with a finalizer is expected to need

# One object under two names: once is enough.
_ALIASES = frozenset({("events.k8s.io", "events")})


def deletable_resources() -> Iterator[Resource]:
    """Every namespaced kind that can be listed and deleted, once, pods first."""
    seen: set[str] = set()
    pods = SCHEME.of(core.Pod)
    for resource in (pods, *SCHEME.resources()):
        if not resource.namespaced or (resource.group, resource.plural) in _ALIASES:
            continue
        if resource.group_resource in seen or not {"list", "deletecollection"} <= set(resource.verbs):
            continue
        seen.add(resource.group_resource)
        yield resource


async def delete_contents(client: Client, clock: Clock, namespace: core.Namespace) -> Leftovers:
    """One round: delete all there is, then count what is left. Failures with one kind do not stop the others."""
    left = Leftovers()
    for resource in deletable_resources():
        try:
            await _delete_all(client, clock, namespace, resource, left)
        except (StatusError, BadAnswer) as error:
            if not _not_served(error):
                left.failures.append(error)
        if resource.kind == "Pod" and not left.empty:
            break
    return left


async def _delete_all(
    client: Client, clock: Clock, namespace: core.Namespace, resource: Resource, left: Leftovers
) -> None:
    name = namespace.metadata.name
    if not (await client.list(resource.type, name)).items:
        return
    await client.delete_collection(resource.type, name, propagation="Background")
    remaining: Sequence[meta.Object] = (await client.list(resource.type, name)).items
    if not remaining:
        return
    left.resources[resource.plural, resource.group] += len(remaining)
    left.finalizers.update(finalizer for obj in remaining for finalizer in obj.metadata.finalizers)
    since = namespace.metadata.deletion_timestamp
    elapsed = clock.now() - since.timestamp() if since is not None else 0.0
    left.seconds = max(left.seconds, _estimate(remaining, elapsed))


def _estimate(remaining: Sequence[meta.Object], elapsed: float) -> float:
    """Seconds until the last of these objects may be gone, `elapsed` seconds after it all began."""
    pods = [obj for obj in remaining if isinstance(obj, core.Pod)]
    graces = [
        pod.spec.termination_grace_period_seconds or 0
        for pod in pods
        if not is_terminal(pod) and not pod.metadata.finalizers
    ]
    # Past its time, it may be any moment.
    grace = max(graces, default=0) if elapsed <= max(graces, default=0) else 0
    waits = any(obj.metadata.finalizers for obj in remaining)
    return max(float(grace), FINALIZER_ESTIMATE if waits else 1.0)


def _not_served(error: Exception) -> bool:
    """This server does not have the kind, or not that verb."""
    return isinstance(error, StatusError) and error.reason in (Reason.NOT_FOUND, Reason.METHOD_NOT_ALLOWED)
