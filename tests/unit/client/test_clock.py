"""The fake clock: it jumps only when nothing else can run, in the order of deadlines."""

import asyncio
import contextlib

import pytest
import uvloop

from client.clock import FakeClock, SystemClock


async def test_an_hour_of_sleep_takes_no_time() -> None:
    clock = FakeClock()
    async with asyncio.timeout(5):
        await clock.sleep(3600)
    assert clock.monotonic() == 3600


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    clock, woken = FakeClock(), []

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        for seconds in (3.0, 1.0, 2.0, 1.0):
            group.create_task(sleeper(seconds))
    assert woken == [(1.0, 1.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


async def test_time_stands_still_while_a_task_can_run() -> None:
    clock, turns = FakeClock(), 0

    async def busy() -> None:
        nonlocal turns
        for _ in range(500):
            await asyncio.sleep(0)
            assert clock.monotonic() == 0
            turns += 1

    async with asyncio.TaskGroup() as group:
        group.create_task(clock.sleep(1))
        group.create_task(busy())
    assert turns == 500


async def test_without_autojump_time_moves_only_when_told() -> None:
    clock = FakeClock(autojump=False)
    sleeper = asyncio.ensure_future(clock.sleep(10))
    await clock.advance(9)
    assert not sleeper.done()
    await clock.advance(1)
    assert sleeper.done()
    assert clock.monotonic() == 10


async def test_advance_stops_at_each_deadline_on_the_way() -> None:
    clock, seen = FakeClock(autojump=False), []

    async def ticking() -> None:
        for _ in range(3):
            await clock.sleep(1)
            seen.append(clock.monotonic())

    task = asyncio.ensure_future(ticking())
    await clock.advance(10)
    await task
    assert seen == [1, 2, 3]
    assert clock.monotonic() == 10


async def test_settle_waits_for_others_but_lets_no_time_pass() -> None:
    clock, done = FakeClock(), []

    async def worker() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        done.append(True)
        await clock.sleep(5)

    task = asyncio.ensure_future(worker())
    await clock.settle()
    assert done
    assert clock.monotonic() == 0
    await task


async def test_a_timeout_ends_by_fake_time() -> None:
    clock = FakeClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(30):
            await asyncio.Event().wait()
    assert clock.monotonic() == 30


async def test_a_timeout_that_is_left_in_time_leaves_nothing_behind() -> None:
    clock = FakeClock()
    async with clock.timeout(30):
        await clock.sleep(1)
    async with clock.timeout(None):
        await clock.sleep(100)
    assert clock.monotonic() == 101


async def test_a_cancelled_timer_does_not_fire_and_does_not_move_time() -> None:
    clock, fired = FakeClock(), []
    clock.call_later(1000, fired.append, "never").cancel()
    await clock.sleep(1)
    assert fired == []
    assert clock.monotonic() == 1


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    task = asyncio.ensure_future(clock.sleep(1000))
    await clock.settle()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await clock.sleep(1)
    assert clock.monotonic() == 1


async def test_the_wall_clock_steps_without_touching_durations() -> None:
    clock = FakeClock(start=0.0)
    clock.step_wall(1e9)
    await clock.sleep(1)
    assert (clock.now(), clock.monotonic()) == (1e9 + 1, 1)


async def test_the_threshold_leaves_room_for_threads() -> None:
    clock = FakeClock(threshold=0.2)
    loop = asyncio.get_running_loop()
    sleeper = asyncio.ensure_future(clock.sleep(60))
    await loop.run_in_executor(None, lambda: None)
    assert not sleeper.done()
    await sleeper


async def test_the_system_clock_keeps_its_word() -> None:
    clock, fired = SystemClock(), asyncio.Event()
    before = clock.monotonic()
    clock.call_later(0.01, fired.set)
    await clock.sleep(0.01)
    async with clock.timeout(10):
        await fired.wait()
    assert clock.monotonic() - before >= 0.01
    with pytest.raises(TimeoutError):
        async with clock.timeout(0.01):
            await asyncio.Event().wait()


def test_a_loop_that_cannot_tell_when_it_is_idle_is_refused() -> None:
    with pytest.raises(RuntimeError, match="asyncio's own event loop"):
        uvloop.run(FakeClock().sleep(1))
