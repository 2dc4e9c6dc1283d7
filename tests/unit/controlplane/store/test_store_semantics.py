"""What every engine of the store must do alike: revisions, conditions, history, watches, compaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from controlplane.store.errors import Compacted, Conflict, FutureRevision, StoreClosed
from controlplane.store.interface import Change, Record, Store
from controlplane.store.keys import prefix_end
from controlplane.store.memory import MemoryStore
from controlplane.store.sqlite import open_store


async def _open(engine: str, folder: Path) -> Store:
    return MemoryStore() if engine == "memory" else await open_store(folder / "state.db")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await _open(request.param, tmp_path)
    yield opened
    await opened.close()


async def read(store: Store, prefix: str, after: int, count: int) -> list[Change]:
    """The next `count` changes."""
    found: list[Change] = []
    watch = store.watch(prefix, after=after)
    try:
        async with asyncio.timeout(10):
            while len(found) < count:
                found += await anext(watch)
    finally:
        watch.close()
    return found


class TestWriting:
    async def test_an_empty_store_is_at_revision_one_and_each_change_takes_the_next(self, store: Store) -> None:
        assert store.revision == 1
        assert await store.write("/a", b"1", expect=0) == 2
        assert await store.write("/b", b"2", expect=None) == 3
        assert await store.write("/a", b"3", expect=2) == 4
        assert store.revision == 4
        assert await store.get("/a") == Record("/a", b"3", 2, 4)

    async def test_a_stale_condition_conflicts_and_shows_what_is_there(self, store: Store) -> None:
        await store.write("/a", b"1", expect=0)
        await store.write("/a", b"2", expect=2)
        for expected in (0, 2, 9):
            with pytest.raises(Conflict) as caught:
                await store.write("/a", b"x", expect=expected)
            assert caught.value.current == Record("/a", b"2", 2, 3)
        with pytest.raises(Conflict) as absent:
            await store.write("/b", b"x", expect=3)
        assert absent.value.current is None
        assert store.revision == 3

    async def test_deletion_takes_a_revision_and_ends_the_life_of_the_key(self, store: Store) -> None:
        await store.write("/a", b"1", expect=0)
        with pytest.raises(Conflict):
            await store.write("/a", None, expect=7)
        assert await store.write("/a", None, expect=2) == 3
        assert await store.get("/a") is None
        assert await store.write("/a", b"again", expect=0) == 4
        assert await store.get("/a") == Record("/a", b"again", 4, 4)

    async def test_deleting_what_is_absent_changes_nothing(self, store: Store) -> None:
        await store.write("/a", b"1", expect=0)
        assert await store.write("/b", None, expect=None) == 2
        assert await store.write("/b", None, expect=0) == 2
        with pytest.raises(Conflict):
            await store.write("/b", None, expect=2)
        assert store.revision == 2

    async def test_of_writers_that_race_for_a_key_one_wins(self, store: Store) -> None:
        tries = (store.write("/a", str(n).encode(), expect=0) for n in range(20))
        answers = await asyncio.gather(*tries, return_exceptions=True)
        won = [answer for answer in answers if isinstance(answer, int)]
        lost = [answer for answer in answers if isinstance(answer, Conflict)]
        assert won == [2]
        assert len(lost) == 19
        winner = answers.index(2)
        assert all(conflict.current == Record("/a", str(winner).encode(), 2, 2) for conflict in lost)

    async def test_values_are_any_bytes(self, store: Store) -> None:
        values = [b"", b"\0" * 10, bytes(range(256)) * 5000]
        for position, value in enumerate(values):
            await store.write(f"/v/{position}", value, expect=0)
        assert [record.value for record in (await store.list("/v/")).records] == values


class TestListing:
    async def test_keys_come_in_order_and_only_those_under_the_prefix(self, store: Store) -> None:
        keys = ["/p/a-b/x", "/p/a/y", "/p/a/x", "/p/ä/x", "/p", "/pq/a", "/o/z", "/p/"]
        for key in keys:
            await store.write(key, key.encode(), expect=0)
        page = await store.list("/p/")
        assert [record.key for record in page.records] == ["/p/", "/p/a-b/x", "/p/a/x", "/p/a/y", "/p/ä/x"]
        assert page.revision == store.revision
        assert page.remaining == 0
        assert len((await store.list("")).records) == len(keys)

    async def test_pages_join_to_the_whole(self, store: Store) -> None:
        for number in range(10):
            await store.write(f"/p/{number}", b"", expect=0)
        await store.write("/p/4", None, expect=None)
        seen, after, remaining = [], "", []
        while True:
            page = await store.list("/p/", after=after, limit=4)
            seen += [record.key for record in page.records]
            remaining.append(page.remaining)
            if not page.remaining:
                break
            after = seen[-1]
        assert seen == [f"/p/{number}" for number in range(10) if number != 4]
        assert remaining == [5, 1, 0]

    async def test_a_limit_that_is_just_met_leaves_nothing_remaining(self, store: Store) -> None:
        for number in range(3):
            await store.write(f"/p/{number}", b"", expect=0)
        page = await store.list("/p/", limit=3)
        assert (len(page.records), page.remaining) == (3, 0)

    async def test_after_outside_of_the_prefix(self, store: Store) -> None:
        await store.write("/p/a", b"", expect=0)
        assert len((await store.list("/p/", after="/a")).records) == 1
        assert (await store.list("/p/", after="/z")).records == []


class TestHistory:
    async def test_the_past_can_be_read_as_it_was(self, store: Store) -> None:
        await store.write("/p/a", b"a1", expect=0)
        await store.write("/p/b", b"b1", expect=0)
        await store.write("/p/a", b"a2", expect=None)
        await store.write("/p/b", None, expect=None)
        await store.write("/p/c", b"c1", expect=0)
        states = {
            2: {"/p/a": b"a1"},
            3: {"/p/a": b"a1", "/p/b": b"b1"},
            4: {"/p/a": b"a2", "/p/b": b"b1"},
            5: {"/p/a": b"a2"},
            6: {"/p/a": b"a2", "/p/c": b"c1"},
        }
        for revision, state in states.items():
            page = await store.list("/p/", revision=revision)
            assert {record.key: record.value for record in page.records} == state
            assert page.revision == revision
            for key in ("/p/a", "/p/b", "/p/c"):
                record = await store.get(key, revision=revision)
                assert (record.value if record else None) == state.get(key)
        paged = await store.list("/p/", revision=3, limit=1)
        assert [record.key for record in paged.records] == ["/p/a"]
        assert paged.remaining == 1

    async def test_the_future_cannot(self, store: Store) -> None:
        with pytest.raises(FutureRevision):
            await store.get("/a", revision=2)
        with pytest.raises(FutureRevision):
            await store.list("/", revision=99)
        with pytest.raises(FutureRevision):
            await store.compact(2)


class TestCompaction:
    async def test_what_is_needed_from_there_on_stays(self, store: Store) -> None:
        await store.write("/p/a", b"a1", expect=0)
        await store.write("/p/a", b"a2", expect=None)
        await store.write("/p/b", b"b1", expect=0)
        await store.write("/p/b", None, expect=None)
        await store.write("/p/a", b"a3", expect=None)
        await store.write("/p/c", b"c1", expect=0)
        await store.compact(5)
        assert store.compacted == 5
        assert [record.value for record in (await store.list("/p/", revision=5)).records] == [b"a2"]
        assert [record.value for record in (await store.list("/p/")).records] == [b"a3", b"c1"]
        for revision in (1, 4):
            with pytest.raises(Compacted):
                await store.get("/p/a", revision=revision)
            with pytest.raises(Compacted):
                await store.list("/p/", revision=revision)
        with pytest.raises(Compacted):
            store.watch("/p/", after=4)
        assert [change.value for change in await read(store, "/p/", 5, 2)] == [b"a3", b"c1"]

    async def test_conflicts_show_records_older_than_the_compaction(self, store: Store) -> None:
        await store.write("/old", b"1", expect=0)
        await store.write("/other", b"", expect=0)
        await store.compact(3)
        with pytest.raises(Conflict) as caught:
            await store.write("/old", b"2", expect=0)
        assert caught.value.current == Record("/old", b"1", 2, 2)

    async def test_an_older_compaction_is_a_no_op(self, store: Store) -> None:
        for _ in range(5):
            await store.write("/a", b"", expect=None)
        await store.compact(5)
        await store.compact(3)
        assert store.compacted == 5

    async def test_revisions_go_on_after_everything_was_compacted_away(self, store: Store) -> None:
        await store.write("/a", b"1", expect=0)
        await store.write("/a", None, expect=None)
        await store.compact(3)
        assert store.revision == 3
        assert (await store.list("")).records == []
        assert await store.write("/a", b"2", expect=0) == 4

    async def test_many_generations_of_few_keys(self, store: Store) -> None:
        for number in range(300):
            await store.write(f"/k/{number % 3}", None if number % 7 == 6 else str(number).encode(), expect=None)
        now = await store.list("/k/")
        middle = store.revision // 2
        then = await store.list("/k/", revision=middle)
        await store.compact(middle)
        assert (await store.list("/k/", revision=middle)).records == then.records
        await store.compact(store.revision)
        assert (await store.list("/k/")).records == now.records


class TestWatching:
    async def test_changes_come_in_order_from_the_past_into_the_present(self, store: Store) -> None:
        await store.write("/p/a", b"1", expect=0)
        await store.write("/q/a", b"x", expect=0)
        await store.write("/p/a", b"2", expect=None)
        watch = store.watch("/p/", after=2)
        assert await anext(watch) == [Change("/p/a", b"2", 2, 2, 4)]
        await store.write("/q/a", b"y", expect=None)
        await store.write("/p/a", None, expect=None)
        await store.write("/p/a", b"3", expect=0)
        found: list[Change] = []
        while len(found) < 2:
            found += await anext(watch)
        assert found == [Change("/p/a", None, 2, 4, 6), Change("/p/a", b"3", 7, 0, 7)]

    async def test_a_waiting_watch_wakes(self, store: Store) -> None:
        watch = store.watch("/p/", after=store.revision)
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        await store.write("/q/a", b"", expect=0)
        await store.write("/p/a", b"", expect=0)
        async with asyncio.timeout(10):
            assert [change.key for change in await waiting] == ["/p/a"]

    async def test_a_watch_of_the_future_skips_what_comes_before(self, store: Store) -> None:
        watch = store.watch("/", after=3)
        for number in range(4):
            await store.write(f"/{number}", b"", expect=0)
        async with asyncio.timeout(10):
            found = await anext(watch)
            while len(found) < 2:
                found += await anext(watch)
        assert [change.revision for change in found] == [4, 5]

    async def test_a_reader_that_compaction_overtakes_is_told(self, store: Store) -> None:
        await store.write("/a", b"", expect=0)
        watch = store.watch("/", after=1)
        await store.write("/a", b"", expect=None)
        await store.compact(3)
        with pytest.raises(Compacted):
            await anext(watch)

    async def test_closing_ends_a_watch(self, store: Store) -> None:
        for close in ("watch", "store"):
            watch = store.watch("/", after=store.revision)
            waiting = asyncio.ensure_future(anext(watch, None))
            await asyncio.sleep(0)
            if close == "watch":
                watch.close()
            else:
                await store.close()
            async with asyncio.timeout(10):
                assert await waiting is None

    async def test_a_long_past_is_read_in_batches(self, store: Store) -> None:
        for start in range(0, 2500, 100):
            await asyncio.gather(*(store.write(f"/p/{n}", b"", expect=0) for n in range(start, start + 100)))
        changes = await read(store, "/p/", 1, 2500)
        assert [change.revision for change in changes] == list(range(2, 2502))


class TestListeners:
    async def test_a_listener_has_a_change_before_the_writer_has_its_answer(self, store: Store) -> None:
        copy: dict[str, bytes | None] = {}

        def listener(changes: list[Change]) -> None:
            copy.update((change.key, change.value) for change in changes)

        unsubscribe = store.subscribe(listener)

        async def write(key: str) -> None:
            await store.write(key, key.encode(), expect=0)
            assert copy[key] == key.encode()

        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(write(f"/{number}"))
        unsubscribe()
        await store.write("/late", b"", expect=0)
        assert "/late" not in copy

    async def test_one_that_fails_harms_neither_the_writer_nor_other_listeners(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_: list[Change]) -> None:
            raise ZeroDivisionError("a bug")

        seen: list[Change] = []
        store.subscribe(fail)
        store.subscribe(seen.extend)
        assert await store.write("/a", b"", expect=0) == 2
        assert [change.key for change in seen] == ["/a"]
        assert "a bug" in caplog.text

    async def test_listeners_see_every_change_once_in_order(self, store: Store) -> None:
        seen: list[int] = []
        store.subscribe(lambda changes: seen.extend(change.revision for change in changes))
        writes = (store.write(f"/{n % 7}", str(n).encode(), expect=None) for n in range(200))
        answers = await asyncio.gather(*writes)
        assert seen == list(range(2, 202))
        assert sorted(answers) == seen


class TestClosing:
    async def test_a_closed_store_refuses(self, store: Store) -> None:
        await store.write("/a", b"", expect=0)
        await store.close()
        await store.close()
        with pytest.raises(StoreClosed):
            await store.write("/a", b"", expect=None)
        with pytest.raises(StoreClosed):
            await store.get("/a")
        with pytest.raises(StoreClosed):
            await store.list("/")
        with pytest.raises(StoreClosed):
            store.watch("/", after=1)
        with pytest.raises(StoreClosed):
            await store.compact(2)

    async def test_writes_that_wait_are_finished_first(self, store: Store) -> None:
        async with asyncio.TaskGroup() as group:
            writes = [group.create_task(store.write(f"/{n}", b"", expect=0)) for n in range(50)]
            await asyncio.sleep(0)
            await store.close()
        assert sorted(write.result() for write in writes) == list(range(2, 52))


async def test_cancelled_writers_do_not_hold_up_others(store: Store) -> None:
    gone = [asyncio.ensure_future(store.write(f"/gone/{n}", b"", expect=0)) for n in range(10)]
    await asyncio.sleep(0)
    for each in gone:
        each.cancel()
    revision = await store.write("/kept", b"", expect=0)
    assert store.revision == revision
    assert await store.get("/kept") is not None


@pytest.mark.parametrize(
    ("prefix", "end"),
    [("/a/", "/a0"), ("", ""), ("\U0010ffff", ""), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000")],
)
def test_the_end_of_a_prefix(prefix: str, end: str) -> None:
    assert prefix_end(prefix) == end


async def test_watches_are_plain_async_iterators(store: Store) -> None:
    async def follow() -> AsyncGenerator[Change, None]:
        async for batch in store.watch("/", after=1):
            for change in batch:
                yield change

    await store.write("/a", b"", expect=0)
    async with aclosing(follow()) as changes:
        assert (await anext(changes)).key == "/a"
