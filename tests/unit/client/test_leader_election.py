"""One leader at a time, whatever clocks and networks do."""

import asyncio
import random

import pytest

from api import coordination_v1 as coordination
from client.clock import FakeClock
from client.fake import FakeApiServer
from client.leaderelection import LeaderElector, LeadershipLost, Terms


class Stage:
    """Replicas on one server; `leading` is who works right now."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.server = FakeApiServer(clock=self.clock)
        self.leading: list[str] = []
        self.overlaps = 0

    def elector(self, name: str) -> LeaderElector:
        return LeaderElector(
            self.server.client(),
            self.clock,
            namespace="kube-system",
            name="scheduler",
            identity=name,
            rng=random.Random(name),
        )

    async def work(self, name: str, seconds: float = 1e9) -> None:
        self.leading.append(name)
        self.overlaps += len(self.leading) > 1
        try:
            await self.clock.sleep(seconds)
        finally:
            self.leading.remove(name)

    def lease(self) -> coordination.LeaseSpec:
        return self.server.get(coordination.Lease, "scheduler", "kube-system").spec


async def test_the_first_takes_the_lease_and_gives_it_back() -> None:
    stage = Stage()
    await stage.elector("a").run(lambda: stage.work("a", 60))
    lease = stage.lease()
    assert lease.holder_identity == ""
    assert lease.lease_transitions == 0


async def test_a_second_waits_and_takes_over_at_once_when_the_first_leaves() -> None:
    stage = Stage()
    first = asyncio.ensure_future(stage.elector("a").run(lambda: stage.work("a", 60)))
    await stage.clock.sleep(1)
    second = asyncio.ensure_future(stage.elector("b").run(lambda: stage.work("b", 60)))
    await stage.clock.sleep(30)
    assert stage.leading == ["a"]
    await first
    await stage.clock.sleep(5)
    assert stage.leading == ["b"]
    assert stage.lease().lease_transitions == 1
    await second
    assert stage.overlaps == 0


async def test_a_leader_that_vanished_is_replaced_when_its_lease_runs_out() -> None:
    stage = Stage()
    first = asyncio.ensure_future(stage.elector("a").run(lambda: stage.work("a")))
    await stage.clock.sleep(1)
    # It is killed and cannot give the lease back.
    stage.server.faults.offline = True
    first.cancel()
    await asyncio.wait([first])
    stage.server.faults.offline = False
    second = asyncio.ensure_future(stage.elector("b").run(lambda: stage.work("b", 10)))
    started = stage.clock.monotonic()
    while not stage.leading:
        await stage.clock.sleep(1)
    assert 15 <= stage.clock.monotonic() - started <= 20
    await second


async def test_a_leader_cut_off_stops_before_another_can_start() -> None:
    stage = Stage()
    client = stage.server.client()
    cut_off = LeaderElector(client, stage.clock, namespace="kube-system", name="scheduler", identity="a")
    first = asyncio.ensure_future(cut_off.run(lambda: stage.work("a")))
    await stage.clock.sleep(1)
    second = asyncio.ensure_future(stage.elector("b").run(lambda: stage.work("b", 30)))
    await stage.clock.sleep(5)

    async def hang(call: object) -> None:
        await stage.clock.sleep(1000)

    # Every request of the leader hangs; those of the other pass.
    stage.server.faults.hook(hang, verb="get", times=1)
    with pytest.raises(LeadershipLost, match="not renewed in time"):
        await first
    assert "a" not in stage.leading
    await second
    assert stage.overlaps == 0


async def test_a_leader_that_was_robbed_of_its_lease_stops() -> None:
    stage = Stage()
    first = asyncio.ensure_future(stage.elector("a").run(lambda: stage.work("a")))
    await stage.clock.sleep(1)
    lease = stage.server.get(coordination.Lease, "scheduler", "kube-system")
    lease.spec.holder_identity = "thief"
    stage.server.update(lease)
    with pytest.raises(LeadershipLost, match="taken by thief"):
        await first
    assert stage.lease().holder_identity == "thief"


async def test_a_skewed_wall_clock_does_not_matter() -> None:
    stage = Stage()
    first = asyncio.ensure_future(stage.elector("a").run(lambda: stage.work("a", 120)))
    await stage.clock.sleep(1)
    stage.clock.step_wall(-1e8)
    second = asyncio.ensure_future(stage.elector("b").run(lambda: stage.work("b", 10)))
    await stage.clock.sleep(100)
    assert stage.leading == ["a"]
    await asyncio.gather(first, second)
    assert stage.overlaps == 0


async def test_what_goes_wrong_in_the_work_comes_out() -> None:
    stage = Stage()

    async def fail() -> None:
        raise ZeroDivisionError("boom")

    with pytest.raises(BaseExceptionGroup) as raised:
        await stage.elector("a").run(fail)
    assert raised.group_contains(ZeroDivisionError)
    assert stage.lease().holder_identity == ""


def test_terms_that_allow_two_leaders_are_refused() -> None:
    clock = FakeClock()
    client = FakeApiServer(clock=clock).client()
    with pytest.raises(ValueError, match="shorter"):
        LeaderElector(client, clock, namespace="x", name="y", identity="z", terms=Terms(duration=5, renew_deadline=5))
