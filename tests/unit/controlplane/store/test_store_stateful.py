"""The embedded store against the plain one, over any course of events, restarts included."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from controlplane.store.errors import Compacted, Conflict, FutureRevision
from controlplane.store.interface import Change, Store
from controlplane.store.memory import MemoryStore
from controlplane.store.sqlite import SqliteStore, open_store

KEYS = st.sampled_from(["/a/1", "/a/2", "/a/2/x", "/a-b/1", "/b/1", "/ä/1"])
PREFIXES = st.sampled_from(["", "/a/", "/a", "/b/", "/none/"])
VALUES = st.none() | st.binary(max_size=8)
# Conditions and revisions are drawn relative to what is there, so that they hit and miss.
AGES = st.integers(min_value=-1, max_value=8)


class Comparison(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "state.db"
        self.model = MemoryStore()
        self.store: SqliteStore
        self.seen: list[Change] = []

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()

    @initialize()
    def open(self) -> None:
        async def opening() -> SqliteStore:
            return await open_store(self.path)

        self.store = self.runner.run(opening())
        self.store.subscribe(self.seen.extend)

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.store.close())
        self.open()

    @rule(key=KEYS, value=VALUES, age=st.none() | AGES)
    def write(self, key: str, value: bytes | None, age: int | None) -> None:
        expect = None if age is None else max(0, self.model.revision - age)
        self.compare(lambda store: store.write(key, value, expect=expect))

    @rule(key=KEYS, value=VALUES)
    def write_on_current(self, key: str, value: bytes | None) -> None:
        record = self.runner.run(self.model.get(key))
        self.compare(lambda store: store.write(key, value, expect=record.mod_revision if record else 0))

    @rule(writes=st.lists(st.tuples(KEYS, VALUES, st.sampled_from([None, 0])), min_size=2, max_size=12))
    def write_together(self, writes: list[tuple[str, bytes | None, int | None]]) -> None:
        async def together(store: Store) -> list[Any]:
            calls = (store.write(key, value, expect=expect) for key, value, expect in writes)
            answers = await asyncio.gather(*calls, return_exceptions=True)
            return [described(answer) if isinstance(answer, Exception) else answer for answer in answers]

        self.compare(together)

    @rule(key=KEYS, age=AGES)
    def get(self, key: str, age: int) -> None:
        revision = max(0, self.model.revision - age)
        self.compare(lambda store: store.get(key, revision=revision))

    @rule(prefix=PREFIXES, after=KEYS | st.just(""), limit=st.integers(0, 3), age=AGES)
    def list(self, prefix: str, after: str, limit: int, age: int) -> None:
        revision = max(0, self.model.revision - age)
        self.compare(lambda store: store.list(prefix, after=after, limit=limit, revision=revision))

    @rule(prefix=PREFIXES, age=AGES)
    def follow(self, prefix: str, age: int) -> None:
        after = max(0, self.model.revision - age)

        async def read(store: Store) -> list[Change]:
            log: Any = store
            watch = store.watch(prefix, after=after)
            watch.close()
            return list((await log.read_changes(prefix, after, store.revision))[0])

        self.compare(read)

    @rule(age=AGES)
    def compact(self, age: int) -> None:
        revision = max(0, self.model.revision - age)
        self.compare(lambda store: store.compact(revision))

    @invariant()
    def stand_at_the_same_point(self) -> None:
        if hasattr(self, "store"):
            assert self.store.revision == self.model.revision
            assert self.store.compacted == self.model.compacted
            assert [change.revision for change in self.seen] == list(range(2, self.model.revision + 1))

    def compare(self, call: Callable[[Store], Awaitable[Any]]) -> None:
        async def answer(store: Store) -> Any:
            try:
                return await call(store)
            except (Conflict, Compacted, FutureRevision) as error:
                return described(error)

        assert self.runner.run(answer(self.store)) == self.runner.run(answer(self.model))


def described(error: BaseException) -> tuple[str, object]:
    return type(error).__name__, getattr(error, "current", None)


Comparison.TestCase.settings = settings(
    max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestEmbeddedStoreEqualsThePlainOne = Comparison.TestCase
