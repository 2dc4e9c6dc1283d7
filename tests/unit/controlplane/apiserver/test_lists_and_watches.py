"""Collections: whole, by selector, in pages, as of a revision; and what happens to them, as it happens."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from controlplane.apiserver.config import ServerConfig
from tests.unit.controlplane.apiserver.server_harness import Harness, config_map, pod, start

MAPS = "/api/v1/namespaces/test/configmaps"
PODS = "/api/v1/namespaces/test/pods"


def names(document: dict[str, object]) -> list[str]:
    return [item["metadata"]["name"] for item in document["items"]]  # type: ignore[attr-defined]


async def make(api: Harness, *wanted: str) -> None:
    for name in wanted:
        body = config_map(name)
        body["metadata"]["labels"] = {"first": name[0]}
        (await api.create(MAPS, body)).ok  # noqa: B018


async def test_a_list_is_in_order_and_tells_its_revision(api: Harness) -> None:
    empty = (await api.get(MAPS)).ok
    assert empty["items"] == []
    await make(api, "b", "a", "c")
    found = (await api.get(MAPS)).ok
    assert (found["kind"], found["apiVersion"]) == ("ConfigMapList", "v1")
    assert names(found.json) == ["a", "b", "c"]
    assert int(found["metadata"]["resourceVersion"]) == int(empty["metadata"]["resourceVersion"]) + 3
    across = (await api.get("/api/v1/configmaps")).ok
    assert {"a", "b", "c", "extension-apiserver-authentication"} <= set(names(across.json))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("labelSelector=first%3Da", ["a1", "a2"]),
        ("labelSelector=first+in+(a,b)", ["a1", "a2", "b1"]),
        ("labelSelector=first!%3Da", ["b1"]),
        ("fieldSelector=metadata.name%3Db1", ["b1"]),
        ("fieldSelector=metadata.name!%3Db1", ["a1", "a2"]),
        ("fieldSelector=metadata.namespace%3Dother", []),
        ("fieldSelector=metadata.name%3Da1&labelSelector=first%3Db", []),
    ],
)
async def test_selectors(api: Harness, query: str, expected: list[str]) -> None:
    await make(api, "a1", "a2", "b1")
    assert names((await api.get(f"{MAPS}?{query}")).ok.json) == expected


async def test_pods_of_a_node(api: Harness) -> None:
    await api.create(PODS, pod("here", nodeName="n1"))
    await api.create(PODS, pod("there", nodeName="n2"))
    await api.create(PODS, pod("nowhere"))
    for query, expected in (
        ("spec.nodeName%3Dn1", ["here"]),
        ("spec.nodeName%3D", ["nowhere"]),
        ("status.phase!%3DRunning,spec.nodeName!%3D", ["here", "there"]),
    ):
        assert names((await api.get(f"/api/v1/pods?fieldSelector={query}")).ok.json) == expected


async def test_pages_show_one_moment(api: Harness) -> None:
    await make(api, "a", "b", "c", "d", "e")
    first = (await api.get(f"{MAPS}?limit=2")).ok
    assert names(first.json) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    token = json.loads(base64.urlsafe_b64decode(first["metadata"]["continue"] + "=="))
    assert token == {"v": "meta.k8s.io/v1", "rv": int(first["metadata"]["resourceVersion"]), "start": "b\x00"}
    await api.delete(f"{MAPS}/c")
    await make(api, "bb")
    second = (await api.get(f"{MAPS}?limit=2&continue={first['metadata']['continue']}")).ok
    assert names(second.json) == ["c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    third = (await api.get(f"{MAPS}?limit=2&continue={second['metadata']['continue']}")).ok
    assert names(third.json) == ["e"]
    assert "continue" not in third["metadata"]


async def test_pages_after_compaction_can_go_on_inconsistently(api: Harness) -> None:
    await make(api, "a", "b", "c")
    first = (await api.get(f"{MAPS}?limit=1")).ok
    await api.delete(f"{MAPS}/b")
    await api.server.store.compact(api.server.store.revision)
    answer = await api.get(f"{MAPS}?limit=1&continue={first['metadata']['continue']}")
    assert answer.refused(410, "Expired").startswith("The provided continue parameter is too old to display")
    rest = (await api.get(f"{MAPS}?continue={answer['metadata']['continue']}")).ok
    assert names(rest.json) == ["c"]


async def test_a_list_of_an_exact_revision(api: Harness) -> None:
    await make(api, "a")
    then = (await api.get(MAPS)).ok["metadata"]["resourceVersion"]
    await make(api, "b")
    exact = (await api.get(f"{MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")).ok
    assert (names(exact.json), exact["metadata"]["resourceVersion"]) == (["a"], then)
    newer = (await api.get(f"{MAPS}?resourceVersion={then}&resourceVersionMatch=NotOlderThan")).ok
    assert names(newer.json) == ["a", "b"]
    await api.server.store.compact(api.server.store.revision)
    gone = await api.get(f"{MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert gone.refused(410, "Expired") == "The resourceVersion for the provided list is too old."


async def test_a_revision_of_the_future_is_a_timeout_to_try_again(api: Harness) -> None:
    for target in (f"{MAPS}?resourceVersion=999999", f"{MAPS}?resourceVersion=999999&resourceVersionMatch=Exact"):
        answer = await api.get(target)
        assert "Too large resource version: 999999, current:" in answer.refused(504, "Timeout")
        assert answer["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_a_watch_tells_what_happens_after_a_revision(api: Harness) -> None:
    await make(api, "before")
    since = (await api.get(MAPS)).ok["metadata"]["resourceVersion"]
    watching = await api.watch(f"{MAPS}?watch=1&resourceVersion={since}")
    await make(api, "a")
    await api.patch(f"{MAPS}/a", {"data": {"x": "1"}})
    deleted = (await api.delete(f"{MAPS}/a")).ok
    events = await watching.events(3)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert events[2]["object"]["data"] == {"x": "1"}
    assert deleted["status"] == "Success"
    await watching.stop()


async def test_a_watch_without_a_revision_begins_with_what_there_is(api: Harness) -> None:
    await make(api, "a", "b")
    for target in (f"{MAPS}?watch=1", f"{MAPS}?watch=true&resourceVersion=0", MAPS.replace("/v1/", "/v1/watch/")):
        watching = await api.watch(target)
        events = await watching.events(2)
        assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
        ]
        await watching.stop()


async def test_a_streaming_list_ends_with_a_marked_bookmark(api: Harness) -> None:
    await make(api, "a")
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watching = await api.watch(f"{MAPS}?{query}")
    added, bookmark = await watching.events(2)
    assert (added["type"], bookmark["type"]) == ("ADDED", "BOOKMARK")
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["object"]["kind"] == "ConfigMap"
    await watching.stop()


async def test_objects_enter_and_leave_the_view_of_a_selector(api: Harness) -> None:
    since = (await api.get(PODS)).ok["metadata"]["resourceVersion"]
    watching = await api.watch(f"{PODS}?watch=1&resourceVersion={since}&labelSelector=app%3Dtest,on%3Dyes")
    await api.create(PODS, pod("p"))
    await api.patch(f"{PODS}/p", {"metadata": {"labels": {"on": "yes"}}})
    await api.patch(f"{PODS}/p", {"metadata": {"labels": {"on": "no"}}})
    events = await watching.events(2)
    assert [event["type"] for event in events] == ["ADDED", "DELETED"]
    await watching.stop()


async def test_a_watch_that_wants_nothing_of_before_begins_now(api: Harness) -> None:
    await make(api, "a")
    watching = await api.watch(f"{MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan")
    await make(api, "b")
    (event,) = await watching.events(1)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")
    await watching.stop()


@pytest.mark.parametrize(
    "target",
    [
        f"{MAPS}?watch=1&fieldSelector=metadata.name%3Db",
        f"{MAPS.replace('/v1/', '/v1/watch/')}/b",
    ],
)
async def test_a_watch_of_one_name(api: Harness, target: str) -> None:
    await make(api, "a")
    watching = await api.watch(target)
    await make(api, "b", "c")
    await api.delete(f"{MAPS}/b")
    events = await watching.events(2)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "b"),
        ("DELETED", "b"),
    ]
    await watching.stop()


async def test_a_watch_from_too_long_ago_ends_with_an_expired_status(config: ServerConfig) -> None:
    api = await start(config)
    await make(api, "a", "b")
    await api.server.store.compact(api.server.store.revision)
    again = await start(config, api.server.store)
    watching = await again.watch(f"{MAPS}?watch=1&resourceVersion=2")
    (event,) = await watching.end()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: 2 (")


async def test_a_watch_goes_on_after_a_restart(config: ServerConfig, tmp_path: Path) -> None:
    api = await start(config)
    await make(api, "a")
    since = (await api.get(MAPS)).ok["metadata"]["resourceVersion"]
    await make(api, "b")
    again = await start(config, api.server.store)
    watching = await again.watch(f"{MAPS}?watch=1&resourceVersion={since}")
    (event,) = await watching.events(1)
    assert event["object"]["metadata"]["name"] == "b"
    await watching.stop()


async def test_a_watch_ends_when_its_time_is_over(api: Harness) -> None:
    watching = await api.watch(f"{MAPS}?watch=1&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersion=1000000")
    await api.clock.advance(6)
    assert await watching.end() == []


async def test_stopping_ends_watches(api: Harness) -> None:
    await make(api, "a")
    watching = await api.watch(f"{MAPS}?watch=1")
    await watching.events(1)
    api.server.close_watches()
    assert len(await watching.end()) == 1


async def test_a_watched_table_has_its_columns_once(api: Harness) -> None:
    await api.create(PODS, pod("a"))
    await api.create(PODS, pod("b"))
    watching = await api.watch(f"{PODS}?watch=1", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    first, second = await watching.events(2)
    assert first["object"]["kind"] == second["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"]
    assert not second["object"].get("columnDefinitions")
    await watching.stop()


async def test_watched_metadata(api: Harness) -> None:
    await make(api, "a")
    accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    watching = await api.watch(f"{MAPS}?watch=1", Accept=accept)
    (event,) = await watching.events(1)
    assert event["object"]["kind"] == "PartialObjectMetadata"
    await watching.stop()


async def test_a_continue_token_that_climbs_out_is_refused(api: Harness) -> None:
    token = base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":5,"start":"../../secrets/x"}').decode().rstrip("=")
    assert "continue key is not valid" in (await api.get(f"{MAPS}?limit=1&continue={quote(token)}")).refused(
        400, "BadRequest"
    )
