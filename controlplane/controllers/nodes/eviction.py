"""Removes pods from nodes with NoExecute taints that they do not bear, or bear only for so long.

Time runs from when the taint was first seen to apply to the pod (as upstream's taint manager counts it), so that a
restart of ours gives pods more time, never less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from api import codec
from api import core_v1 as core
from api.pods import get_condition, tolerates
from api.times import Time
from client.cache import Key, key_of
from client.clock import Clock
from client.controller import run_workers
from client.events import NORMAL, Recorder
from client.informer import InformerFactory
from client.interface import Client
from client.workqueue import WorkQueue
from controlplane.controllers.nodes.placement import OnNodes
from controlplane.controllers.nodes.taints import NO_EXECUTE
from controlplane.controllers.refusals import unless_gone

COMPONENT = "taint-eviction-controller"
WORKERS = 8
DISRUPTION_TARGET = "DisruptionTarget"


def endurance(tolerations: Sequence[core.Toleration], taints: Iterable[core.Taint]) -> float:
    """Seconds a pod bears taints together: 0 when it does not bear one of them, infinity when it bears all for good."""
    shortest = math.inf
    for taint in taints:
        toleration = next((one for one in tolerations if tolerates(one, taint)), None)
        if toleration is None:
            return 0.0
        if toleration.toleration_seconds is not None:
            shortest = min(shortest, max(0.0, float(toleration.toleration_seconds)))
    return shortest


class TaintEvictionController:
    """Evicts pods when their time on a tainted node is over."""

    def __init__(
        self, client: Client, informers: InformerFactory, pods: OnNodes, clock: Clock, recorder: Recorder
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._pods = pods
        self._nodes = informers.informer(core.Node)
        self._since: dict[Key, tuple[str, float]] = {}  # pods with a deadline → UID and when their time began
        self._queue: WorkQueue[Key] = WorkQueue("taint-eviction", clock=clock)
        self._nodes.add_handler(self._node_seen, self._node_changed)
        pods.informer.add_handler(self._pod_seen, self._pod_changed, self._pod_gone)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._nodes.synced()
        await self._pods.informer.synced()
        await run_workers(self._queue, self._reconcile, WORKERS)

    def _node_seen(self, node: core.Node) -> None:
        if _no_execute(node):
            self._look_at_pods(node)

    def _node_changed(self, old: core.Node, new: core.Node) -> None:
        if _no_execute(old) != _no_execute(new):
            self._look_at_pods(new)

    def _look_at_pods(self, node: core.Node) -> None:
        for pod in self._pods.on(node.metadata.name):
            self._queue.add(key_of(pod))

    def _pod_seen(self, pod: core.Pod) -> None:
        if pod.spec.node_name:
            self._queue.add(key_of(pod))

    def _pod_changed(self, old: core.Pod, new: core.Pod) -> None:
        if old.spec.node_name != new.spec.node_name or old.spec.tolerations != new.spec.tolerations:
            self._pod_seen(new)

    def _pod_gone(self, pod: core.Pod) -> None:
        self._since.pop(key_of(pod), None)

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.informer.get(*key)
        if pod is None or not pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            self._since.pop(key, None)
            return None
        node = self._nodes.get("", pod.spec.node_name)
        taints = _no_execute(node) if node is not None else []
        time = endurance(pod.spec.tolerations, taints)
        if math.isinf(time):
            if self._since.pop(key, None) is not None:
                self._tell(pod, f"Cancelling deletion of Pod {key[0]}/{key[1]}")
            return None
        now = self._clock.monotonic()
        uid, began = self._since.get(key, ("", now))
        if uid != pod.metadata.uid:
            began = now
        left = began + time - now
        if left > 0:
            self._since[key] = (pod.metadata.uid, began)
            return left
        self._since.pop(key, None)
        await self._evict(pod)
        return None

    async def _evict(self, pod: core.Pod) -> None:
        data = pod.metadata
        self._tell(pod, f"Marking for deletion Pod {data.namespace}/{data.name}")
        with unless_gone():
            if get_condition(pod.status.conditions, DISRUPTION_TARGET) is None:
                condition = core.PodCondition(
                    type=DISRUPTION_TARGET,
                    observed_generation=data.generation,
                    status="True",
                    reason="DeletionByTaintManager",
                    message="Taint manager: deleting due to NoExecute taint",
                    last_transition_time=Time.from_timestamp(self._clock.now()),
                )
                change = {"metadata": {"uid": data.uid}, "status": {"conditions": [codec.to_builtins(condition)]}}
                await self._client.patch(core.Pod, data.name, change, data.namespace, subresource="status")
            await self._client.delete(core.Pod, data.name, data.namespace, uid=data.uid)

    def _tell(self, pod: core.Pod, message: str) -> None:
        self._recorder.event(pod, NORMAL, "TaintManagerEviction", message)


def _no_execute(node: core.Node) -> list[core.Taint]:
    return [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]
