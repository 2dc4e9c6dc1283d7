"""Work queues: once per key, one worker per key, later and later after failures."""

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import errors
from client.clock import FakeClock
from client.controller import run_workers
from client.errors import Unreachable
from client.workqueue import RetryLimiter, ShutDown, WorkQueue


async def test_a_key_added_often_is_handed_out_once() -> None:
    queue = WorkQueue[str](clock=FakeClock())
    for _ in range(5):
        queue.add("a")
    assert await queue.get() == "a"
    assert len(queue) == 0


async def test_a_key_added_while_in_work_comes_back_after_done_and_not_before() -> None:
    queue = WorkQueue[str](clock=FakeClock())
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "b"
    queue.done("b")
    assert len(queue) == 0
    queue.done("a")
    assert await queue.get() == "a"


async def test_of_several_delays_the_shortest_counts() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock)
    queue.add_after("a", 60)
    queue.add_after("a", 5)
    queue.add_after("a", 30)
    assert queue.delayed == 1
    assert await queue.get() == "a"
    assert clock.monotonic() == pytest.approx(5)
    queue.done("a")
    await clock.sleep(120)
    assert len(queue) == 0


async def test_delays_end_in_order() -> None:
    clock = FakeClock()
    queue = WorkQueue[int](clock=clock)
    for seconds in (3, 1, 2):
        queue.add_after(seconds, seconds)
    got = []
    for _ in range(3):
        key = await queue.get()
        got.append((key, round(clock.monotonic())))
        queue.done(key)
    assert got == [(1, 1), (2, 2), (3, 3)]


async def test_failures_back_off_per_key_and_are_forgotten_on_success() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock, limiter=RetryLimiter(rate=1000))
    waits = []
    for _ in range(25):
        before = clock.monotonic()
        queue.add_rate_limited("a")
        await queue.get()
        queue.done("a")
        waits.append(clock.monotonic() - before)
    assert waits[:4] == pytest.approx([0.005, 0.01, 0.02, 0.04])
    assert waits[-1] == pytest.approx(1000)
    assert queue.failures("a") == 25
    queue.forget("a")
    assert queue.failures("a") == 0


def test_many_failing_keys_share_a_bucket() -> None:
    limiter = RetryLimiter[int]()
    delays = [limiter.delay(key, now=0.0) for key in range(201)]
    assert max(delays[:100]) == pytest.approx(0.005)
    assert delays[200] == pytest.approx(10.1)


async def test_shutdown_hands_out_what_is_ready_then_ends() -> None:
    queue = WorkQueue[str](clock=FakeClock())
    queue.add("a")
    queue.add_after("b", 10)
    queue.shutdown()
    queue.add("c")
    assert await queue.get() == "a"
    with pytest.raises(ShutDown):
        await queue.get()


async def test_shutdown_wakes_those_who_wait() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock)
    getters = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await clock.settle()
    queue.shutdown()
    outcomes = await asyncio.gather(*getters, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ShutDown] * 3


async def test_drain_waits_for_work_in_progress() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock)
    queue.add("a")
    await queue.get()
    draining = asyncio.ensure_future(queue.drain())
    await clock.settle()
    assert not draining.done()
    queue.done("a")
    await draining


async def test_a_cancelled_getter_loses_no_key() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock)
    first = asyncio.ensure_future(queue.get())
    second = asyncio.ensure_future(queue.get())
    await clock.settle()
    queue.add("a")
    first.cancel()
    assert await second == "a"
    assert first.cancelled()


async def test_metrics_tell_how_long_keys_wait_and_are_worked_on() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock)
    queue.add("a")
    await clock.sleep(2)
    await queue.get()
    await clock.sleep(3)
    assert queue.unfinished() == {"a": 3}
    queue.done("a")
    assert (queue.metrics.waited, queue.metrics.worked, queue.metrics.finished) == (2, 3, 1)


@given(st.lists(st.tuples(st.sampled_from(["add", "get", "done"]), st.integers(0, 3)), max_size=60))
def test_no_key_is_lost_nor_worked_on_twice_at_once(steps: list[tuple[str, int]]) -> None:
    """A model: `wanted` keys were added since they were last handed out; `working` keys are out."""

    async def play() -> None:
        queue = WorkQueue[int](clock=FakeClock())
        wanted: set[int] = set()
        working: set[int] = set()
        for verb, key in steps:
            if verb == "add":
                queue.add(key)
                wanted.add(key)
            elif verb == "get" and len(queue):
                got = await queue.get()
                assert got in wanted
                assert got not in working
                wanted.discard(got)
                working.add(got)
            elif verb == "done" and key in working:
                queue.done(key)
                working.discard(key)
            assert len(queue) == len(wanted - working)
        for key in working:
            queue.done(key)
        assert len(queue) == len(wanted)

    asyncio.run(play())


async def test_workers_retry_what_failed_and_go_on_with_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    queue = WorkQueue[str]("test", clock=clock)
    outcomes: dict[str, list[Exception | float | None]] = {
        "conflict": [errors.conflict("pods", "web"), None],
        "away": [Unreachable("GET /: connection refused"), Unreachable("GET /: connection refused"), None],
        "bug": [ZeroDivisionError("boom"), None],
        "again": [7.0, None],
    }
    seen: list[tuple[str, float]] = []

    async def reconcile(key: str) -> float | None:
        seen.append((key, clock.monotonic()))
        outcome = outcomes[key].pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    for key in outcomes:
        queue.add(key)
    with caplog.at_level(logging.INFO):
        async with asyncio.TaskGroup() as group:
            group.create_task(run_workers(queue, reconcile, workers=2))
            await clock.sleep(60)
            queue.shutdown()
    assert all(not left for left in outcomes.values())
    assert [moment for key, moment in seen if key == "again"] == [0, 7]
    assert "ZeroDivisionError" in caplog.text
    assert "conflict" not in caplog.text
