"""The cluster as the scheduler sees it: nodes, the pods on them, and the pods on their way there.

Between the decision and the moment when the informer shows the pod on its node, the pod is *assumed* there: its
resources are taken, so that the next decision knows. An assumed pod whose binding succeeded but that never shows up
is given up after a while. Pods of a node that is not known (yet) wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from api import core_v1 as core
from controlplane.scheduler.demand import Demand, PlacementRules
from controlplane.scheduler.neighbours import Labels, Neighbours
from controlplane.scheduler.nodes import NodeColumns
from controlplane.scheduler.ports import PortsInUse
from controlplane.scheduler.suitability import Judgements, Suitability


@dataclass(slots=True)
class _Placed:
    demand: Demand
    node: str
    assumed: bool
    expires: float | None = None


class Cluster:
    """The state that decisions are made from. All times are monotonic seconds."""

    def __init__(self) -> None:
        self.nodes = NodeColumns()
        self.ports = PortsInUse()
        self.neighbours = Neighbours()
        self._judgements = Judgements()
        self._placed: dict[str, _Placed] = {}
        self._on_node: dict[str, dict[str, _Placed]] = {}
        self._priorities: Counter[int] = Counter()

    # Nodes and namespaces

    def put_node(self, node: core.Node) -> bool:
        """Add or change a node; returns whether anything that matters for scheduling is different now."""
        name = node.metadata.name
        fresh = self.nodes.row(name) is None
        changed = self.nodes.put(node)
        if fresh:
            for placed in self._on_node.get(name, {}).values():
                self._take(placed, 1)
        return changed

    def remove_node(self, name: str) -> None:
        self.nodes.remove(name)

    def put_namespace(self, name: str, labels: Labels) -> None:
        self.neighbours.put_namespace(name, labels)

    def remove_namespace(self, name: str) -> None:
        self.neighbours.remove_namespace(name)

    # Pods

    def node_of(self, uid: str) -> str | None:
        """The node a pod is on, or assumed to be on."""
        placed = self._placed.get(uid)
        return placed.node if placed is not None else None

    def is_assumed(self, uid: str) -> bool:
        placed = self._placed.get(uid)
        return placed is not None and placed.assumed

    def put_pod(self, demand: Demand, node: str) -> None:
        """The API server shows the pod on this node, whatever we assumed."""
        self._replace(demand, node, assumed=False)

    def assume_pod(self, demand: Demand, node: str) -> None:
        """Take the pod's resources ahead of its binding."""
        self._replace(demand, node, assumed=True)

    def remove_pod(self, uid: str) -> Demand | None:
        """The pod is gone, or has run to its end; returns what is free again."""
        placed = self._placed.pop(uid, None)
        if placed is None:
            return None
        on_node = self._on_node[placed.node]
        del on_node[uid]
        if not on_node:
            del self._on_node[placed.node]
        self._give_back(placed)
        return placed.demand

    def forget_pod(self, uid: str) -> Demand | None:
        """The binding failed: undo the assumption, if it is still one."""
        return self.remove_pod(uid) if self.is_assumed(uid) else None

    def expect_pod(self, uid: str, until: float) -> None:
        """The binding succeeded: the informer should show it before `until`."""
        placed = self._placed.get(uid)
        if placed is not None and placed.assumed:
            placed.expires = until

    @property
    def expecting(self) -> bool:
        """Whether any assumed pod has yet to show up."""
        return any(placed.expires is not None for placed in self._placed.values())

    def expire(self, now: float) -> list[Demand]:
        """Give up the assumed pods that are overdue."""
        overdue = [
            uid
            for uid, placed in self._placed.items()
            if placed.assumed and placed.expires is not None and placed.expires <= now
        ]
        return [demand for uid in overdue if (demand := self.remove_pod(uid)) is not None]

    # What decisions ask

    def suitability(self, rules: PlacementRules) -> Suitability:
        """What a set of rules makes of the nodes as they are now."""
        return self._judgements.of(self.nodes, rules)

    def nodes_with_lower_priority(self, priority: int) -> Iterable[str]:
        """The nodes that run a pod of lower priority."""
        if not any(other < priority for other in self._priorities):
            return ()
        return [
            name
            for name, placed in self._on_node.items()
            if any(one.demand.priority < priority for one in placed.values())
        ]

    def _replace(self, demand: Demand, node: str, *, assumed: bool) -> None:
        self.remove_pod(demand.uid)
        placed = _Placed(demand, node, assumed)
        self._placed[demand.uid] = placed
        self._on_node.setdefault(node, {})[demand.uid] = placed
        self._take(placed, 1)
        self._priorities[demand.priority] += 1
        self.ports.take(node, demand.ports)
        self.neighbours.add(demand.namespace, demand.labels, demand.neighbours, node, demand.terminating)

    def _give_back(self, placed: _Placed) -> None:
        demand, node = placed.demand, placed.node
        self._take(placed, -1)
        self._priorities[demand.priority] -= 1
        if not self._priorities[demand.priority]:
            del self._priorities[demand.priority]
        self.ports.release(node, demand.ports)
        self.neighbours.remove(demand.namespace, demand.labels, demand.neighbours, node, demand.terminating)

    def _take(self, placed: _Placed, sign: int) -> None:
        row = self.nodes.row(placed.node)
        if row is not None:
            demand = placed.demand
            self.nodes.take(row, demand.requests, demand.floor_cpu, demand.floor_memory, sign)
