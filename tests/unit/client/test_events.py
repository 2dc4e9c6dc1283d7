"""The event recorder: counted, combined, limited, and never in anybody's way."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from client.clock import FakeClock
from client.errors import Unreachable
from client.events import NORMAL, QUEUE_SIZE, WARNING, EventRecorder, reference_to
from client.fake import FakeApiServer

POD = core.Pod(metadata=meta.ObjectMeta(name="web", namespace="shop", uid="u1", resource_version="7"))


@asynccontextmanager
async def _recording(server: FakeApiServer) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(server.client(), "kubelet", "n1", clock=server.clock, rng=random.Random(0))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        yield recorder
        task.cancel()


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(clock=FakeClock())


def _events(server: FakeApiServer) -> list[core.Event]:
    return server.list(core.Event).items


async def test_an_event_tells_who_what_and_when(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        recorder.event(POD, NORMAL, "Started", "Container started")
        await recorder.flushed()
    (event,) = _events(server)
    assert event.metadata.namespace == "shop"
    assert event.metadata.name.startswith("web.")
    assert event.involved_object == reference_to(POD)
    assert (event.type, event.reason, event.message, event.count) == (NORMAL, "Started", "Container started", 1)
    assert (event.source.component, event.source.host) == ("kubelet", "n1")
    assert (event.reporting_component, event.reporting_instance) == ("kubelet", "n1")
    assert event.first_timestamp == event.last_timestamp is not None


async def test_events_about_cluster_objects_live_in_default(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        recorder.event(core.Node(metadata=meta.ObjectMeta(name="n1")), NORMAL, "Starting", "Starting kubelet.")
        await recorder.flushed()
    assert [event.metadata.namespace for event in _events(server)] == ["default"]


async def test_a_part_of_an_object_can_be_meant(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        recorder.event(reference_to(POD, "spec.containers{app}"), NORMAL, "Pulled", "Image present")
        await recorder.flushed()
    assert _events(server)[0].involved_object.field_path == "spec.containers{app}"


async def test_the_same_event_is_counted_up(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        for _ in range(3):
            recorder.event(POD, WARNING, "BackOff", "Back-off restarting failed container")
            await server.clock.sleep(60)
    (event,) = _events(server)
    assert event.count == 3
    assert event.first_timestamp is not None
    assert event.last_timestamp is not None
    assert event.last_timestamp.timestamp() - event.first_timestamp.timestamp() == 120


async def test_an_event_the_server_has_forgotten_is_made_anew(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        recorder.event(POD, WARNING, "BackOff", "again")
        await recorder.flushed()
        (event,) = _events(server)
        server.delete(core.Event, event.metadata.name, "shop")
        recorder.event(POD, WARNING, "BackOff", "again")
        await recorder.flushed()
    assert [event.count for event in _events(server)] == [2]


async def test_from_the_tenth_message_on_similar_events_are_combined(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        for number in range(14):
            recorder.event(POD, WARNING, "Failed", f"attempt {number}")
            await recorder.flushed()
    events = {event.message: event.count for event in _events(server)}
    assert len(events) == 10
    assert events["(combined from similar events): attempt 13"] == 5
    assert events["attempt 8"] == 1


async def test_after_ten_quiet_minutes_events_are_told_apart_again(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        for number in range(10):
            recorder.event(POD, WARNING, "Failed", f"attempt {number}")
        await recorder.flushed()
        await server.clock.sleep(601)
        recorder.event(POD, WARNING, "Failed", "attempt 11")
        await recorder.flushed()
    assert "attempt 11" in {event.message for event in _events(server)}


async def test_one_object_cannot_flood_the_server(server: FakeApiServer) -> None:
    other = core.Pod(metadata=meta.ObjectMeta(name="other", namespace="shop", uid="u2"))
    async with _recording(server) as recorder:
        for number in range(100):
            recorder.event(POD, WARNING, f"Reason{number}", "x")
        recorder.event(other, WARNING, "Reason", "x")
        await recorder.flushed()
        assert len(_events(server)) == 26
        await server.clock.sleep(301)
        for number in range(100, 110):
            recorder.event(POD, WARNING, f"Reason{number}", "x")
        await recorder.flushed()
    assert len(_events(server)) == 27


async def test_an_outage_is_outlived(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        server.faults.offline = True
        recorder.event(POD, NORMAL, "Started", "x")
        await server.clock.sleep(60)
        server.faults.offline = False
        async with server.clock.timeout(30):
            await recorder.flushed()
    assert len(_events(server)) == 1


async def test_an_event_is_given_up_after_twelve_tries(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        server.faults.fail(Unreachable("connection refused"), verb="create", times=12)
        recorder.event(POD, NORMAL, "Lost", "x")
        recorder.event(POD, NORMAL, "Kept", "x")
        await recorder.flushed()
        assert recorder.dropped == 1
    assert [event.reason for event in _events(server)] == ["Kept"]


async def test_an_event_that_is_refused_is_not_tried_again(server: FakeApiServer) -> None:
    async with _recording(server) as recorder:
        server.faults.fail(errors.forbidden("events", "", "namespace shop is being terminated"), verb="create")
        recorder.event(POD, NORMAL, "Killing", "x")
        await recorder.flushed()
        assert server.clock.monotonic() == 0
    assert _events(server) == []


async def test_a_full_queue_drops_and_does_not_block(server: FakeApiServer) -> None:
    recorder = EventRecorder(server.client(), "kubelet", clock=server.clock)
    for number in range(QUEUE_SIZE + 5):
        recorder.event(POD, NORMAL, "Reason", str(number))
    assert recorder.dropped == 5


async def test_names_stay_unique_when_the_clock_stands_still_or_goes_back(server: FakeApiServer) -> None:
    assert isinstance(server.clock, FakeClock)
    async with _recording(server) as recorder:
        recorder.event(POD, NORMAL, "A", "x")
        recorder.event(POD, NORMAL, "B", "x")
        server.clock.step_wall(-3600)
        recorder.event(POD, NORMAL, "C", "x")
        await recorder.flushed()
    assert len({event.metadata.name for event in _events(server)}) == 3
