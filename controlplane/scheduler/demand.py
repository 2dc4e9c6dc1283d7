"""What one pod asks of the cluster, read from its spec once.

A `Demand` is plain data, so that a decision needs no look at the pod. The part that chooses nodes by their labels and
taints is `PlacementRules`; it is the same for all pods of a workload, which share one object of it, and with it
whatever has been worked out from it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from api import codec
from api import core_v1 as core
from api.pod_resources import pod_requests
from api.pods import host_ports
from controlplane.scheduler.affinity import NodeAffinity
from controlplane.scheduler.neighbours import NeighbourTerms
from controlplane.scheduler.nodes import CPU, MEMORY, PODS, amounts_of
from controlplane.scheduler.ports import HostPort
from controlplane.scheduler.spreading import SpreadConstraint

# What a container without a request counts for in scores (never in filters), so that idle nodes do not look alike.
FLOOR_CPU = 100  # millis
FLOOR_MEMORY = 200 * 1024 * 1024  # bytes

_RULES_REMEMBERED = 1024


@dataclass(frozen=True, slots=True, eq=False)
class PlacementRules:
    """Node selector, node affinity and tolerations. Compared by identity: equal rules are one object."""

    affinity: NodeAffinity
    tolerations: tuple[core.Toleration, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """One pod, as far as scheduling looks at it. Requests are in millis for CPU and in whole units for all else."""

    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    priority: int
    may_preempt: bool
    terminating: bool
    requests: Mapping[str, int]
    floor_cpu: int
    floor_memory: int
    ports: tuple[HostPort, ...]
    rules: PlacementRules
    spread: tuple[SpreadConstraint, ...]
    neighbours: NeighbourTerms | None
    missing_feature: str  # what the pod needs that this scheduler does not know yet; "" for nothing


class DemandReader:
    """Reads demands and shares what is the same among them."""

    def __init__(self) -> None:
        self._rules: OrderedDict[bytes, PlacementRules] = OrderedDict()

    def read(self, pod: core.Pod) -> Demand:
        spec = pod.spec
        requests = {name: amount for name, amount in amounts_of(pod_requests(spec)).items() if amount and name != PODS}
        floor_cpu, floor_memory = _floors(spec, requests)
        return Demand(
            uid=pod.metadata.uid,
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            labels=pod.metadata.labels,
            priority=spec.priority or 0,
            may_preempt=spec.preemption_policy != "Never",
            terminating=pod.metadata.deletion_timestamp is not None,
            requests=requests,
            floor_cpu=floor_cpu,
            floor_memory=floor_memory,
            ports=tuple(host_ports(spec)),
            rules=self._rules_of(spec),
            spread=tuple(SpreadConstraint.of(item, pod) for item in spec.topology_spread_constraints),
            neighbours=NeighbourTerms.of(pod),
            missing_feature=_missing_feature(spec),
        )

    def _rules_of(self, spec: core.PodSpec) -> PlacementRules:
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        key = codec.encode((spec.node_selector, affinity, spec.tolerations))
        rules = self._rules.get(key)
        if rules is None:
            rules = PlacementRules(NodeAffinity.of(spec), tuple(spec.tolerations))
            self._rules[key] = rules
            if len(self._rules) > _RULES_REMEMBERED:
                self._rules.popitem(last=False)
        return rules


def _floors(spec: core.PodSpec, requests: Mapping[str, int]) -> tuple[int, int]:
    cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
    for container in spec.containers:
        if CPU not in container.resources.requests:
            cpu += FLOOR_CPU
        if MEMORY not in container.resources.requests:
            memory += FLOOR_MEMORY
    return cpu, memory


def _missing_feature(spec: core.PodSpec) -> str:
    """A pod must not land on a node for the reason alone that nobody looked at its demand."""
    if any(volume.persistent_volume_claim is not None or volume.ephemeral is not None for volume in spec.volumes):
        return "persistent volume claims"
    if spec.resource_claims:
        return "resource claims"
    return ""
