"""Gets and lists from the cache: order, pages, selectors, the past, and agreement with the store."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.selectors import parse_label_selector
from controlplane.apiserver.cache import Cache, Caches
from controlplane.apiserver.caching.continuation import InvalidContinue, decode_continue, encode_continue
from controlplane.apiserver.caching.encoding import list_body
from controlplane.apiserver.caching.entries import EVERYTHING, DecodedObjects, Entry, Selection, Shape
from controlplane.apiserver.caching.history import Event, History, TooOld
from controlplane.apiserver.caching.ordering import OrderedEntries
from controlplane.apiserver.caching.splicing import resplice, splice, unsplice
from controlplane.store.errors import Compacted
from controlplane.store.memory import MemoryStore

PODS = Shape("/registry/pods/", True, "v1", "Pod", json.loads, {"spec.nodeName": "", "spec.hostNetwork": False})
NODES = Shape("/registry/minions/", False, "v1", "Node", json.loads)


def pod(name: str, namespace: str = "default", node: str = "", **labels: str) -> bytes:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}}
    return json.dumps(document, separators=(",", ":")).encode()


async def put(store: MemoryStore, name: str, namespace: str = "default", node: str = "", **labels: str) -> int:
    return await store.write(PODS.key(namespace, name), pod(name, namespace, node, **labels), expect=None)


class Labels:
    def __init__(self, text: str) -> None:
        self.selector = parse_label_selector(text)

    def matches(self, values: Any, /) -> bool:
        return bool(self.selector.matches(values))


class Node:
    def __init__(self, name: str) -> None:
        self.name = name

    def matches(self, values: Any, /) -> bool:
        return bool(values["spec.nodeName"] == self.name)


async def started(store: MemoryStore) -> Cache:
    caches = Caches(store)
    cache = caches.declare(PODS)
    caches.declare(NODES)
    await caches.start()
    return cache


def paths(listing: Any) -> list[str]:
    return [f"{entry.namespace}/{entry.name}" for entry in listing.entries]


async def test_a_write_is_seen_as_soon_as_it_is_acknowledged() -> None:
    store = MemoryStore()
    cache = await started(store)
    revision = await put(store, "a")
    entry = cache.get("default", "a")
    assert entry is not None
    assert json.loads(entry.raw)["metadata"]["resourceVersion"] == str(revision)
    assert (entry.create_revision, entry.mod_revision) == (revision, revision)
    await store.write(PODS.key("default", "a"), None, expect=revision)
    assert cache.get("default", "a") is None
    assert cache.revision == store.revision


async def test_lists_come_in_the_order_of_keys_whatever_the_order_of_writes() -> None:
    store = MemoryStore()
    await put(store, "z", "a")
    cache = await started(store)
    for namespace, name in (("b", "x"), ("a-b", "x"), ("a", "y"), ("a", "b-c"), ("a", "b"), ("a.b", "x")):
        await put(store, name, namespace)
    await store.write(NODES.key("", "a"), b'{"kind":"Node","metadata":{}}', expect=0)
    everything = cache.list()
    assert paths(everything) == ["a-b/x", "a.b/x", "a/b", "a/b-c", "a/y", "a/z", "b/x"]
    assert [PODS.key(e.namespace, e.name) for e in everything.entries] == [
        record.key for record in (await store.list("/registry/pods/")).records
    ]
    assert paths(cache.list(Selection(namespace="a"))) == ["a/b", "a/b-c", "a/y", "a/z"]
    assert paths(cache.list(Selection(namespace="none"))) == []
    assert paths(cache.list(Selection(name="x"))) == ["a-b/x", "a.b/x", "b/x"]
    assert paths(cache.list(Selection(namespace="a", name="y"))) == ["a/y"]
    assert cache.count() == 7
    assert cache.count("a") == 4


async def test_selectors_see_labels_and_fields() -> None:
    store = MemoryStore()
    cache = await started(store)
    await put(store, "a", node="n1", app="web")
    await put(store, "b", node="n2", app="web", tier="front")
    await put(store, "c", node="n1")
    assert paths(cache.list(Selection(labels=Labels("app=web")))) == ["default/a", "default/b"]
    assert paths(cache.list(Selection(labels=Labels("app=web,!tier")))) == ["default/a"]
    assert paths(cache.list(Selection(fields=Node("n1")))) == ["default/a", "default/c"]
    assert paths(cache.list(Selection(labels=Labels("app=web"), fields=Node("n1")))) == ["default/a"]
    entry = cache.get("default", "a")
    assert entry is not None
    assert entry.fields == {
        "metadata.name": "a",
        "metadata.namespace": "default",
        "spec.nodeName": "n1",
        "spec.hostNetwork": "false",
    }


@pytest.mark.parametrize("selection", [EVERYTHING, Selection(namespace="b"), Selection(labels=Labels("even=yes"))])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
async def test_pages_join_to_the_whole(selection: Selection, limit: int) -> None:
    store = MemoryStore()
    cache = await started(store)
    for number in range(17):
        await put(store, f"p{number:02}", "abc"[number % 3], even="yes" if number % 2 else "no")
    whole = cache.list(selection)
    seen, after = [], ""
    while True:
        page = cache.list(selection, limit=limit, after=after)
        assert len(page.entries) <= limit
        seen += page.entries
        if page.remaining is not None:
            assert page.remaining == len(whole.entries) - len(seen)
        if not page.last:
            break
        after = page.last
    assert seen == whole.entries


@pytest.mark.parametrize("selection", [EVERYTHING, Selection(namespace="b"), Selection(labels=Labels("even=yes"))])
@pytest.mark.parametrize("limit", [0, 2, 100])
async def test_the_past_is_listed_as_it_was(selection: Selection, limit: int) -> None:
    store = MemoryStore()
    cache = await started(store)
    for number in range(20):
        await put(store, f"p{number:02}", "abc"[number % 3], even="yes" if number % 2 else "no")
    then = cache.list(selection)
    for number in range(0, 20, 3):
        await store.write(PODS.key("abc"[number % 3], f"p{number:02}"), None, expect=None)
        await put(store, f"new{number}", "b", even="yes")
    seen, after = [], ""
    while True:
        page = await cache.list_at(then.revision, selection, limit=limit, after=after)
        assert page.revision == then.revision
        seen += page.entries
        if not page.last:
            break
        after = page.last
    assert [entry.raw for entry in seen] == [entry.raw for entry in then.entries]


async def test_the_past_that_is_compacted_is_refused_unless_nothing_has_changed() -> None:
    store = MemoryStore()
    cache = await started(store)
    revision = await put(store, "a")
    await store.write("/registry/minions/n", b'{"kind":"Node","metadata":{}}', expect=None)
    assert paths(await cache.list_at(revision)) == ["default/a"]
    await put(store, "b")
    await store.compact(store.revision)
    with pytest.raises(Compacted):
        await cache.list_at(revision)


async def test_the_list_body_is_a_join_of_what_is_served() -> None:
    store = MemoryStore()
    cache = await started(store)
    await put(store, "a")
    await put(store, "b")
    assert json.loads(list_body(PODS, cache.list())) == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "3"},
        "items": [json.loads(entry.raw) for entry in cache.entries()],
    }
    page = cache.list(limit=1)
    body = json.loads(list_body(PODS, page, encode_continue(page.last, page.revision)))
    assert body["metadata"]["remainingItemCount"] == 1
    assert decode_continue(body["metadata"]["continue"]) == ("default/a", 3)
    assert list_body(PODS, cache.list(Selection(namespace="none"))).endswith(b'"items":[]}')


async def test_one_unreadable_object_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    await store.write(PODS.key("default", "bad"), b"\0garbage", expect=0)
    await put(store, "good")
    cache = await started(store)
    assert paths(cache.list()) == ["default/good"]
    await store.write(PODS.key("default", "good"), b"turned bad", expect=None)
    assert paths(cache.list()) == []
    assert "key=/registry/pods/default/bad" in caplog.text


async def test_followers_hear_old_and_new_and_one_that_fails_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    cache = await started(store)
    heard: list[tuple[int | None, int | None]] = []

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    def hear(old: Entry | None, new: Entry | None) -> None:
        heard.append((old.mod_revision if old else None, new.mod_revision if new else None))

    cache.on_change(fail)
    cache.on_change(hear)
    await put(store, "a")
    await put(store, "a")
    await store.write(PODS.key("default", "a"), None, expect=None)
    assert heard == [(None, 2), (2, 3), (3, None)]
    assert "a bug" in caplog.text


async def test_decoded_objects_are_shared_and_bounded() -> None:
    store = MemoryStore()
    cache = await started(store)
    for number in range(10):
        await put(store, f"p{number}")
    first, *rest = cache.entries()
    assert cache.object(first) is cache.object(first)
    assert cache.object(first)["metadata"]["name"] == "p0"
    small = DecodedObjects(limit=3 * len(rest[-1].raw))
    objects = [small.get(entry) for entry in rest]
    assert [small.get(entry) is seen for entry, seen in zip(rest[-3:], objects[-3:], strict=True)] == [True] * 3


async def test_a_restarted_server_knows_the_last_changes() -> None:
    store = MemoryStore()
    await put(store, "a")
    middle = await put(store, "b")
    await put(store, "a", node="n1")
    await store.write(PODS.key("default", "b"), None, expect=None)
    cache = await started(store)
    events = cache.history.between(cache.history.place_after(middle), cache.history.next)
    assert [(event.seen_by(EVERYTHING), event.revision) for event in events] == [("MODIFIED", 4), ("DELETED", 5)]


async def test_changes_during_the_start_are_not_lost() -> None:
    class Slow(MemoryStore):
        async def list(self, prefix: str, *, after: str = "", limit: int = 0, revision: int = 0) -> Any:
            page = await super().list(prefix, after=after, limit=limit, revision=revision)
            await put(self, f"meanwhile-{self.revision}")
            return page

    store = Slow()
    await put(store, "a")
    cache = await started(store)
    assert paths(cache.list()) == ["default/a", "default/meanwhile-2", "default/meanwhile-3"]


async def test_waiting_for_a_revision() -> None:
    store = MemoryStore()
    caches = Caches(store)
    caches.declare(PODS)
    await caches.start()
    waiting = asyncio.ensure_future(caches.wait_until(3))
    await put(store, "a")
    await asyncio.sleep(0)
    assert not waiting.done()
    await put(store, "b")
    async with asyncio.timeout(5):
        await waiting
    await caches.wait_until(1)


names = st.text(st.sampled_from("ab-."), min_size=1, max_size=3)


@given(st.lists(st.tuples(names, names, st.booleans()), max_size=40), st.tuples(names, names))
def test_the_order_is_that_of_sorted_keys(steps: list[tuple[str, str, bool]], after: tuple[str, str]) -> None:
    entries, plain = OrderedEntries(), {}
    for namespace, name, keep in steps:
        entry = PODS.entry(PODS.key(namespace, name), b'{"metadata":{}}', 1, 1)
        if keep:
            entries.put(entry)
            plain[entry.key] = entry
        elif entry.key in plain:
            entries.remove(namespace, name)
            del plain[entry.key]
    in_order = [plain[key] for key in sorted(plain)]
    assert list(entries.iterate()) == in_order
    behind = PODS.key(*after)
    assert list(entries.iterate(after=after)) == [entry for entry in in_order if entry.key > behind]
    for namespace in {entry.namespace for entry in in_order}:
        expected = [entry for entry in in_order if entry.namespace == namespace]
        assert list(entries.iterate(namespace)) == expected
        assert entries.count(namespace) == len(expected)
    assert len(entries) == len(plain)


metadata = st.dictionaries(st.sampled_from(["name", "labels", "x"]), st.text(max_size=5), max_size=3)


@given(metadata, st.integers(1, 2**53), st.integers(1, 2**53))
def test_splicing_adds_the_resource_version_and_nothing_else(fields: dict[str, str], old: int, new: int) -> None:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": fields, "spec": {"metadata": {"resourceVersion": "7"}}}
    stored = json.dumps(document, separators=(",", ":")).encode()
    served = splice(stored, old)
    assert json.loads(served) == {**document, "metadata": {"resourceVersion": str(old), **fields}}
    assert resplice(served, old, new) == splice(stored, new)
    assert unsplice(served, old) == stored


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("%%%", "continue key is not valid"),
        ("bm90IGpzb24", "continue key is not valid"),
        ("eyJ2IjoidjIiLCJydiI6MSwic3RhcnQiOiJhIn0", "server does not recognize this encoded version v2"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0", "incorrect encoded start resourceVersion"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ", "encoded start key empty"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9zZWNyZXRzIn0", "not valid: ../secrets"),
    ],
)
def test_made_up_continue_tokens_are_refused(token: str, message: str) -> None:
    with pytest.raises(InvalidContinue, match=message):
        decode_continue(token)


def test_a_token_of_upstream_is_understood() -> None:
    # {"v":"meta.k8s.io/v1","rv":12,"start":"default/a\u0000"}
    token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIsInN0YXJ0IjoiZGVmYXVsdC9hXHUwMDAwIn0"
    assert decode_continue(token) == ("default/a", 12)
    assert encode_continue("default/a", 12) == token


def test_the_history_is_bounded_by_bytes_as_well() -> None:
    history = History(max_events=1000, max_bytes=10_000)
    history.restart(1)
    for revision in range(2, 50):
        history.append(Event(revision, None, PODS.entry(PODS.key("a", "b"), pod("x" * 600), revision, revision)))
    assert history.next - history.first < 12
    assert history.place_after(history.floor) == history.first
    with pytest.raises(TooOld, match=rf"too old resource version: 3 \({history.floor}\)"):
        history.place_after(3)
