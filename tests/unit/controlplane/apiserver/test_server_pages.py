"""Health, version, metrics, and that events are forgotten in time."""

from __future__ import annotations

import asyncio
import re

import pytest

from api.errors import GroupName
from api.scheme import SCHEME
from api.selectors.fields import field_labels
from client.clock import FakeClock
from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.registry import selectable
from tests.unit.controlplane.apiserver.server_harness import Harness, config_map, start

EVENTS = "/api/v1/namespaces/test/events"


@pytest.mark.parametrize("page", ["livez", "readyz", "healthz"])
async def test_health(api: Harness, page: str) -> None:
    assert (await api.get(f"/{page}")).ok.body == b"ok"
    lines = (await api.get(f"/{page}?verbose")).ok.body.decode().splitlines()
    assert lines[0] == "[+]ping ok"
    assert lines[-1] == f"{page} check passed"
    assert "[+]ping excluded: ok" in (await api.get(f"/{page}?verbose&exclude=ping")).ok.body.decode()
    assert (await api.get(f"/{page}/ping")).ok.body == b"ok"


async def test_a_server_that_stops_is_alive_but_not_ready(api: Harness) -> None:
    api.server.close_watches()
    assert (await api.get("/livez")).status == 200
    answer = await api.get("/readyz")
    assert answer.status == 500
    assert b"[-]shutdown failed: reason withheld" in answer.body


async def test_version(api: Harness) -> None:
    version = (await api.get("/version")).ok
    assert (version["major"], version["minor"]) == ("1", "36")
    assert re.fullmatch(r"v1\.36\.\d+\+orlop", version["gitVersion"])


async def test_metrics_count_what_was_asked(api: Harness) -> None:
    maps = "/api/v1/namespaces/test/configmaps"
    await api.create(maps, config_map("a"))
    await api.get(f"{maps}/a")
    await api.get(f"{maps}/b")
    await api.get("/apis/example.com/v1/whatever-a-client-makes-up")
    page = (await api.get("/metrics")).ok.body.decode()
    labels = 'group="",version="v1",resource="configmaps",subresource=""'
    assert f'apiserver_request_total{{code="201",verb="CREATE",{labels}}} 1' in page
    assert f'apiserver_request_total{{code="404",verb="GET",{labels}}} 1' in page
    assert f'apiserver_request_duration_seconds_count{{verb="GET",{labels}}} 2' in page
    assert f'apiserver_request_duration_seconds_bucket{{verb="GET",{labels},le="+Inf"}} 2' in page
    assert 'apiserver_store_write_duration_seconds_count{operation="create",type="configmaps"} 1' in page
    assert 'apiserver_resource_objects{group="",resource="configmaps"} 2' in page
    assert "whatever" not in page
    for line in page.splitlines():
        assert line.startswith("#") or re.fullmatch(r"\w+(\{[^{}]*\})? [-+0-9.e]+", line), line


async def test_deprecated_kinds_come_with_a_warning(api: Harness) -> None:
    answer = await api.get("/api/v1/componentstatuses")
    assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]
    assert answer["items"][0]["conditions"][0] == {"type": "Healthy", "status": "True", "message": "ok"}
    assert (await api.get("/api/v1/componentstatuses/etcd-0")).ok["kind"] == "ComponentStatus"
    (await api.get("/api/v1/componentstatuses/other")).refused(404, "NotFound")
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert (await api.get("/api/v1/componentstatuses", Accept=accept)).ok["rows"][0]["cells"][0] == "etcd-0"
    assert len((await api.get("/api/v1/endpoints")).warnings) == 1


async def test_the_index_names_the_paths(api: Harness) -> None:
    paths = (await api.get("/")).ok["paths"]
    assert {"/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"} <= set(paths)


async def test_nothing_but_health_and_version_answers_strangers(api: Harness) -> None:
    async def ask(target: str) -> int:
        exchange, _ = api._exchange("GET", target, None, "", {})
        exchange.peer_certificate = None
        reply = await api.server.handle(exchange)
        assert reply is not None
        return reply.status

    for target in ("/healthz", "/livez", "/readyz", "/version"):
        assert await ask(target) == 200, target
    for target in ("/api", "/apis", "/metrics", "/openapi/v2", "/api/v1/namespaces", "/", "/nonsense", "/livez/ping"):
        assert await ask(target) == 401, target


def event(name: str, stamp: str) -> dict[str, object]:
    reference = {"kind": "Pod", "name": "p", "namespace": "test"}
    return {
        "metadata": {"name": name},
        "involvedObject": reference,
        "lastTimestamp": stamp,
        "reason": "R",
        "type": "Normal",
    }


async def test_events_are_forgotten_an_hour_after_they_were_last_written(config: ServerConfig) -> None:
    clock = FakeClock(autojump=False)
    api = await start(config, clock=clock)
    (await api.create(EVENTS, event("old", "2026-01-01T00:00:00Z"))).ok  # noqa: B018
    (await api.create(EVENTS, event("renewed", "2026-01-01T00:00:00Z"))).ok  # noqa: B018
    work = asyncio.ensure_future(api.server.run())
    await clock.advance(1800)
    (await api.patch(f"{EVENTS}/renewed", {"count": 2})).ok  # noqa: B018
    await clock.advance(1810)
    await gone(api, "old")
    assert (await api.get(f"{EVENTS}/renewed")).status == 200
    await clock.advance(1800)
    await gone(api, "renewed")
    work.cancel()


async def test_events_of_before_a_restart_are_forgotten_in_time(config: ServerConfig) -> None:
    from api.times import Time

    clock = FakeClock(autojump=False)
    api = await start(config, clock=clock)
    written = Time.from_timestamp(clock.now() - 3000)
    (await api.create(EVENTS, event("old", written))).ok  # noqa: B018
    again = await start(config, api.server.store, FakeClock(autojump=False))
    work = asyncio.ensure_future(again.server.run())
    await again.clock.advance(300)
    assert (await again.get(f"{EVENTS}/old")).status == 200
    await again.clock.advance(310)
    await gone(again, "old")
    work.cancel()


async def gone(api: Harness, name: str) -> None:
    async with asyncio.timeout(5):
        while (await api.get(f"{EVENTS}/{name}")).status != 404:  # noqa: ASYNC110 - a few turns of the loop
            await asyncio.sleep(0)


@pytest.mark.parametrize("resource", [r for r in SCHEME.resources() if "list" in r.verbs], ids=str)
def test_the_caches_read_the_fields_selectors_may_use(resource) -> None:  # type: ignore[no-untyped-def]
    if (resource.group, resource.plural) == ("events.k8s.io", "events"):
        return  # served from the other group's events
    read = set(selectable.defaults(GroupName(resource.group, resource.plural)))
    renamed = {"status.succeeded": "status.successful", "source.component": "source"}
    read = {renamed.get(path, path) for path in read} | {"metadata.name", "metadata.namespace"}
    offered = field_labels(resource.api_version, resource.kind) | {"metadata.name", "metadata.namespace"}
    # A label that no object has a value for need not be read.
    assert offered - read <= {"status.podIPs"}
    assert read <= offered
