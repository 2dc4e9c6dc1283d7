"""The decision: which node takes a pod, as a pure function of the cluster and the pod's demand.

Filters reject nodes, scores rank what is left, and ties are broken by the pod's UID: the same cluster and the same
pod always give the same answer. Nothing is changed here; whoever acts on a placement assumes it in the cluster first.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from controlplane.scheduler import failures, resources
from controlplane.scheduler.cluster import Cluster
from controlplane.scheduler.demand import Demand
from controlplane.scheduler.failures import Failure, Reason
from controlplane.scheduler.nodes import Bools, Floats
from controlplane.scheduler.spreading import crowding, skewed, unlabelled
from controlplane.scheduler.suitability import Rejection, Suitability

# The weights of upstream's default profile.
_WEIGHT_TAINTS = 3.0
_WEIGHT_AFFINITY = 2.0
_WEIGHT_SPREAD = 2.0
_WEIGHT_NEIGHBOURS = 2.0


@dataclass(frozen=True, slots=True)
class Placement:
    """A node that takes the pod; `feasible` is how many would."""

    node: str
    score: float
    feasible: int


def schedule(cluster: Cluster, demand: Demand) -> Placement | Failure:
    """Decide where a pod runs."""
    nodes = cluster.nodes
    if not nodes.count:
        return Failure(0)
    if demand.missing_feature:
        return Failure(nodes.count, missing_feature=demand.missing_feature)
    suitability = cluster.suitability(demand.rules)
    dynamic = list(_dynamic_stages(cluster, demand, suitability))
    feasible = suitability.suitable.copy()
    for stage in dynamic:
        for rejection in stage:
            feasible &= ~rejection.nodes
    choices = int(np.count_nonzero(feasible))
    if not choices:
        return _explain(cluster, demand, [*suitability.stages, *dynamic])
    scores = _scores(cluster, demand, suitability, feasible)
    scores[~feasible] = -np.inf
    best = scores.max()
    tied = np.flatnonzero(scores >= best - 1e-9)
    row = int(tied[zlib.crc32(demand.uid.encode()) % len(tied)])
    return Placement(nodes.names[row], float(best), choices)


def _dynamic_stages(cluster: Cluster, demand: Demand, suitability: Suitability) -> Iterator[list[Rejection]]:
    """The filters that look at what runs on the nodes, in upstream's order."""
    nodes, neighbours = cluster.nodes, cluster.neighbours
    if demand.ports:
        yield [_soft(failures.PORTS_TAKEN, nodes.marked(cluster.ports.nodes_clashing(demand.ports)))]
    yield [Rejection(reason, short, hopeless) for reason, short, hopeless in resources.shortages(nodes, demand)]
    if demand.spread:
        lacking = unlabelled(nodes, demand.spread)
        broken = skewed(nodes, neighbours, demand.namespace, demand.labels, demand.spread, suitability.eligible)
        yield [Rejection(failures.UNLABELLED, lacking, lacking), _soft(failures.SKEWED, broken & ~lacking)]
    terms = demand.neighbours
    if terms is not None and terms.near:
        lacking = neighbours.lacks_near(nodes, demand.namespace, demand.labels, terms.near)
        yield [Rejection(failures.LACKS_NEIGHBOURS, lacking, lacking)]
    if terms is not None and terms.apart:
        yield [_soft(failures.BREAKS_APART, neighbours.breaks_apart(nodes, terms.apart))]
    yield [_soft(failures.UNWELCOME, neighbours.unwelcome(nodes, demand.namespace, demand.labels))]


def _scores(cluster: Cluster, demand: Demand, suitability: Suitability, feasible: Bools) -> Floats:
    nodes = cluster.nodes
    scores = resources.least_allocated(nodes, demand) + resources.balanced(nodes, demand)
    if suitability.preference is not None:
        scores += _WEIGHT_AFFINITY * _normalised(suitability.preference, feasible)
    if suitability.reluctance is not None:
        scores += _WEIGHT_TAINTS * (resources.HIGHEST - _normalised(suitability.reluctance, feasible))
    crowd = crowding(nodes, cluster.neighbours, demand.namespace, demand.spread, suitability.eligible)
    if crowd is not None:
        scores += _WEIGHT_SPREAD * _emptiness(crowd, feasible)
    attraction = cluster.neighbours.attraction(nodes, demand.namespace, demand.labels, demand.neighbours)
    if attraction is not None:
        scores += _WEIGHT_NEIGHBOURS * _stretched(attraction, feasible)
    return scores


def _normalised(raw: Floats, feasible: Bools) -> Floats:
    """Raw scores as shares of the highest among the feasible nodes, 0 to 100."""
    highest = raw[feasible].max()
    return raw * (resources.HIGHEST / highest) if highest > 0 else np.zeros_like(raw)


def _stretched(raw: Floats, feasible: Bools) -> Floats:
    """Raw scores, negative ones too, stretched between the lowest and the highest, 0 to 100."""
    lowest, highest = raw[feasible].min(), raw[feasible].max()
    return (raw - lowest) * (resources.HIGHEST / (highest - lowest)) if highest > lowest else np.zeros_like(raw)


def _emptiness(crowd: Floats, feasible: Bools) -> Floats:
    """100 for the emptiest domain; 0 for a node that is in none."""
    known = feasible & np.isfinite(crowd)
    score = np.zeros_like(crowd)
    if known.any():
        lowest, highest = crowd[known].min(), crowd[known].max()
        score[known] = resources.HIGHEST
        if highest > 0:
            score[known] = resources.HIGHEST * (highest + lowest - crowd[known]) / highest
    return score


def _explain(cluster: Cluster, demand: Demand, stages: list[tuple[Rejection, ...] | list[Rejection]]) -> Failure:
    """Count each node under the reasons of the first filter that rejects it, as upstream stops there too."""
    nodes = cluster.nodes
    left = nodes.live.copy()
    evictable = np.zeros(nodes.rows, np.bool_)
    reasons: Counter[Reason] = Counter()
    for stage in stages:
        rejected = np.zeros(nodes.rows, np.bool_)
        hopeless = np.zeros(nodes.rows, np.bool_)
        for rejection in stage:
            here = rejection.nodes & left
            if count := int(np.count_nonzero(here)):
                reasons[rejection.reason] += count
            rejected |= here
            hopeless |= rejection.hopeless & here
        evictable |= rejected & ~hopeless
        left &= ~rejected
    return Failure(nodes.count, dict(reasons), _preemption(cluster, demand, evictable), demand.may_preempt)


def _preemption(cluster: Cluster, demand: Demand, evictable: Bools) -> dict[str, int]:
    """What evicting pods of lower priority could do, node by node."""
    victims = cluster.nodes.marked(cluster.nodes_with_lower_priority(demand.priority)) & evictable
    counted = {
        failures.PREEMPTION_HOPELESS: cluster.nodes.count - int(np.count_nonzero(evictable)),
        failures.NO_VICTIMS: int(np.count_nonzero(evictable & ~victims)),
        failures.PREEMPTION_MISSING: int(np.count_nonzero(victims)),
    }
    return {text: count for text, count in counted.items() if count}


def _soft(reason: Reason, rejected: Bools) -> Rejection:
    """A rejection that evicting pods could lift."""
    return Rejection(reason, rejected, np.zeros_like(rejected))
