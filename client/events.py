"""Telling the user what happens to an object: the event recorder.

To record must never hold up the work that is reported on. `EventRecorder.event` is a plain call that puts the event
into a bounded queue; a few tasks of its own correlate and send. While the API server is away the queue fills, then new
events are dropped and counted; nothing else suffers.
"""

from __future__ import annotations

import asyncio
import logging
import random
import zlib
from collections import deque
from typing import Protocol

from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import StatusError
from api.times import Time
from client.clock import Clock, SystemClock
from client.errors import BadAnswer, Unreachable
from client.event_correlation import EventCorrelator
from client.interface import Client

log = logging.getLogger(__name__)

NORMAL = "Normal"
WARNING = "Warning"

QUEUE_SIZE = 5000
LANES = 4
MAX_TRIES = 12
RETRY_PAUSE = 10.0  # seconds


class Recorder(Protocol):
    """What code that reports takes: the one call it makes."""

    def event(self, obj: meta.Object | core.ObjectReference, type_: str, reason: str, message: str) -> None:
        """Report something about an object; `type_` is NORMAL or WARNING, `reason` a CamelCase word. Never blocks."""


class _Lane:
    """A queue of events that are sent one after another."""

    def __init__(self) -> None:
        self.queue: deque[core.Event] = deque()
        self.wake = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    def put(self, event: core.Event) -> None:
        self.queue.append(event)
        self.idle.clear()
        self.wake.set()


class EventRecorder:
    """Records events of one component on one host (empty for what runs on no particular node)."""

    def __init__(
        self,
        client: Client,
        component: str,
        host: str = "",
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.dropped = 0
        self._client = client
        self._component = component
        self._host = host
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._lanes = [_Lane() for _ in range(LANES)]
        self._correlator = EventCorrelator()
        self._last_stamp = 0

    def event(self, obj: meta.Object | core.ObjectReference, type_: str, reason: str, message: str) -> None:
        """Queue an event about an object, or about a part of one when given a reference with a field path."""
        if sum(len(lane.queue) for lane in self._lanes) >= QUEUE_SIZE:
            self.dropped += 1
            # Once, not a thousand times: the queue stays full for as long as the server is away.
            if self.dropped == 1 or self.dropped % QUEUE_SIZE == 0:
                log.warning("events dropped component=%s total=%d", self._component, self.dropped)
            return
        event = self._make(obj, type_, reason, message)
        subject = event.involved_object
        # All that is told about one object goes one way, since a repetition must find what it repeats.
        self._lanes[zlib.crc32((subject.uid or subject.name).encode()) % LANES].put(event)

    async def run(self) -> None:
        """Send what is queued, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(self._drain(lane), name=f"events-{self._component}")

    async def flushed(self) -> None:
        """Wait until all that was queued is sent or given up. The caller sets the deadline."""
        for lane in self._lanes:
            await lane.idle.wait()

    async def _drain(self, lane: _Lane) -> None:
        while True:
            while lane.queue:
                verdict = self._correlator.correlate(lane.queue.popleft(), self._clock.monotonic())
                if verdict is not None:
                    await self._send(verdict.event, verdict.repeated)
            lane.idle.set()
            lane.wake.clear()
            await lane.wake.wait()

    def _make(self, obj: meta.Object | core.ObjectReference, type_: str, reason: str, message: str) -> core.Event:
        subject = obj if isinstance(obj, core.ObjectReference) else reference_to(obj)
        now = Time.from_timestamp(self._clock.now())
        namespace = subject.namespace or "default"
        return core.Event(
            metadata=meta.ObjectMeta(name=f"{subject.name}.{self._stamp():x}", namespace=namespace),
            involved_object=subject,
            reason=reason,
            message=message,
            source=core.EventSource(component=self._component, host=self._host),
            first_timestamp=now,
            last_timestamp=now,
            count=1,
            type=type_,
            reporting_component=self._component,
            reporting_instance=self._host,
        )

    def _stamp(self) -> int:
        """Nanoseconds of now, made unique: two events of one instant, or after the clock went back, need two names."""
        self._last_stamp = max(self._last_stamp + 1, int(self._clock.now() * 1e9))
        return self._last_stamp

    async def _send(self, event: core.Event, repeated: bool) -> None:
        for attempt in range(MAX_TRIES):
            try:
                written = await self._count_up(event) if repeated else await self._client.create(event)
            except StatusError as error:
                if error.code not in (429, 500, 503, 504):
                    # It will be refused the next time too. A namespace that terminates refuses all events: no news.
                    log.debug("event refused reason=%s about=%s error=%s", event.reason, event.metadata.name, error)
                    return
                log.info("event put off reason=%s about=%s error=%s", event.reason, event.metadata.name, error)
            except (Unreachable, BadAnswer) as error:
                log.debug("event put off reason=%s about=%s error=%s", event.reason, event.metadata.name, error)
            else:
                self._correlator.confirm(written)
                return
            # The first pause is drawn at random, so that not all clients of a server that came back call at once.
            await self._clock.sleep(RETRY_PAUSE * (self._rng.random() if attempt == 0 else 1.0))
        self.dropped += 1
        log.warning("event given up reason=%s about=%s tries=%d", event.reason, event.metadata.name, MAX_TRIES)

    async def _count_up(self, event: core.Event) -> core.Event:
        change = {"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message}
        try:
            return await self._client.patch(core.Event, event.metadata.name, change, event.metadata.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            # The server forgets events after an hour: begin anew.
            return await self._client.create(event)


def reference_to(obj: meta.Object, field_path: str = "") -> core.ObjectReference:
    """A reference to an object, or to the part of it that `field_path` names (`spec.containers{app}`)."""
    return core.ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        name=obj.metadata.name,
        namespace=obj.metadata.namespace,
        uid=obj.metadata.uid,
        resource_version=obj.metadata.resource_version,
        field_path=field_path,
    )
