"""Informers: whatever happens on the way, the cache ends up right and no deletion goes unseen."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.selectors import parse_label_selector
from client.clock import FakeClock
from client.errors import Unreachable
from client.fake import FakeApiServer
from client.informer import Informer, InformerFactory


def _config(name: str, *, namespace: str = "default", **data: str) -> core.ConfigMap:
    labels = {"app": name[0]}
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace, labels=labels), data=data)


class Ledger:
    """What handlers were told, checked as it comes: each object's story is add, updates, delete."""

    def __init__(self) -> None:
        self.alive: dict[str, core.ConfigMap] = {}
        self.told: list[tuple[str, str]] = []
        self.ended: set[str] = set()

    def attach(self, informer: Informer[core.ConfigMap]) -> None:
        informer.add_handler(self.added, self.updated, self.deleted)

    def added(self, obj: core.ConfigMap) -> None:
        assert obj.metadata.uid not in self.alive
        assert obj.metadata.uid not in self.ended
        self.alive[obj.metadata.uid] = obj
        self.told.append(("add", obj.metadata.name))

    def updated(self, old: core.ConfigMap, new: core.ConfigMap) -> None:
        assert old.metadata.uid == new.metadata.uid
        assert self.alive[old.metadata.uid] is old
        assert int(old.metadata.resource_version) < int(new.metadata.resource_version)
        self.alive[new.metadata.uid] = new
        self.told.append(("update", new.metadata.name))

    def deleted(self, obj: core.ConfigMap) -> None:
        del self.alive[obj.metadata.uid]
        self.ended.add(obj.metadata.uid)
        self.told.append(("delete", obj.metadata.name))


@asynccontextmanager
async def _running(
    server: FakeApiServer, **selection: str
) -> AsyncIterator[tuple[Informer[core.ConfigMap], Ledger, FakeClock]]:
    assert isinstance(server.clock, FakeClock)
    informer = Informer(server.client(), core.ConfigMap, clock=server.clock, rng=random.Random(0), **selection)
    ledger = Ledger()
    ledger.attach(informer)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        yield informer, ledger, server.clock
        task.cancel()


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(clock=FakeClock())


async def test_it_lists_then_follows(server: FakeApiServer) -> None:
    server.create(_config("a"))
    async with _running(server) as (informer, ledger, clock):
        assert not informer.has_synced
        await informer.synced()
        server.create(_config("b"))
        server.patch(core.ConfigMap, "a", {"data": {"x": "1"}}, "default")
        server.delete(core.ConfigMap, "b", "default")
        await clock.settle()
        assert ledger.told == [("add", "a"), ("add", "b"), ("update", "a"), ("delete", "b")]
        found = informer.get("default", "a")
        assert found is not None
        assert found.data == {"x": "1"}
        assert informer.get("default", "b") is None


async def test_an_idle_informer_makes_no_calls(server: FakeApiServer) -> None:
    client = server.client()
    informer = Informer(client, core.ConfigMap, clock=server.clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await server.clock.sleep(3600)
        task.cancel()
    verbs = [call.verb for call in client.calls]
    assert verbs[:2] == ["list", "watch"]
    # One watch each five to ten minutes, and never a second list.
    assert verbs.count("list") == 1
    assert 6 <= verbs.count("watch") <= 13


async def test_a_cut_watch_resumes_where_it_was(server: FakeApiServer) -> None:
    async with _running(server) as (_, ledger, clock):
        await clock.settle()
        server.faults.drop_watches()
        server.create(_config("a"))
        await clock.sleep(5)
        assert ledger.told == [("add", "a")]


async def test_what_was_missed_in_a_gap_is_made_up_for(server: FakeApiServer) -> None:
    for name in ("kept", "gone", "changed", "replaced"):
        server.create(_config(name))
    async with _running(server) as (_, ledger, clock):
        await clock.settle()
        ledger.told.clear()
        server.faults.offline = True
        server.faults.drop_watches()
        server.delete(core.ConfigMap, "gone", "default")
        server.patch(core.ConfigMap, "changed", {"data": {"x": "1"}}, "default")
        server.delete(core.ConfigMap, "replaced", "default")
        server.create(_config("replaced"))
        server.create(_config("new"))
        server.compact()
        await clock.sleep(60)
        assert ledger.told == []
        server.faults.offline = False
        await clock.sleep(120)
        assert sorted(ledger.told) == [
            ("add", "new"),
            ("add", "replaced"),
            ("delete", "gone"),
            ("delete", "replaced"),
            ("update", "changed"),
        ]


async def test_failures_are_met_with_growing_pauses(server: FakeApiServer) -> None:
    client = server.client()
    server.faults.fail(errors.internal("boom"), verb="list", times=None)
    informer = Informer(client, core.ConfigMap, clock=server.clock, rng=random.Random(0))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await server.clock.sleep(600)
        task.cancel()
    # Growing from 0.8 s to 30 s, each stretched by up to as much again.
    assert 12 <= len(client.calls) <= 30


async def test_a_watch_that_always_ends_at_once_does_not_spin(server: FakeApiServer) -> None:
    client = server.client()
    server.faults.fail(Unreachable("connection reset by peer"), verb="watch", times=None)
    informer = Informer(client, core.ConfigMap, clock=server.clock, rng=random.Random(0))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await server.clock.sleep(600)
        task.cancel()
    assert [call.verb for call in client.calls].count("list") == 1
    assert len(client.calls) <= 30


async def test_a_lagging_replica_is_not_believed(server: FakeApiServer) -> None:
    server.create(_config("a"))
    async with _running(server) as (informer, ledger, clock):
        await clock.settle()
        server.create(_config("b"))
        await clock.settle()
        server.faults.serve_stale_lists("configmaps", 1)
        server.compact()
        server.faults.fail(errors.expired("too old resource version"), verb="watch")
        server.faults.drop_watches()
        await clock.sleep(5)
        assert ledger.told == [("add", "a"), ("add", "b")]
        assert informer.get("default", "b") is not None


async def test_a_restored_backup_is_believed_in_the_end(server: FakeApiServer) -> None:
    server.create(_config("a"))
    async with _running(server) as (informer, _, clock):
        await clock.settle()
        server.create(_config("b"))
        await clock.settle()
        server.faults.serve_stale_lists("configmaps", 1)
        server.faults.fail(errors.expired("too old resource version"), verb="watch", times=None)
        server.faults.drop_watches()
        await clock.sleep(600)
        assert informer.get("default", "b") is None


async def test_a_list_that_expires_between_pages_is_taken_in_one_piece(server: FakeApiServer) -> None:
    for number in range(1200):
        server.create(_config(f"c{number:04}"))
    server.faults.fail(errors.expired("the continue token is too old"), verb="list", skip=1)
    async with _running(server) as (informer, _, clock):
        await clock.sleep(1)
        assert len(informer) == 1200


async def test_selections_see_what_enters_and_leaves_them(server: FakeApiServer) -> None:
    server.create(_config("b"))
    async with _running(server, label_selector="app=a") as (_, ledger, clock):
        await clock.settle()
        server.create(_config("a"))
        server.patch(core.ConfigMap, "a", {"metadata": {"labels": {"app": "z"}}}, "default")
        await clock.settle()
        assert ledger.told == [("add", "a"), ("delete", "a")]


async def test_a_late_handler_hears_of_what_is_there(server: FakeApiServer) -> None:
    server.create(_config("a"))
    async with _running(server) as (informer, _, clock):
        await clock.settle()
        late = Ledger()
        late.attach(informer)
        assert late.told == [("add", "a")]


async def test_indexes_follow_the_objects(server: FakeApiServer) -> None:
    server.create(_config("a1", namespace="x"))
    server.create(_config("a2", namespace="y"))
    async with _running(server) as (informer, _, clock):
        informer.add_index("data", lambda obj: obj.data)
        await clock.settle()
        server.patch(core.ConfigMap, "a1", {"data": {"k": "1"}}, "x")
        server.patch(core.ConfigMap, "a2", {"data": {"k": "1", "l": "2"}}, "y")
        await clock.settle()
        assert {obj.metadata.name for obj in informer.by_index("data", "k")} == {"a1", "a2"}
        server.patch(core.ConfigMap, "a1", {"data": {"k": None}}, "x")
        server.delete(core.ConfigMap, "a2", "y")
        await clock.settle()
        assert informer.by_index("data", "k") == []
        assert informer.by_index("data", "l") == []
        assert [obj.metadata.name for obj in informer.list("x")] == ["a1"]
        assert informer.list("y") == []
        assert informer.list(selector=parse_label_selector("app=b")) == []
        with pytest.raises(ValueError, match="exists already"):
            informer.add_index("data", lambda obj: obj.data)


async def test_objects_are_trimmed_before_they_are_kept(server: FakeApiServer) -> None:
    def trim(obj: core.ConfigMap) -> core.ConfigMap:
        obj.data = {}
        return obj

    server.create(_config("a", big="x" * 1000))
    informer = Informer(server.client(), core.ConfigMap, clock=server.clock, transform=trim)
    gone: list[core.ConfigMap] = []
    informer.add_handler(on_delete=gone.append)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await informer.synced()
        found = informer.get("default", "a")
        assert found is not None
        assert found.data == {}
        server.delete(core.ConfigMap, "a", "default")
        await server.clock.sleep(1)
        task.cancel()
    assert [obj.data for obj in gone] == [{}]


async def test_a_factory_shares_informers_and_starts_late_ones(server: FakeApiServer) -> None:
    server.create(_config("a"))
    factory = InformerFactory(server.client(), clock=server.clock)
    early = factory.informer(core.ConfigMap)
    assert factory.informer(core.ConfigMap) is early
    async with asyncio.TaskGroup() as group:
        task = group.create_task(factory.run())
        await factory.synced()
        late = factory.informer(core.ConfigMap, "default", label_selector="app=a")
        assert late is not early
        await factory.synced()
        assert len(early) == len(late) == 1
        task.cancel()


_STEP = st.one_of(
    st.tuples(st.just("create"), st.integers(0, 4)),
    st.tuples(st.just("change"), st.integers(0, 4)),
    st.tuples(st.just("delete"), st.integers(0, 4)),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 40])),
    st.tuples(st.sampled_from(["drop", "compact", "offline", "online"]), st.just(0)),
    st.tuples(st.sampled_from(["fail-list", "fail-watch", "expire-watch", "slow"]), st.integers(1, 3)),
    st.tuples(st.just("stale"), st.integers(0, 3)),
)


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(_STEP, max_size=40), history=st.sampled_from([2, 5, 1000]))
def test_the_cache_converges_and_every_deletion_is_seen(steps: list[tuple[str, int]], history: int) -> None:
    async def play() -> None:
        server = FakeApiServer(clock=FakeClock(), history=history)
        async with _running(server) as (informer, ledger, clock):
            uids_seen: set[str] = set()
            for verb, number in steps:
                await _step(server, clock, verb, number)
                uids_seen |= set(ledger.alive)
            server.faults.clear()
            await clock.sleep(700)
            truth = {item.metadata.name: item for item in server.list(core.ConfigMap).items}
            assert {obj.metadata.name: obj for obj in informer.list()} == truth
            assert {obj.metadata.uid for obj in truth.values()} == set(ledger.alive)
            assert uids_seen - set(ledger.alive) <= ledger.ended

    asyncio.run(play())


async def _step(server: FakeApiServer, clock: FakeClock, verb: str, number: int) -> None:
    name = f"c{number}"
    present = name in {item.metadata.name for item in server.list(core.ConfigMap).items}
    if verb == "create" and not present:
        server.create(_config(name))
    elif verb == "change" and present:
        server.patch(core.ConfigMap, name, {"data": {"v": str(server.revision)}}, "default")
    elif verb == "delete" and present:
        server.delete(core.ConfigMap, name, "default")
    elif verb == "wait":
        await (clock.sleep(number) if number else clock.settle())
    elif verb == "drop":
        server.faults.drop_watches()
    elif verb == "compact":
        server.compact()
    elif verb in ("offline", "online"):
        server.faults.offline = verb == "offline"
    elif verb == "fail-list":
        server.faults.fail(errors.internal("boom"), verb="list", times=number)
    elif verb == "fail-watch":
        server.faults.fail(Unreachable("connection reset by peer"), verb="watch", times=number)
    elif verb == "expire-watch":
        server.faults.fail(errors.expired("too old resource version"), verb="watch", times=number)
    elif verb == "slow":
        server.faults.delay(float(number), verb="list", times=number)
    elif verb == "stale":
        server.faults.serve_stale_lists("configmaps", number)
