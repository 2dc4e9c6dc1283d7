"""The heartbeat: a Lease that is renewed every ten seconds, and by which others tell that this node is alive.

It has a client of its own, with a short deadline: behind a slow server or a burst of statuses it must neither queue nor
wait. What fails is tried again at once, then with growing pauses, and never gives up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from api import coordination_v1 as coordination
from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import StatusError
from api.times import MicroTime
from client.backoff import Backoff
from client.clock import Clock
from client.errors import ClientError
from client.interface import Client

log = logging.getLogger(__name__)

NAMESPACE = "kube-node-lease"
DURATION = 40
"""Seconds for which a renewal holds."""
PERIOD = 10.0
DEADLINE = 5.0


class NodeLease:
    """Renews the lease of one node. `node` gives the registered Node, its owner, or None."""

    def __init__(self, client: Client, name: str, clock: Clock, node: Callable[[], core.Node | None]) -> None:
        self._client = client
        self._name = name
        self._clock = clock
        self._node = node
        self._lease: coordination.Lease | None = None

    async def run(self) -> None:
        """Renew until cancelled."""
        backoff = Backoff(0.2, 7.0, jitter=0.2)
        failing = False
        while True:
            began = self._clock.monotonic()
            try:
                async with self._clock.timeout(DEADLINE):
                    await self._renew()
            except (StatusError, ClientError, TimeoutError) as error:
                # The copy may be outdated, or the server may have lost it: look anew.
                self._lease = None
                if not failing:
                    log.warning("lease not renewed node=%s error=%s", self._name, str(error) or "no answer in time")
                failing = True
                await self._clock.sleep(backoff.next())
                continue
            if failing:
                log.info("lease renewed again node=%s", self._name)
            failing = False
            backoff.reset()
            await self._clock.sleep(PERIOD - (self._clock.monotonic() - began))

    async def _renew(self) -> None:
        lease = self._lease
        if lease is None:
            try:
                lease = await self._client.get(coordination.Lease, self._name, NAMESPACE)
            except StatusError as error:
                if error.code != 404:
                    raise
                self._lease = await self._client.create(self._made(), NAMESPACE)
                return
        self._fill(lease)
        self._lease = await self._client.update(lease)

    def _made(self) -> coordination.Lease:
        lease = coordination.Lease(metadata=meta.ObjectMeta(name=self._name, namespace=NAMESPACE))
        self._fill(lease)
        return lease

    def _fill(self, lease: coordination.Lease) -> None:
        lease.spec.holder_identity = self._name
        lease.spec.lease_duration_seconds = DURATION
        lease.spec.renew_time = MicroTime.from_timestamp(self._clock.now())
        node = self._node()
        if node is not None and not lease.metadata.owner_references:
            lease.metadata.owner_references = [
                meta.OwnerReference(api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid)
            ]
