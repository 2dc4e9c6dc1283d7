"""One of several replicas at work: leader election by a Lease (client-go `tools/leaderelection`).

Replicas need no common clock: each measures by its own monotonic time how long it has been since it saw the Lease
change, and takes over when that is longer than the Lease's duration. A leader that cannot renew in time stops before
another can start, since its deadline is the shorter of the two.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from api import coordination_v1 as coordination
from api import meta_v1 as meta
from api.errors import StatusError
from api.times import MicroTime
from client.clock import Clock
from client.errors import ClientError
from client.interface import Client

log = logging.getLogger(__name__)


class LeadershipLost(Exception):
    """The Lease could not be renewed in time, or another took it; the work was stopped."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a Lease is held, in seconds; upstream's defaults. The renew deadline must be shorter than the duration."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class LeaderElector:
    """A candidate for one Lease. `identity` must be unique among the replicas."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        namespace: str,
        name: str,
        identity: str,
        terms: Terms = Terms(),
        rng: random.Random | None = None,
    ) -> None:
        if terms.renew_deadline >= terms.duration:
            raise ValueError("leader election: the renew deadline must be shorter than the lease's duration")
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._terms = terms
        self._rng = rng or random.Random()
        self._seen: coordination.Lease | None = None
        self._seen_at = 0.0

    @property
    def holder(self) -> str:
        """Who held the Lease when last looked at; "" for nobody."""
        return (self._seen.spec.holder_identity or "") if self._seen is not None else ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the Lease, then run `lead` for as long as it is held.

        Returns when `lead` does, having given the Lease back. Raises LeadershipLost, with `lead` cancelled.
        """
        while not await self._try_once():
            await self._pause()
        log.info("leading lease=%s/%s identity=%s", self._namespace, self._name, self._identity)
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew(), name=f"renew-{self._name}")
                await lead()
                renewing.cancel()
        except ExceptionGroup as failed:
            lost, others = failed.split(LeadershipLost)
            if lost is None or others is not None:
                raise
            raise LeadershipLost(str(lost.exceptions[0])) from None
        finally:
            await self._release()

    async def _pause(self) -> None:
        await self._clock.sleep(self._terms.retry_period * (1 + 0.2 * self._rng.random()))

    async def _renew(self) -> None:
        """Renew for ever; raises LeadershipLost when no renewal succeeded within the deadline."""
        renewed = self._clock.monotonic()
        while True:
            await self._clock.sleep(self._terms.retry_period)
            left = renewed + self._terms.renew_deadline - self._clock.monotonic()
            try:
                async with self._clock.timeout(left):
                    held = await self._try_once()
            except TimeoutError:
                held = False
            if held:
                renewed = self._clock.monotonic()
            elif self.holder not in ("", self._identity):
                raise LeadershipLost(f"lease {self._namespace}/{self._name}: taken by {self.holder}")
            elif self._clock.monotonic() >= renewed + self._terms.renew_deadline:
                raise LeadershipLost(f"lease {self._namespace}/{self._name}: not renewed in time")

    async def _try_once(self) -> bool:
        """Take or renew the Lease if it is ours to have; returns whether we hold it."""
        try:
            return await self._take()
        except StatusError as error:
            # Conflict and AlreadyExists: another candidate was quicker.
            level = logging.DEBUG if error.code == 409 else logging.WARNING
            log.log(level, "lease not taken lease=%s/%s error=%s", self._namespace, self._name, error)
        except ClientError as error:
            log.info("lease not taken lease=%s/%s error=%s", self._namespace, self._name, error)
        return False

    async def _take(self) -> bool:
        try:
            lease = await self._client.get(coordination.Lease, self._name, self._namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            fresh = coordination.Lease(metadata=meta.ObjectMeta(name=self._name, namespace=self._namespace))
            fresh.spec = self._spec(None)
            self._observe(await self._client.create(fresh))
            return True
        self._observe(lease)
        spec = lease.spec
        holder = spec.holder_identity or ""
        duration = float(spec.lease_duration_seconds or self._terms.duration)
        if holder not in ("", self._identity) and self._clock.monotonic() < self._seen_at + duration:
            return False
        lease.spec = self._spec(spec)
        self._observe(await self._client.update(lease))
        return True

    def _observe(self, lease: coordination.Lease) -> None:
        """Note when the Lease last changed, by our own clock: the stamps in it come from another machine's."""
        if self._seen is None or self._seen.metadata.resource_version != lease.metadata.resource_version:
            self._seen_at = self._clock.monotonic()
        self._seen = lease

    def _spec(self, old: coordination.LeaseSpec | None) -> coordination.LeaseSpec:
        now = MicroTime.from_timestamp(self._clock.now())
        ours = old is not None and old.holder_identity == self._identity
        return coordination.LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=int(self._terms.duration),
            acquire_time=old.acquire_time if ours and old is not None else now,
            renew_time=now,
            lease_transitions=((old.lease_transitions or 0) + (0 if ours else 1)) if old is not None else 0,
        )

    async def _release(self) -> None:
        """Give the Lease back, so that a successor need not wait for it to run out; best effort."""
        if self.holder != self._identity or self._seen is None:
            return
        lease = self._seen
        lease.spec.holder_identity = ""
        lease.spec.lease_duration_seconds = 1
        try:
            async with self._clock.timeout(self._terms.retry_period):
                await self._client.update(lease)
        except (StatusError, ClientError, TimeoutError) as error:
            log.info("lease not given back lease=%s/%s error=%s", self._namespace, self._name, error)
