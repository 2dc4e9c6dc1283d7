"""The misbehaving store: each fault does what it says and no more."""

from __future__ import annotations

import asyncio

import pytest

from client.clock import FakeClock
from controlplane.store.errors import StoreClosed, WriteFailed
from controlplane.store.faults import NO_FAULT, Fault, FaultyStore, seeded_faults
from controlplane.store.memory import MemoryStore


def once(fault: Fault, operation: str = "write") -> FaultyStore:
    """A store whose first such operation goes wrong."""
    faults = [fault]

    def plan(called: str, _: str) -> Fault:
        return faults.pop() if called == operation and faults else NO_FAULT

    return FaultyStore(MemoryStore(), FakeClock(), plan)


async def test_a_failure_before_leaves_nothing_done() -> None:
    store = once(Fault(before=WriteFailed("commit", "injected")))
    with pytest.raises(WriteFailed):
        await store.write("/a", b"", expect=0)
    assert await store.get("/a") is None
    assert await store.write("/a", b"", expect=0) == 2


async def test_a_failure_after_is_a_lost_answer() -> None:
    store = once(Fault(after=WriteFailed("commit", "injected")))
    with pytest.raises(WriteFailed):
        await store.write("/a", b"", expect=0)
    assert await store.get("/a") is not None


async def test_a_crash_takes_everything_down_but_what_was_committed() -> None:
    inner = MemoryStore()
    store = FaultyStore(
        inner, FakeClock(), lambda operation, _: Fault(crash=True) if operation == "write" else NO_FAULT
    )
    told: list[int] = []
    store.subscribe(lambda changes: told.append(len(changes)))
    watching = asyncio.ensure_future(anext(store.watch("/", after=store.revision), None))
    await asyncio.sleep(0)
    with pytest.raises(StoreClosed):
        await store.write("/a", b"", expect=0)
    assert await watching is None
    for call in (store.get("/a"), store.list("/"), store.write("/b", b"", expect=0), store.compact(1)):
        with pytest.raises(StoreClosed):
            await call
    assert store.crashed
    await inner.write("/b", b"", expect=0)
    assert told == [1]
    assert await inner.get("/a") is not None


async def test_delays_take_the_clocks_time() -> None:
    store = once(Fault(delay=40.0))
    clock: FakeClock = store._clock  # type: ignore[assignment]
    before = clock.monotonic()
    await store.write("/a", b"", expect=0)
    assert clock.monotonic() - before == 40.0


async def test_the_same_seed_brings_the_same_faults() -> None:
    def faults(seed: int) -> list[str]:
        plan = seeded_faults(seed, 0.5)
        return [repr(plan("write", f"/{number}")) for number in range(50)]

    assert faults(1) == faults(1)
    assert faults(1) != faults(2)
