"""Looks through all pods from time to time, and removes what nobody else will.

A pass over memory every 20 seconds: that a node did not come back is no event. A node that is missing gets time to
turn up, and is asked for on the server, before its pods are lost.
"""

from __future__ import annotations

import logging

from api import codec
from api import core_v1 as core
from api.errors import StatusError, is_not_found
from api.pods import is_terminal
from api.times import Time
from client.clock import Clock
from client.errors import ClientError
from client.informer import InformerFactory
from client.interface import Client
from controlplane.controllers.pod_collection.planning import Removal, missing_nodes, plan
from controlplane.controllers.refusals import unless_gone

PERIOD = 20.0  # seconds
QUARANTINE = 40.0  # seconds a missing node is waited for

log = logging.getLogger(__name__)


class PodCollector:
    """Removes abandoned pods."""

    def __init__(self, client: Client, informers: InformerFactory, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._pods = informers.informer(core.Pod)
        self._nodes = informers.informer(core.Node)
        self._missing: dict[str, float] = {}  # name of a node → since when (monotonic)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pods.synced()
        await self._nodes.synced()
        while True:
            try:
                await self._pass()
            except (StatusError, ClientError) as error:
                log.warning("pods not collected error=%s", error)
            await self._clock.sleep(PERIOD)

    async def _pass(self) -> None:
        pods = self._pods.list()
        nodes = {node.metadata.name: node for node in self._nodes.list()}
        gone = await self._gone(missing_nodes(pods, nodes.keys()))
        for removal in plan(pods, nodes, gone):
            try:
                with unless_gone():
                    await self._remove(removal)
            except (StatusError, ClientError) as error:
                data = removal.pod.metadata
                log.warning("pod not collected pod=%s/%s error=%s", data.namespace, data.name, error)

    async def _gone(self, missing: set[str]) -> set[str]:
        """Those of the missing nodes that have been missing for long, and that the server does not know either."""
        now = self._clock.monotonic()
        self._missing = {name: self._missing.get(name, now) for name in missing}
        gone = set()
        for name, since in self._missing.items():
            if now - since < QUARANTINE:
                continue
            try:
                await self._client.get(core.Node, name)
            except StatusError as error:
                if not is_not_found(error):
                    raise
                gone.add(name)
        return gone

    async def _remove(self, removal: Removal) -> None:
        data = removal.pod.metadata
        log.info("pod collected pod=%s/%s orphaned=%s", data.namespace, data.name, removal.orphaned)
        if not is_terminal(removal.pod):
            # Nobody else will ever say that it is over, and finalizers may keep it for a while.
            status: dict[str, object] = {"phase": "Failed"}
            if removal.orphaned:
                status["conditions"] = [codec.to_builtins(self._node_gone(data.generation))]
            change = {"metadata": {"uid": data.uid}, "status": status}
            await self._client.patch(core.Pod, data.name, change, data.namespace, subresource="status")
        await self._client.delete(core.Pod, data.name, data.namespace, uid=data.uid, grace_period=0)

    def _node_gone(self, generation: int) -> core.PodCondition:
        return core.PodCondition(
            type="DisruptionTarget",
            observed_generation=generation,
            status="True",
            reason="DeletionByPodGC",
            message="PodGC: node no longer exists",
            last_transition_time=Time.from_timestamp(self._clock.now()),
        )
