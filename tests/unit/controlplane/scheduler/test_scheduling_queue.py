"""Which pod is next, and when one that failed is tried again."""

import asyncio

import pytest

from api import core_v1 as core
from api import meta_v1 as meta
from client.clock import FakeClock
from controlplane.scheduler.demand import Demand, DemandReader
from controlplane.scheduler.failures import Cause
from controlplane.scheduler.queue import SchedulingQueue, Waiting

READER = DemandReader()
RESOURCES = frozenset((Cause.RESOURCES,))
TAINT = frozenset((Cause.TAINT,))


def demand(name: str, priority: int = 0, **labels: str) -> Demand:
    return READER.read(
        core.Pod(
            metadata=meta.ObjectMeta(name=name, namespace="default", uid=name, labels=labels),
            spec=core.PodSpec(priority=priority),
        )
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> SchedulingQueue:
    return SchedulingQueue(clock)


async def _drawn(queue: SchedulingQueue, clock: FakeClock, within: float = 0.0) -> Waiting | None:
    try:
        async with clock.timeout(within):
            return await queue.get()
    except TimeoutError:
        return None


async def test_priority_comes_first_then_age(queue: SchedulingQueue, clock: FakeClock) -> None:
    for name, priority in (("old", 0), ("young", 0), ("important", 10)):
        queue.put(demand(name, priority))
        await clock.sleep(1)
    assert [(await queue.get()).demand.name for _ in range(3)] == ["important", "old", "young"]


async def test_a_parked_pod_waits_for_what_could_help_it(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    waiting = await queue.get()
    queue.park(waiting, RESOURCES)
    assert queue.counts["unschedulable"] == 1
    queue.happened(TAINT)
    queue.happened(RESOURCES, lambda _: False)
    assert await _drawn(queue, clock, 30) is None
    queue.happened(RESOURCES | TAINT, lambda one: one.name == "a")
    drawn = await _drawn(queue, clock)
    assert drawn is waiting
    assert drawn.attempts == 2


async def test_an_idle_scheduler_does_not_make_a_helped_pod_rest(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    queue.park(await queue.get(), RESOURCES)
    queue.happened(RESOURCES)
    await queue.get()
    assert clock.monotonic() == 0


async def test_a_busy_scheduler_does(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    queue.park(await queue.get(), RESOURCES)
    queue.happened(RESOURCES)
    queue.put(demand("b"))
    assert (await queue.get()).demand.name == "b"


async def test_errors_rest_from_one_second_to_ten(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    rests = []
    for _ in range(6):
        before = clock.monotonic()
        waiting = await queue.get()
        rests.append(clock.monotonic() - before)
        queue.retry(waiting)
    assert rests == pytest.approx([0, 1, 2, 4, 8, 10])


async def test_what_is_parked_is_tried_again_after_five_minutes(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    queue.park(await queue.get(), TAINT)
    assert await _drawn(queue, clock, 299) is None
    assert await _drawn(queue, clock, 40) is not None


async def test_an_empty_queue_sets_no_timer(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    queue.park(await queue.get(), TAINT)
    queue.remove("a")
    await clock.sleep(60)
    assert clock._next_due() is None


async def test_a_pod_that_asks_for_something_else_is_tried_at_once(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    queue.park(await queue.get(), RESOURCES)
    queue.put(demand("a"))
    assert await _drawn(queue, clock) is None
    queue.put(demand("a", app="new"))
    drawn = await _drawn(queue, clock)
    assert drawn is not None
    assert drawn.demand.labels == {"app": "new"}


async def test_a_pod_that_is_gone_does_not_come_up(queue: SchedulingQueue, clock: FakeClock) -> None:
    for name in ("active", "resting", "parked"):
        queue.put(demand(name))
    drawn = {one.demand.name: one for one in [await queue.get() for _ in range(3)]}
    queue.retry(drawn["resting"])
    queue.park(drawn["parked"], TAINT)
    queue.remove("active")
    queue.put(demand("active"))
    for name in drawn:
        queue.remove(name)
    queue.happened(TAINT)
    assert len(queue) == 0
    assert await _drawn(queue, clock, 20) is None


async def test_a_pod_that_left_while_it_was_tried_is_not_put_back(queue: SchedulingQueue, clock: FakeClock) -> None:
    queue.put(demand("a"))
    waiting = await queue.get()
    queue.remove("a")
    queue.park(waiting, TAINT)
    queue.retry(waiting)
    assert len(queue) == 0
    assert await _drawn(queue, clock, 20) is None


async def test_a_waiting_getter_wakes_up(queue: SchedulingQueue, clock: FakeClock) -> None:
    getter = asyncio.ensure_future(queue.get())
    await clock.settle()
    queue.put(demand("a"))
    assert (await getter).demand.name == "a"
