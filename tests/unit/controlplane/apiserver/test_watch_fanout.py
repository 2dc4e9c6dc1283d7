"""The fan-out of changes to watchers: who sees what, encoded how often, and that slow clients hold up nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.clock import FakeClock
from controlplane.apiserver.cache import Cache, Caches
from controlplane.apiserver.caching.encoding import PLAIN, PlainEvents
from controlplane.apiserver.caching.entries import EVERYTHING, Entry, Selection, Shape
from controlplane.apiserver.caching.history import History, TooOld
from controlplane.apiserver.watching import DRAIN_DEADLINE, HIGH_WATER, End, Fanout, Watcher
from controlplane.store.memory import MemoryStore

SHAPE = Shape("/registry/configmaps/", True, "v1", "ConfigMap", json.loads)


class Colour:
    """A selector on the label `colour`."""

    def __init__(self, colour: str) -> None:
        self.colour = colour

    def matches(self, values: Any, /) -> bool:
        return bool(values.get("colour") == self.colour)


class Client:
    """A connection whose other end may stop reading."""

    def __init__(self) -> None:
        self.received = b""
        self.waiting = b""
        self.reading = True
        self.gone = False
        self.writes = 0
        self._room: asyncio.Event = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.writes += 1
        if self.reading:
            self.received += data
        else:
            self.waiting += data

    def buffered(self) -> int:
        return len(self.waiting)

    async def drain(self) -> None:
        while self.waiting and not self.gone:
            self._room.clear()
            await self._room.wait()
        if self.gone:
            raise ConnectionResetError("gone")

    def resume(self) -> None:
        self.reading = True
        self.received, self.waiting = self.received + self.waiting, b""
        self._room.set()

    def leave(self) -> None:
        self.gone = True
        self._room.set()

    def events(self) -> list[dict[str, Any]]:
        """What came, out of its chunks."""
        found, rest = [], self.received
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            line, rest = rest[: int(size, 16)], rest[int(size, 16) :]
            assert rest.startswith(b"\r\n")
            rest = rest[2:]
            found.append(json.loads(line))
        return found

    def brief(self) -> list[str]:
        """Events in short: type, name, revision."""
        return [
            f"{event['type']} {event['object']['metadata'].get('name', '')} "
            f"{event['object']['metadata']['resourceVersion']}"
            for event in self.events()
        ]


class World:
    """A store, a cache of config maps, and their fan-out on a clock of its own."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = FakeClock(autojump=False)
        self.cache: Cache
        self.fanout: Fanout

    async def start(self, history: History | None = None) -> World:
        caches = Caches(self.store)
        self.cache = caches.declare(SHAPE, history)
        await caches.start()
        self.fanout = Fanout(self.cache, self.clock, jitter=lambda: 0.0)
        return self

    async def put(self, name: str, colour: str = "red", *, namespace: str = "default", size: int = 0) -> int:
        metadata = {"name": name, "namespace": namespace, "labels": {"colour": colour}}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "x" * size}}
        value = json.dumps(document, separators=(",", ":")).encode()
        return await self.store.write(SHAPE.key(namespace, name), value, expect=None)

    async def delete(self, name: str, namespace: str = "default") -> int:
        return await self.store.write(SHAPE.key(namespace, name), None, expect=None)

    def watcher(self, client: Client, selection: Selection = EVERYTHING, **options: Any) -> Watcher:
        return Watcher(self.fanout, client, selection, options.pop("encoding", PLAIN), **options)


@pytest.fixture
async def world() -> World:
    return await World().start()


class Watching:
    """A watch that runs for the time of a block."""

    def __init__(self, watcher: Watcher, timeout: float = 3600.0) -> None:
        self.task = asyncio.ensure_future(watcher.run(timeout))

    async def __aenter__(self) -> Watching:
        await settle()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_changes_come_as_they_happen(world: World) -> None:
    client = Client()
    async with Watching(world.watcher(client)):
        await world.put("a")
        await world.put("a", "blue")
        await world.delete("a")
        await settle()
    assert client.brief() == ["ADDED a 2", "MODIFIED a 3", "DELETED a 4"]
    assert client.events()[2]["object"]["metadata"]["labels"] == {"colour": "blue"}


async def test_an_object_that_leaves_the_selector_is_shown_deleted_in_its_last_state_within(world: World) -> None:
    client = Client()
    async with Watching(world.watcher(client, Selection(labels=Colour("red")))):
        await world.put("a", "blue")
        await world.put("a", "red")
        await world.put("a", "red")
        await world.put("a", "blue")
        await world.put("a", "green")
        await world.delete("a")
        await settle()
    assert client.brief() == ["ADDED a 3", "MODIFIED a 4", "DELETED a 5"]
    assert client.events()[2]["object"]["metadata"]["labels"] == {"colour": "red"}


async def test_only_the_selected_namespace_and_name(world: World) -> None:
    by_namespace, by_name = Client(), Client()
    async with (
        Watching(world.watcher(by_namespace, Selection(namespace="work"))),
        Watching(world.watcher(by_name, Selection(namespace="work", name="b"))),
    ):
        await world.put("a")
        await world.put("a", namespace="work")
        await world.put("b", namespace="work")
        await settle()
    assert by_namespace.brief() == ["ADDED a 3", "ADDED b 4"]
    assert by_name.brief() == ["ADDED b 4"]


async def test_each_change_is_encoded_once_for_all(world: World) -> None:
    class Counting(PlainEvents):
        calls = 0

        def event(self, kind: str, entry: Entry) -> bytes:
            self.calls += 1
            return super().event(kind, entry)

    encoding = Counting()
    clients = [Client() for _ in range(300)]
    running = [Watching(world.watcher(client, encoding=encoding)) for client in clients]
    selective = Client()
    running.append(Watching(world.watcher(selective, Selection(labels=Colour("red")), encoding=encoding)))
    await settle()
    assert len(world.fanout) == 301
    for number in range(5):
        await world.put(f"n{number}")
        await settle()
    assert encoding.calls == 5
    assert {client.received for client in clients} == {selective.received}
    assert len(selective.events()) == 5
    for watching in running:
        await watching.__aexit__()


async def test_changes_of_one_turn_go_out_in_one_write(world: World) -> None:
    client = Client()
    async with Watching(world.watcher(client)):
        for number in range(10):
            await world.put(f"n{number}")
        await settle()
        assert len(client.events()) == 10
        assert client.writes == 1


class TestBeginnings:
    async def test_after_an_older_revision_what_happened_since_comes_first(self, world: World) -> None:
        revision = await world.put("a")
        await world.put("b")
        client = Client()
        watcher = world.watcher(client)
        watcher.start_after(revision)
        async with Watching(watcher):
            await world.put("c")
            await settle()
        assert client.brief() == ["ADDED b 3", "ADDED c 4"]

    async def test_a_revision_that_is_too_old_is_refused_in_upstreams_words(self) -> None:
        world = await World().start(History(max_events=3))
        for number in range(10):
            await world.put(f"n{number}")
        with pytest.raises(TooOld, match=r"^too old resource version: 7 \(8\)$"):
            world.watcher(Client()).start_after(7)
        world.watcher(Client()).start_after(8)

    async def test_a_future_revision_shows_only_what_comes_after_it(self, world: World) -> None:
        client = Client()
        watcher = world.watcher(client)
        watcher.start_after(3)
        async with Watching(watcher):
            for name in "abcd":
                await world.put(name)
                await settle()
        assert client.brief() == ["ADDED c 4", "ADDED d 5"]

    async def test_everything_first_then_the_mark_then_changes(self, world: World) -> None:
        await world.put("b")
        await world.put("a")
        await world.put("c", "blue")
        client = Client()
        watcher = world.watcher(client, Selection(labels=Colour("red")), bookmarks=True)
        watcher.start_with_all(mark_end=True)
        await world.put("late")
        async with Watching(watcher):
            await world.put("later")
            await settle()
        assert client.brief() == ["ADDED a 3", "ADDED b 2", "BOOKMARK  4", "ADDED late 5", "ADDED later 6"]
        assert client.events()[2]["object"] == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "4", "annotations": {"k8s.io/initial-events-end": "true"}},
        }

    async def test_a_long_beginning_waits_for_its_client(self, world: World) -> None:
        for number in range(50):
            await world.put(f"n{number:02}", size=30_000)
        client = Client()
        client.reading = False
        watcher = world.watcher(client)
        watcher.start_with_all()
        async with Watching(watcher):
            assert HIGH_WATER < len(client.waiting) < 2 * HIGH_WATER
            await world.put("late")
            for _ in range(20):
                client.resume()
                client.reading = False
                await settle()
            client.resume()
        assert len(client.events()) == 51
        assert client.events()[50]["object"]["metadata"]["name"] == "late"


class TestSlowClients:
    async def test_they_leave_the_pass_and_miss_nothing_when_they_come_back(self, world: World) -> None:
        slow, quick = Client(), Client()
        async with Watching(world.watcher(slow)), Watching(world.watcher(quick)):
            slow.reading = False
            for number in range(20):
                await world.put(f"n{number}", size=50_000)
                await settle()
            assert len(quick.events()) == 20
            assert len(world.fanout) == 1
            assert len(slow.waiting) < HIGH_WATER + 60_000
            slow.resume()
            await settle()
            assert len(world.fanout) == 2
            assert slow.received == quick.received
            await world.put("after")
            await settle()
            assert slow.received == quick.received

    async def test_they_are_cut_when_history_has_moved_on(self) -> None:
        world = await World().start(History(max_events=10))
        slow = Client()
        async with Watching(world.watcher(slow)) as watching:
            slow.reading = False
            for number in range(40):
                await world.put(f"n{number}", size=50_000)
                await settle()
            slow.resume()
            assert await watching.task is End.SLOW

    async def test_they_are_cut_when_they_take_nothing_for_long(self, world: World) -> None:
        dead = Client()
        async with Watching(world.watcher(dead)) as watching:
            dead.reading = False
            await world.put("big", size=2 * HIGH_WATER)
            await settle()
            await world.clock.advance(DRAIN_DEADLINE - 1)
            assert not watching.task.done()
            await world.clock.advance(2)
            assert await watching.task is End.SLOW

    async def test_an_event_that_cannot_be_encoded_for_one_ends_that_one(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(PlainEvents):
            def event(self, kind: str, entry: Entry) -> bytes:
                raise ValueError("no such column")

        broken, sound = Client(), Client()
        async with Watching(world.watcher(broken, encoding=Broken())) as failing, Watching(world.watcher(sound)):
            await world.put("a")
            await settle()
            assert await failing.task is End.FAILED
            await world.put("b")
            await settle()
        assert sound.brief() == ["ADDED a 2", "ADDED b 3"]
        assert "no such column" in caplog.text

    async def test_a_big_pass_lets_others_have_a_turn(self, world: World) -> None:
        clients = [Client() for _ in range(400)]
        running = [Watching(world.watcher(client)) for client in clients]
        await settle()
        await world.put("a")
        await asyncio.sleep(0)
        served = sum(1 for client in clients if client.received)
        assert 0 < served < 400
        await settle()
        assert all(client.received for client in clients)
        for watching in running:
            await watching.__aexit__()


class TestEndings:
    async def test_at_its_deadline_with_a_last_bookmark(self, world: World) -> None:
        client = Client()
        async with Watching(world.watcher(client, bookmarks=True), timeout=10.0) as watching:
            await world.put("a")
            await world.clock.advance(10)
            assert await watching.task is End.TIMEOUT
        assert client.brief() == ["ADDED a 2", "BOOKMARK  2"]

    async def test_when_the_client_leaves_while_it_is_slow(self, world: World) -> None:
        client = Client()
        async with Watching(world.watcher(client)) as watching:
            client.reading = False
            await world.put("big", size=2 * HIGH_WATER)
            await settle()
            client.leave()
            assert await watching.task is End.GONE

    @pytest.mark.parametrize("state", ["live", "slow"])
    async def test_when_it_is_stopped(self, world: World, state: str) -> None:
        client = Client()
        watcher = world.watcher(client)
        async with Watching(watcher) as watching:
            if state == "slow":
                client.reading = False
                await world.put("big", size=2 * HIGH_WATER)
                await settle()
            watcher.stop(End.GONE)
            client.resume()
            assert await watching.task is End.GONE

    async def test_when_the_server_stops(self, world: World) -> None:
        async with Watching(world.watcher(Client())) as one, Watching(world.watcher(Client())) as other:
            world.fanout.close()
            assert {await one.task, await other.task} == {End.CLOSED}
        assert len(world.fanout) == 0

    async def test_nothing_is_left_behind_by_a_cancelled_one(self, world: World) -> None:
        async with Watching(world.watcher(Client(), bookmarks=True)):
            assert len(world.fanout) == 1
        assert len(world.fanout) == 0
        await world.clock.advance(600)


class TestBookmarks:
    async def test_they_come_every_minute_with_the_newest_revision_of_anything(self, world: World) -> None:
        client = Client()
        async with Watching(world.watcher(client, bookmarks=True)):
            await world.put("a")
            await world.store.write("/registry/other/x", b"", expect=0)
            await world.clock.advance(60)
            await world.clock.advance(60)
        assert client.brief() == ["ADDED a 2", "BOOKMARK  3", "BOOKMARK  3"]

    async def test_they_come_only_to_those_who_asked(self, world: World) -> None:
        client = Client()
        async with Watching(world.watcher(client)):
            await world.clock.advance(300)
        assert client.received == b""

    async def test_a_client_that_lags_is_not_told_it_has_come_further_than_it_has(self, world: World) -> None:
        client = Client()
        async with Watching(world.watcher(client, bookmarks=True)):
            await world.clock.advance(50)
            client.reading = False
            await world.put("big", size=2 * HIGH_WATER)
            await settle()
            await world.put("next")
            await world.clock.advance(15)
            client.resume()
            await settle()
        assert client.brief() == ["ADDED big 2", "ADDED next 3"]


steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "delete", "stall", "resume", "settle"]),
        st.sampled_from("abc"),
        st.sampled_from(["red", "blue"]),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(steps, st.integers(0, 20))
def test_events_rebuild_what_a_list_would_show(course: list[tuple[str, str, str]], begin: int) -> None:
    """Whatever happens and however the client stalls: applying the events in order gives the selected objects."""

    async def run() -> None:
        world = await World().start()
        selection = Selection(labels=Colour("red"))
        client = Client()
        watching: Watching | None = None
        actions: dict[str, Callable[[str, str], Awaitable[object]]] = {
            "put": lambda name, colour: world.put(name, colour, size=HIGH_WATER // 3),
            "delete": lambda name, _: world.delete(name),
        }
        for number, (action, name, colour) in enumerate([*course, *[("settle", "", "")] * (begin + 1)]):
            if number == begin:
                watcher = world.watcher(client, selection)
                watcher.start_with_all()
                watching = Watching(watcher)
            if action in actions:
                await actions[action](name, colour)
            elif action == "stall":
                client.reading = False
            elif action == "resume":
                client.resume()
            else:
                await settle()
        assert watching is not None
        client.resume()
        await settle()
        await watching.__aexit__()
        seen: dict[str, Any] = {}
        newest = 0
        for event in client.events():
            name = event["object"]["metadata"]["name"]
            match event["type"]:
                case "ADDED":
                    assert name not in seen
                    seen[name] = event["object"]
                case "MODIFIED":
                    assert name in seen
                    seen[name] = event["object"]
                case "DELETED":
                    del seen[name]
            newest = max(newest, int(event["object"]["metadata"]["resourceVersion"]))
        assert seen == {entry.name: json.loads(entry.raw) for entry in world.cache.list(selection).entries}

    asyncio.run(run())
