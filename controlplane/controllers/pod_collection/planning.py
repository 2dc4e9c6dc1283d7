"""Which pods are to be removed by force: pure functions over all pods and nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from api import core_v1 as core
from api.pods import condition_is_true, is_terminal
from controlplane.controllers.nodes.taints import OUT_OF_SERVICE

TERMINATED_LIMIT = 12500  # pods that are done and are kept for whoever wants to look at them


@dataclass(frozen=True, slots=True)
class Removal:
    """A pod to be removed at once; `orphaned` when it is because its node is gone."""

    pod: core.Pod
    orphaned: bool = False


def plan(
    pods: Sequence[core.Pod],
    nodes: Mapping[str, core.Node],
    gone: Collection[str],
    terminated_limit: int = TERMINATED_LIMIT,
) -> list[Removal]:
    """The pods to remove, each once. `gone` are names of nodes that are known not to exist."""
    removals = {pod.metadata.uid: Removal(pod) for pod in _surplus(pods, terminated_limit)}
    for pod in pods:
        if pod.spec.node_name in gone:
            removals[pod.metadata.uid] = Removal(pod, orphaned=True)
        elif pod.metadata.deletion_timestamp is not None and _nobody_ends(pod, nodes):
            removals.setdefault(pod.metadata.uid, Removal(pod))
    return list(removals.values())


def _surplus(pods: Iterable[core.Pod], limit: int) -> list[core.Pod]:
    """Pods that are done beyond the limit: evicted ones first, then the oldest."""
    done = [pod for pod in pods if is_terminal(pod)]
    if limit <= 0 or len(done) <= limit:
        return []
    done.sort(
        key=lambda pod: (pod.status.reason != "Evicted", pod.metadata.creation_timestamp or "", pod.metadata.name)
    )
    return done[: len(done) - limit]


def _nobody_ends(pod: core.Pod, nodes: Mapping[str, core.Node]) -> bool:
    """Whether no kubelet will see to the end of a pod that is being deleted."""
    if not pod.spec.node_name:
        return True
    node = nodes.get(pod.spec.node_name)
    if node is None:
        return False
    out_of_service = any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
    return out_of_service and not condition_is_true(node.status.conditions, "Ready")


def missing_nodes(pods: Iterable[core.Pod], nodes: Collection[str]) -> set[str]:
    """Names of nodes that pods are on and that are not there."""
    return {pod.spec.node_name for pod in pods if pod.spec.node_name and pod.spec.node_name not in nodes}
