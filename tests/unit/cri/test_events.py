"""Following what happens: both sources, and what a broken stream leads to."""

from collections.abc import AsyncIterator

import pytest
from google.protobuf.message import Message

from client.clock import FakeClock
from cri.errors import Unimplemented, error_for
from cri.events import ContainerEvent, EventKind, follow
from cri.fake import FakeRuntime
from cri.transport import Call
from proto import cri_pb2 as cri
from proto.containerd import events_pb2, payloads_pb2


async def start(runtime: FakeRuntime, attempt: int = 0) -> tuple[str, str]:
    runtime.images.add("busybox:latest")
    pod = cri.PodSandboxConfig(metadata=cri.PodSandboxMetadata(name="web", uid="u", namespace="d", attempt=attempt))
    sandbox = await runtime.run_pod_sandbox(pod)
    config = cri.ContainerConfig(metadata=cri.ContainerMetadata(name="app"), image=cri.ImageSpec(image="busybox"))
    container = await runtime.create_container(sandbox, config, pod)
    await runtime.start_container(container)
    return sandbox, container


async def take(events: AsyncIterator[ContainerEvent], count: int) -> list[ContainerEvent]:
    return [await anext(events) for _ in range(count)]


async def test_events_come_in_order_after_a_resync() -> None:
    runtime = FakeRuntime(FakeClock())
    events = runtime.events()
    assert (await anext(events)).kind is EventKind.RESYNC
    sandbox, container = await start(runtime)
    runtime.exit(container, 7)
    seen = await take(events, 5)
    assert [(event.kind.value, event.container_id) for event in seen] == [
        ("created", sandbox),
        ("started", sandbox),
        ("created", container),
        ("started", container),
        ("stopped", container),
    ]
    assert seen[-1].sandbox_id == sandbox
    assert seen[-1].exit_code == 7
    assert seen[-1].containers[0].state == cri.CONTAINER_EXITED


async def test_after_a_crash_of_the_runtime_comes_a_resync() -> None:
    clock = FakeClock()
    runtime = FakeRuntime(clock)
    events = runtime.events()
    await anext(events)
    runtime.crash()
    clock.call_later(60, runtime.restart)
    assert (await anext(events)).kind is EventKind.RESYNC
    assert 60 <= clock.monotonic() <= 66
    await start(runtime)
    assert (await anext(events)).kind is EventKind.CREATED


class ContainerdOnly:
    """A transport to a containerd of the 1.6 line: CRI's event stream is missing, containerd's own is there."""

    def __init__(self, envelopes: list[events_pb2.Envelope], *, has_events: bool = True) -> None:
        self.envelopes = envelopes
        self.has_events = has_events
        self.subscribed: list[tuple[Call, Message]] = []

    async def unary(self, call: Call, request: Message, reply: type[Message], deadline: float | None) -> Message:
        return reply()

    def stream(self, call: Call, request: Message, reply: type[Message], deadline: float | None) -> "Canned":
        self.subscribed.append((call, request))
        if call.method == "GetContainerEvents" or not self.has_events:
            return Canned([], error_for("Unimplemented", call.step, "", "unknown method"))
        return Canned(list(self.envelopes), error_for("Unavailable", call.step, "", "EOF"))

    async def close(self) -> None:
        return None


class Canned:
    def __init__(self, items: list[events_pb2.Envelope], end: Exception) -> None:
        self.items, self.end = items, end

    def __aiter__(self) -> "Canned":
        return self

    async def __anext__(self) -> events_pb2.Envelope:
        if not self.items:
            raise self.end
        return self.items.pop(0)

    def cancel(self) -> None:
        return None


def envelope(payload: Message) -> events_pb2.Envelope:
    item = events_pb2.Envelope(topic="/tasks/any")
    item.event.type_url = payload.DESCRIPTOR.full_name
    item.event.value = payload.SerializeToString()
    item.timestamp.FromNanoseconds(5)
    return item


async def test_containerd_events_stand_in() -> None:
    transport = ContainerdOnly(
        [
            envelope(payloads_pb2.ContainerCreate(id="c")),
            envelope(payloads_pb2.TaskStart(container_id="c", pid=1)),
            envelope(payloads_pb2.TaskExit(container_id="c", id="exec-1", exit_status=0)),
            envelope(payloads_pb2.TaskOOM(container_id="c")),
            envelope(payloads_pb2.TaskExit(container_id="c", id="c", exit_status=137)),
            envelope(payloads_pb2.TaskDelete(container_id="c", id="c")),
            envelope(payloads_pb2.ContainerDelete(id="c")),
        ]
    )
    seen = [event async for event in _until_second_life(follow(transport, FakeClock()))]  # type: ignore[arg-type]
    assert [(event.kind.value, event.container_id, event.exit_code, event.at) for event in seen] == [
        ("created", "c", None, 5),
        ("started", "c", None, 5),
        ("oom", "c", None, 5),
        ("stopped", "c", 137, 5),
        ("deleted", "c", None, 5),
    ]
    call, request = transport.subscribed[1]
    assert call.metadata == (("containerd-namespace", "k8s.io"),)
    assert isinstance(request, events_pb2.SubscribeRequest)
    assert all(one.startswith("namespace==k8s.io,") for one in request.filters)


async def _until_second_life(events: AsyncIterator[ContainerEvent]) -> AsyncIterator[ContainerEvent]:
    resyncs = 0
    async for event in events:
        if event.kind is not EventKind.RESYNC:
            yield event
        else:
            resyncs += 1
            if resyncs == 3:  # the attempt at CRI's stream, containerd's, and containerd's again
                return


async def test_a_runtime_without_events_says_so() -> None:
    events = follow(ContainerdOnly([], has_events=False), FakeClock())  # type: ignore[arg-type]
    with pytest.raises(Unimplemented):
        await take(events, 5)
