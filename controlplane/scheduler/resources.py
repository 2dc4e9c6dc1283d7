"""Whether a node has enough left, and how good a fit it is: NodeResourcesFit and NodeResourcesBalancedAllocation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from controlplane.scheduler.demand import Demand
from controlplane.scheduler.failures import TOO_MANY_PODS, Reason, insufficient
from controlplane.scheduler.nodes import CPU, MEMORY, PODS, Bools, Floats, Ints, NodeColumns

HIGHEST = 100.0


def shortages(nodes: NodeColumns, demand: Demand) -> Iterator[tuple[Reason, Bools, Bools]]:
    """For each resource: the reason, the nodes that have too little left, and those that would have even if empty."""
    offered, taken = _columns(nodes, PODS)
    yield TOO_MANY_PODS, taken + 1 > offered, offered < 1
    for resource, amount in demand.requests.items():
        offered, taken = _columns(nodes, resource)
        yield insufficient(resource), taken + amount > offered, offered < amount


def fits(nodes: NodeColumns, demand: Demand, row: int) -> bool:
    """Whether one node has enough left; cheap enough to ask for each pod that waits."""
    for resource, amount in ((PODS, 1), *demand.requests.items()):
        offered, taken = nodes.allocatable(resource), nodes.requested(resource)
        if offered is None or taken is None or taken[row] + amount > offered[row]:
            return False
    return True


def least_allocated(nodes: NodeColumns, demand: Demand) -> Floats:
    """0 to 100: the more of CPU and memory stays free, the better."""
    cpu = _free_share(_columns(nodes, CPU)[0], nodes.floor_cpu + demand.floor_cpu)
    memory = _free_share(_columns(nodes, MEMORY)[0], nodes.floor_memory + demand.floor_memory)
    return (cpu + memory) * (HIGHEST / 2)


def balanced(nodes: NodeColumns, demand: Demand) -> Floats:
    """0 to 100: the closer the shares of CPU and of memory that are taken are to each other, the better."""
    cpu = _taken_share(*_columns(nodes, CPU), demand.requests.get(CPU, 0))
    memory = _taken_share(*_columns(nodes, MEMORY), demand.requests.get(MEMORY, 0))
    return HIGHEST - np.abs(cpu - memory) * (HIGHEST / 2)


def _columns(nodes: NodeColumns, resource: str) -> tuple[Ints, Ints]:
    offered, taken = nodes.allocatable(resource), nodes.requested(resource)
    if offered is None or taken is None:
        nothing = np.zeros(nodes.rows, np.int64)
        return nothing, nothing
    return offered, taken


def _free_share(offered: Ints, taken: Ints) -> Floats:
    share: Floats = 1 - taken / np.maximum(offered, 1)
    return np.maximum(share, 0)


def _taken_share(offered: Ints, taken: Ints, more: int) -> Floats:
    share: Floats = (taken + more) / np.maximum(offered, 1)
    return np.minimum(share, 1)
