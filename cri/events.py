"""What happens to containers, as a stream that survives restarts of the runtime.

`follow` takes CRI's GetContainerEvents and, where that is UNIMPLEMENTED (the containerd 1.6 line), containerd's own
event service on the same socket. Neither replays what was missed, so every new connection starts with a RESYNC: the
receiver lists the runtime's state then, and trusts the events that follow. Events hasten the truth, they are not it:
the receiver keeps a slow relist as its net.

This module must not know what a pod is or ask the runtime for anything but events.
"""

from __future__ import annotations

import enum
import logging
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from cri.clock import Clock
from cri.containerd import NAMESPACE
from cri.errors import CriError, Unimplemented
from cri.transport import Call, Replies, Transport
from proto import cri_pb2 as cri
from proto.containerd import events_pb2, payloads_pb2

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_CONNECT_SECONDS = 10.0


class EventKind(enum.Enum):
    CREATED = "created"
    STARTED = "started"
    STOPPED = "stopped"
    DELETED = "deleted"
    OOM = "oom"
    """The kernel killed a process in the container for want of memory; the container may live on."""
    CHANGED = "changed"
    """Something else (paused, resumed): look again."""
    RESYNC = "resync"
    """Events may have been missed: list everything. Carries no container."""


@dataclass(frozen=True, slots=True)
class ContainerEvent:
    """One thing that happened. A sandbox's own (pause) container has the sandbox's id as its container id."""

    kind: EventKind
    container_id: str = ""
    sandbox_id: str = ""
    """Known only when the runtime tells it; "" otherwise."""
    at: int = 0
    """Nanoseconds since the epoch by the runtime's clock; for people, not for ordering."""
    exit_code: int | None = None
    """With STOPPED, where the source tells it."""
    sandbox: cri.PodSandboxStatus | None = field(default=None, compare=False)
    containers: tuple[cri.ContainerStatus, ...] = field(default=(), compare=False)
    """Statuses of the pod's containers as of the event, where the source sends them."""


RESYNC = ContainerEvent(EventKind.RESYNC)


async def follow(
    transport: Transport,
    clock: Clock,
    *,
    namespace: str = NAMESPACE,
    jitter: random.Random | None = None,
) -> AsyncIterator[ContainerEvent]:
    """Yields events without end; reconnects with back-off, and says RESYNC after each connection.

    Raises `Unimplemented` when the runtime has neither source: then there is only polling.
    """
    jitter = jitter or random.Random()
    source: _Source = _CriSource()
    pause = _FIRST_PAUSE
    while True:
        replies = source.subscribe(transport, namespace)
        try:
            # Both calls travel on one connection and in order: once the second is answered, the first has arrived.
            await transport.unary(_VERSION, cri.VersionRequest(), cri.VersionResponse, _CONNECT_SECONDS)
            yield RESYNC
            async for reply in replies:
                pause = _FIRST_PAUSE
                event = source.event(reply)
                if event is not None:
                    yield event
            log.info("event stream of the runtime ended: source=%s", source.name)
        except Unimplemented:
            if isinstance(source, _ContainerdSource):
                raise
            source = _ContainerdSource()
            continue
        except CriError as error:
            log.info("event stream of the runtime broke: source=%s error=%s", source.name, error)
        finally:
            replies.cancel()
        await clock.sleep(pause * jitter.uniform(0.5, 1.0))
        pause = min(pause * 2, _LONGEST_PAUSE)


class _Source(Protocol):
    """One way to hear of events."""

    name: str

    def subscribe(self, transport: Transport, namespace: str) -> Replies[Any]:
        """Sends the subscription."""

    def event(self, reply: Any) -> ContainerEvent | None:
        """What a reply says, or None when it concerns nobody."""


class _CriSource:
    name = "cri"

    def subscribe(self, transport: Transport, namespace: str) -> Replies[cri.ContainerEventResponse]:
        return transport.stream(_CRI_EVENTS, cri.GetEventsRequest(), cri.ContainerEventResponse, None)

    def event(self, reply: cri.ContainerEventResponse) -> ContainerEvent:
        kind = _CRI_KINDS.get(reply.container_event_type, EventKind.CHANGED)
        codes = [status.exit_code for status in reply.containers_statuses if status.id == reply.container_id]
        return ContainerEvent(
            kind,
            container_id=reply.container_id,
            sandbox_id=reply.pod_sandbox_status.id,
            at=reply.created_at,
            exit_code=codes[0] if codes and kind is EventKind.STOPPED else None,
            sandbox=reply.pod_sandbox_status if reply.HasField("pod_sandbox_status") else None,
            containers=tuple(reply.containers_statuses),
        )


class _ContainerdSource:
    name = "containerd"

    def subscribe(self, transport: Transport, namespace: str) -> Replies[events_pb2.Envelope]:
        filters = [f"namespace=={namespace},{topic}" for topic in _TOPICS]
        call = _CONTAINERD_EVENTS._replace(metadata=(("containerd-namespace", namespace),))
        return transport.stream(call, events_pb2.SubscribeRequest(filters=filters), events_pb2.Envelope, None)

    def event(self, reply: events_pb2.Envelope) -> ContainerEvent | None:
        at = reply.timestamp.ToNanoseconds()
        name, payload = reply.event.type_url.rpartition(".")[2], reply.event.value
        if name == "TaskExit":
            end = payloads_pb2.TaskExit.FromString(payload)
            if end.id and end.id != end.container_id:
                return None  # the end of an exec
            return ContainerEvent(EventKind.STOPPED, end.container_id, at=at, exit_code=end.exit_status)
        if name in _RECORD_KINDS:
            return ContainerEvent(_RECORD_KINDS[name], payloads_pb2.ContainerDelete.FromString(payload).id, at=at)
        if name in _TASK_KINDS:
            return ContainerEvent(_TASK_KINDS[name], payloads_pb2.TaskStart.FromString(payload).container_id, at=at)
        return None


_VERSION = Call("runtime.v1.RuntimeService", "Version", "ask for the version")
_CRI_EVENTS = Call("runtime.v1.RuntimeService", "GetContainerEvents", "follow events")
_CONTAINERD_EVENTS = Call("containerd.services.events.v1.Events", "Subscribe", "follow events")

_TOPICS = (
    'topic~="^/tasks/(start|exit|oom|paused|resumed)$"',
    'topic~="^/containers/(create|delete)$"',
)

_CRI_KINDS: dict[int, EventKind] = {
    cri.CONTAINER_CREATED_EVENT: EventKind.CREATED,
    cri.CONTAINER_STARTED_EVENT: EventKind.STARTED,
    cri.CONTAINER_STOPPED_EVENT: EventKind.STOPPED,
    cri.CONTAINER_DELETED_EVENT: EventKind.DELETED,
}

# Payloads with the container's id in field 1, and nothing else that matters here.
_RECORD_KINDS = {"ContainerCreate": EventKind.CREATED, "ContainerDelete": EventKind.DELETED}
_TASK_KINDS = {
    "TaskStart": EventKind.STARTED,
    "TaskOOM": EventKind.OOM,
    "TaskPaused": EventKind.CHANGED,
    "TaskResumed": EventKind.CHANGED,
}
