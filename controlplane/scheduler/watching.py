"""What the informers tell, turned into changes of the cluster and of the queue.

Each handler does two things: it brings the cluster up to date, and it tells the queue which causes of failure the
change could have lifted, so that pods without a node are tried again when that is worth while and not before.
"""

from __future__ import annotations

from api import core_v1 as core
from api.pods import is_gated, is_terminal
from client.informer import Informer
from controlplane.scheduler.cluster import Cluster
from controlplane.scheduler.demand import Demand, DemandReader
from controlplane.scheduler.failures import Cause
from controlplane.scheduler.queue import SchedulingQueue
from controlplane.scheduler.resources import fits

_BY_NODE = frozenset(
    (Cause.NO_NODES, Cause.CORDON, Cause.TAINT, Cause.AFFINITY, Cause.RESOURCES, Cause.SPREAD, Cause.NEIGHBOURS)
)
_BY_POD_GONE = frozenset((Cause.RESOURCES, Cause.PORTS, Cause.SPREAD, Cause.NEIGHBOURS))
_BY_POD_THERE = frozenset((Cause.SPREAD, Cause.NEIGHBOURS))


class Eyes:
    """Keeps the cluster and the queue in step with the API server."""

    def __init__(self, cluster: Cluster, queue: SchedulingQueue, scheduler_name: str) -> None:
        self._cluster = cluster
        self._queue = queue
        self._scheduler_name = scheduler_name
        self._reader = DemandReader()

    def watch(self, nodes: Informer[core.Node], pods: Informer[core.Pod], namespaces: Informer[core.Namespace]) -> None:
        """Take part in three informers. Nodes come first: pods are placed on rows."""
        nodes.add_handler(self.node, lambda _, node: self.node(node), self.node_gone)
        namespaces.add_handler(self.namespace, lambda _, namespace: self.namespace(namespace), self.namespace_gone)
        pods.add_handler(self.pod, self.pod_changed, self.pod_gone)

    def node(self, node: core.Node) -> None:
        """A node that appeared or changed; heartbeats change nothing that matters here."""
        if not self._cluster.put_node(node):
            return
        name = node.metadata.name
        self._queue.happened(_BY_NODE, lambda demand: self._may_go(demand, name))

    def node_gone(self, node: core.Node) -> None:
        self._cluster.remove_node(node.metadata.name)
        # With a domain less, the others may be even.
        self._queue.happened(frozenset((Cause.SPREAD,)))

    def namespace(self, namespace: core.Namespace) -> None:
        self._cluster.put_namespace(namespace.metadata.name, namespace.metadata.labels)
        self._queue.happened(frozenset((Cause.NEIGHBOURS,)))

    def namespace_gone(self, namespace: core.Namespace) -> None:
        self._cluster.remove_namespace(namespace.metadata.name)

    def pod(self, pod: core.Pod) -> None:
        """A pod that appeared or changed: it uses a node, wants one, or neither."""
        uid = pod.metadata.uid
        if is_terminal(pod):
            self._free(uid)
            self._queue.remove(uid)
        elif pod.spec.node_name:
            self._queue.remove(uid)
            self._settle(pod)
        elif pod.spec.scheduler_name != self._scheduler_name or pod.metadata.deletion_timestamp is not None:
            self._queue.remove(uid)
        elif is_gated(pod):
            # The API server reports SchedulingGated when the pod is created; there is nothing to decide until the
            # gates are gone.
            self._queue.remove(uid)
        elif not self._cluster.is_assumed(uid):
            # On a node until now, and on none all of a sudden: a store that was restored from a backup.
            self._free(uid)
            self._queue.put(self._reader.read(pod))

    def pod_changed(self, old: core.Pod, new: core.Pod) -> None:
        """Most changes of a pod on its node are reports of its status, and mean nothing here."""
        if (
            new.spec.node_name
            and not is_terminal(new)
            and _same_demand(old, new)
            and not self._cluster.is_assumed(new.metadata.uid)
        ):
            return
        self.pod(new)

    def pod_gone(self, pod: core.Pod) -> None:
        self._queue.remove(pod.metadata.uid)
        self._free(pod.metadata.uid)

    def freed(self, demand: Demand, node: str | None) -> None:
        """A pod has left a node, or was never to be on it after all."""
        row = self._cluster.nodes.row(node) if node is not None else None
        if row is None:
            return

        def helps(waiting: Demand) -> bool:
            short = fits(self._cluster.nodes, waiting, row)
            return short or bool(demand.ports) or bool(waiting.spread) or waiting.neighbours is not None

        self._queue.happened(_BY_POD_GONE, helps)

    def _settle(self, pod: core.Pod) -> None:
        uid, node = pod.metadata.uid, pod.spec.node_name
        before = self._cluster.node_of(uid)
        demand = self._reader.read(pod)
        self._cluster.put_pod(demand, node)
        if before is not None:
            # It asks for less than before, or turned up elsewhere than we thought.
            self.freed(demand, before)
        self._queue.happened(_BY_POD_THERE)

    def _free(self, uid: str) -> None:
        node = self._cluster.node_of(uid)
        demand = self._cluster.remove_pod(uid)
        if demand is not None:
            self.freed(demand, node)

    def _may_go(self, demand: Demand, node: str) -> bool:
        """Whether a changed node could take a waiting pod; what depends on other pods is not looked at."""
        row = self._cluster.nodes.row(node)
        if row is None:
            return False
        if demand.spread or demand.neighbours is not None:
            return True
        return bool(self._cluster.suitability(demand.rules).suitable[row]) and fits(self._cluster.nodes, demand, row)


def _same_demand(old: core.Pod, new: core.Pod) -> bool:
    before, now = old.metadata, new.metadata
    return (
        old.spec == new.spec
        and before.labels == now.labels
        and (before.deletion_timestamp is None) == (now.deletion_timestamp is None)
    )
