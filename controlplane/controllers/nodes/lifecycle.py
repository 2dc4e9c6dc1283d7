"""Watches over nodes: marks the silent ones, keeps their taints, and tells that their pods no longer serve.

One pass every few seconds looks at all nodes, since silence is not an event. What follows from a node's conditions is
done as soon as they change.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence

from api import codec
from api import core_v1 as core
from api.coordination_v1 import Lease
from api.errors import StatusError
from api.pods import get_condition
from api.times import Time
from client.clock import Clock
from client.controller import run_workers
from client.errors import ClientError
from client.events import NORMAL, WARNING, Recorder
from client.informer import InformerFactory
from client.interface import Client, PatchKind
from client.workqueue import WorkQueue
from controlplane.controllers.nodes.health import Health, heard, is_silent, ready_status, refreshed, silent_conditions
from controlplane.controllers.nodes.placement import OnNodes
from controlplane.controllers.nodes.taints import (
    NOT_READY,
    UNREACHABLE,
    due_labels,
    due_no_execute,
    due_no_schedule,
    no_execute_keys,
)
from controlplane.controllers.nodes.zones import Rationing, Shift, is_counted, zone_of
from controlplane.controllers.refusals import unless_gone

COMPONENT = "node-controller"
PERIOD = 5.0  # seconds between passes
LEASE_NAMESPACE = "kube-node-lease"
_TOGETHER = 8  # nodes looked at side by side

log = logging.getLogger(__name__)


class NodeLifecycleController:
    """Keeps what the cluster believes of its nodes true."""

    def __init__(
        self, client: Client, informers: InformerFactory, pods: OnNodes, clock: Clock, recorder: Recorder
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._pods = pods
        self._nodes = informers.informer(core.Node)
        self._leases = informers.informer(Lease)
        self._known: dict[str, str] = {}  # name → UID
        self._health: dict[str, Health] = {}
        self._rationing = Rationing()
        self._unmarked: set[str] = set()  # nodes with pods that must still be marked as not ready
        self._queue: WorkQueue[str] = WorkQueue("node-taints", clock=clock)
        self._nodes.add_handler(
            lambda node: self._queue.add(node.metadata.name), lambda _, new: self._queue.add(new.metadata.name)
        )

    async def run(self) -> None:
        """Work until cancelled."""
        for informer in (self._nodes, self._leases, self._pods.informer):
            await informer.synced()
        async with asyncio.TaskGroup() as group:
            group.create_task(run_workers(self._queue, self._reconcile), name="node-taints")
            group.create_task(self._watch_over(), name="node-health")

    # At once, by what the node reports

    async def _reconcile(self, name: str) -> None:
        node = self._nodes.get("", name)
        if node is None:
            return
        taints, labels = due_no_schedule(node, self._clock.now()), due_labels(node)
        if taints is not None or labels:
            await self._change(node, taints, labels)

    async def _change(
        self, node: core.Node, taints: Sequence[core.Taint] | None, labels: dict[str, str] | None = None
    ) -> None:
        data: dict[str, object] = {"resourceVersion": node.metadata.resource_version}
        change: dict[str, object] = {"metadata": data}
        if labels:
            data["labels"] = labels
        if taints is not None:
            change["spec"] = {"taints": [codec.to_builtins(taint) for taint in taints]}
        with unless_gone():
            await self._client.patch(core.Node, node.metadata.name, change, kind=PatchKind.MERGE)

    # Every few seconds, by what it does not

    async def _watch_over(self) -> None:
        while True:
            await self._pass()
            await self._clock.sleep(PERIOD)

    async def _pass(self) -> None:
        nodes = self._nodes.list()
        self._greet(nodes)
        readiness: defaultdict[str, list[bool]] = defaultdict(list)
        gate = asyncio.Semaphore(_TOGETHER)

        async def look(node: core.Node) -> None:
            async with gate:
                ready = await self._look_at(node)
            if is_counted(node):
                readiness[zone_of(node)].append(ready)

        async with asyncio.TaskGroup() as group:
            for node in nodes:
                group.create_task(look(node))
        await self._react(self._rationing.assess(readiness))
        for name in self._rationing.due(self._clock.monotonic()):
            await self._give_up(name)

    def _greet(self, nodes: Sequence[core.Node]) -> None:
        """Tell of nodes that came and went."""
        present = {node.metadata.name: node.metadata.uid for node in nodes}
        for name, uid in present.items():
            if self._known.get(name) != uid:
                self._health.pop(name, None)
                self._tell_node(name, uid, "RegisteredNode", f"Registered Node {name} in Controller")
        for name, uid in self._known.items():
            if name not in present:
                self._health.pop(name, None)
                self._unmarked.discard(name)
                self._tell_node(name, uid, "RemovingNode", f"Removing Node {name} from Controller")
        self._known = present

    async def _look_at(self, node: core.Node) -> bool:
        """One node's turn; returns whether it is ready. What fails is tried again in the next pass."""
        name, wall, now = node.metadata.name, self._clock.now(), self._clock.monotonic()
        health = heard(self._health.get(name), node, self._leases.get(LEASE_NAMESPACE, name), wall, now)
        self._health[name] = health
        before = after = ready_status(node.status.conditions)
        try:
            silent = is_silent(health, now)
            if silent and (conditions := silent_conditions(node, wall)) is not None:
                changed = codec.deepcopy(node)
                changed.status.conditions = conditions
                node = await self._client.update_status(changed)
                after = ready_status(conditions)
            # Who is called unreachable but not silent for long was only just given new time.
            await self._keep_no_execute(node, before, may_go=silent or before == "False")
            if before == "True" != after:
                self._tell_status(node, "NodeNotReady")
                self._unmarked.add(name)
            await self._mark_pods(name, after)
        except (StatusError, ClientError) as error:
            log.warning("node not dealt with node=%s error=%s", name, error)
        return after == "True"

    async def _keep_no_execute(self, node: core.Node, ready: str, *, may_go: bool) -> None:
        """Take NoExecute taints away, and change one for the other, at once; ask for new ones."""
        taints = due_no_execute(node, ready, self._clock.now())
        name, zone = node.metadata.name, zone_of(node)
        if ready == "True":
            self._rationing.withdraw(zone, name)
        if taints is None or get_condition(node.status.conditions, "Ready") is None:
            return
        if ready == "True" or no_execute_keys(node.spec.taints) & {NOT_READY, UNREACHABLE}:
            await self._change(node, taints)
        elif may_go:
            self._rationing.submit(zone, name)

    async def _react(self, shift: Shift) -> None:
        if shift is Shift.ALL_DOWN:
            log.warning("no node is ready: evictions are stopped")
            for node in self._nodes.list():
                taints = due_no_execute(node, "True", self._clock.now())
                if taints is not None:
                    await self._try_change(node, taints)
        elif shift is Shift.RECOVERED:
            log.info("some node is ready: evictions are resumed")
            # Whoever could not be heard may have been alive: everybody gets the full time again.
            now = self._clock.monotonic()
            self._health = {name: refreshed(health, now) for name, health in self._health.items()}

    async def _give_up(self, name: str) -> None:
        node = self._nodes.get("", name)
        if node is None:
            return
        ready = ready_status(node.status.conditions)
        taints = due_no_execute(node, ready, self._clock.now())
        if ready == "True" or taints is None:
            return
        if not await self._try_change(node, taints):
            self._rationing.submit(zone_of(node), name)

    async def _try_change(self, node: core.Node, taints: Sequence[core.Taint]) -> bool:
        try:
            await self._change(node, taints)
        except (StatusError, ClientError) as error:
            log.warning("taints not changed node=%s error=%s", node.metadata.name, error)
            return False
        return True

    async def _mark_pods(self, name: str, ready: str) -> None:
        """The pods of a node that is not ready do not serve. A silent node leaves what we say standing; one that
        reports would contradict, so it is said once.
        """
        if ready == "True":
            self._unmarked.discard(name)
            return
        if ready != "Unknown" and name not in self._unmarked:
            return
        for pod in self._pods.on(name):
            condition = get_condition(pod.status.conditions, "Ready")
            if condition is None or condition.status == "False":
                continue
            marked = codec.deepcopy(pod)
            condition = get_condition(marked.status.conditions, "Ready")
            if condition is not None:
                condition.status = "False"
                condition.last_transition_time = Time.from_timestamp(self._clock.now())
            with unless_gone():
                await self._client.update_status(marked)
                self._recorder.event(pod, WARNING, "NodeNotReady", "Node is not ready")
        self._unmarked.discard(name)

    def _tell_node(self, name: str, uid: str, reason: str, text: str) -> None:
        subject = core.ObjectReference(api_version="v1", kind="Node", name=name, uid=uid)
        self._recorder.event(subject, NORMAL, reason, f"Node {name} event: {text}")

    def _tell_status(self, node: core.Node, status: str) -> None:
        name = node.metadata.name
        subject = core.ObjectReference(api_version="v1", kind="Node", name=name, uid=node.metadata.uid)
        self._recorder.event(subject, NORMAL, status, f"Node {name} status is now: {status}")
