"""The REST client against a server on loopback that answers what the test tells it to."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from api import apps_v1 as apps
from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import StatusError
from client.clock import FakeClock
from client.errors import BadAnswer, DeadlineExceeded, Unreachable
from client.interface import EventType, PatchKind
from client.kubeconfig import Config
from client.rest import ApiClient

Respond = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Stand:
    """A server that notes what it was asked and gives the answers lined up for it, the last one again and again."""

    def __init__(self) -> None:
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self.answers: list[Respond] = []
        self.url = ""

    def answer(self, body: object, status: int = 200, **headers: str) -> None:
        async def respond(request: web.BaseRequest) -> web.StreamResponse:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            return web.Response(body=data, status=status, headers=headers, content_type="application/json")

        self.answers.append(respond)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        respond = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await respond(request)

    @property
    def lines(self) -> list[str]:
        return [f"{request.method} {request.path_qs}" for request in self.requests]


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    stand = Stand()
    server = web.Server(stand.handle)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address: Any = runner.addresses[0]
    stand.url = f"http://127.0.0.1:{address[1]}"
    yield stand
    await runner.cleanup()


@pytest.fixture
async def client(stand: Stand) -> AsyncIterator[ApiClient]:
    async with ApiClient(Config(server=stand.url, token="secret"), timeout=5) as client:
        yield client


POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"}}
CONFLICT = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409}
BUSY = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429}


async def test_verbs_become_methods_paths_and_bodies(stand: Stand, client: ApiClient) -> None:
    stand.answer(POD)
    pod = await client.get(core.Pod, "web", "shop")
    assert pod.metadata.resource_version == "7"
    await client.create(pod, dry_run=True)
    await client.update(pod)
    await client.update_status(pod)
    await client.patch(core.Pod, "web", {"metadata": {"labels": {"a": None}}}, "shop", subresource="status")
    await client.patch(core.Pod, "web", [], "shop", kind=PatchKind.JSON)
    await client.delete(core.Pod, "web", "shop", uid="u", grace_period=0, propagation="Orphan")
    await client.delete_collection(core.Pod, "shop", label_selector="a=b")
    assert stand.lines == [
        "GET /api/v1/namespaces/shop/pods/web",
        "POST /api/v1/namespaces/shop/pods?dryRun=All",
        "PUT /api/v1/namespaces/shop/pods/web",
        "PUT /api/v1/namespaces/shop/pods/web/status",
        "PATCH /api/v1/namespaces/shop/pods/web/status",
        "PATCH /api/v1/namespaces/shop/pods/web",
        "DELETE /api/v1/namespaces/shop/pods/web",
        "DELETE /api/v1/namespaces/shop/pods?labelSelector=a%3Db",
    ]
    types = [request.headers.get("Content-Type") for request in stand.requests]
    assert types[4] == "application/strategic-merge-patch+json"
    assert types[5] == "application/json-patch+json"
    assert json.loads(stand.bodies[4]) == {"metadata": {"labels": {"a": None}}}
    assert json.loads(stand.bodies[6]) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u"},
    }
    assert {request.headers["Authorization"] for request in stand.requests} == {"Bearer secret"}


async def test_groups_and_cluster_scope_have_their_paths(stand: Stand, client: ApiClient) -> None:
    stand.answer({"metadata": {"name": "x"}})
    await client.get(apps.Deployment, "x", "shop")
    await client.get(core.Node, "x")
    assert stand.lines == ["GET /apis/apps/v1/namespaces/shop/deployments/x", "GET /api/v1/nodes/x"]


async def test_a_name_or_namespace_that_is_missing_never_reaches_the_server(client: ApiClient) -> None:
    with pytest.raises(ValueError, match="a name is required"):
        await client.delete(core.Node, "")
    with pytest.raises(ValueError, match="a namespace is required"):
        await client.delete(core.Pod, "web")


async def test_lists_come_with_revision_and_token(stand: Stand, client: ApiClient) -> None:
    stand.answer({"kind": "PodList", "metadata": {"resourceVersion": "9", "continue": "t"}, "items": [POD]})
    page = await client.list(core.Pod, limit=1, continue_="s", resource_version="0", field_selector="spec.nodeName=n")
    assert ([pod.metadata.name for pod in page.items], page.resource_version, page.continue_) == (["web"], "9", "t")
    assert dict(stand.requests[0].query) == {
        "limit": "1",
        "continue": "s",
        "resourceVersion": "0",
        "fieldSelector": "spec.nodeName=n",
    }


async def test_a_refusal_is_the_status_the_server_sent(stand: Stand, client: ApiClient) -> None:
    stand.answer(CONFLICT, 409)
    with pytest.raises(StatusError) as raised:
        await client.get(core.Pod, "web", "shop")
    assert raised.value.reason == "Conflict"
    assert len(stand.requests) == 1


async def test_what_is_no_status_and_no_object_is_a_bad_answer(stand: Stand, client: ApiClient) -> None:
    stand.answer(b"<html>Bad Gateway</html>", 502)
    with pytest.raises(BadAnswer, match=r"502.*Bad Gateway"):
        await client.get(core.Pod, "web", "shop")
    stand.answers.clear()
    stand.answer(b'{"metadata": {"name": 7}}')
    with pytest.raises(BadAnswer, match="decode Pod"):
        await client.get(core.Pod, "web", "shop")


async def test_a_busy_server_is_given_the_time_it_asks_for(stand: Stand) -> None:
    clock = FakeClock(threshold=0.2)
    stand.answer(BUSY, 429, **{"Retry-After": "3"})
    stand.answer(BUSY, 429, **{"Retry-After": "4"})
    stand.answer(POD)
    async with ApiClient(Config(server=stand.url), clock=clock) as client:
        assert await client.create(core.Pod(metadata=meta.ObjectMeta(name="web", namespace="shop")))
    assert clock.monotonic() == pytest.approx(7)
    assert len(stand.requests) == 3


async def test_a_busy_server_is_not_waited_for_beyond_the_deadline(stand: Stand, client: ApiClient) -> None:
    stand.answer(BUSY, 429, **{"Retry-After": "60"})
    with pytest.raises(StatusError):
        await client.get(core.Pod, "web", "shop")
    assert len(stand.requests) == 1


async def test_a_server_that_does_not_answer_meets_the_deadline(stand: Stand, client: ApiClient) -> None:
    async def hang(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    stand.answers.append(hang)
    with pytest.raises(DeadlineExceeded, match="GET /version: no answer in time"):
        await client.request("GET", "/version", timeout=0.2)


async def test_a_connection_that_breaks_is_unreachable_and_a_creation_is_not_repeated(
    stand: Stand, client: ApiClient
) -> None:
    async def cut(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    stand.answers.append(cut)
    with pytest.raises(Unreachable):
        await client.create(core.Pod(metadata=meta.ObjectMeta(name="web", namespace="shop")))
    assert len(stand.requests) == 1
    async with ApiClient(Config(server="http://127.0.0.1:1")) as nobody:
        with pytest.raises(Unreachable, match="GET /version"):
            await nobody.request("GET", "/version")


async def test_a_rotated_token_is_read_again(stand: Stand, tmp_path: Path) -> None:
    clock = FakeClock(threshold=0.2)
    token = tmp_path / "token"
    token.write_text("old\n")
    stand.answer(POD)
    async with ApiClient(Config(server=stand.url, token_file=str(token)), clock=clock) as client:
        for text in ("old", "new", ""):
            if text:
                token.write_text(text)
            else:
                token.unlink()
            await client.get(core.Pod, "web", "shop")
            await clock.sleep(61)
    assert [request.headers["Authorization"] for request in stand.requests] == [
        "Bearer old",
        "Bearer new",
        "Bearer new",
    ]


def _stream(*lines: object, linger: float = 0.0) -> Respond:
    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        await asyncio.sleep(linger)
        return response

    return respond


async def test_a_watch_yields_events_until_it_ends(stand: Stand, client: ApiClient) -> None:
    big = POD | {"metadata": {"name": "big", "annotations": {"a": "x" * (3 << 20)}}}
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "12"}}}
    stand.answers.append(_stream({"type": "ADDED", "object": POD}, {"type": "ADDED", "object": big}, bookmark, b'{"ty'))
    seen = [event async for event in client.watch(core.Pod, resource_version="7", label_selector="a")]
    assert [event.type for event in seen] == [EventType.ADDED, EventType.ADDED, EventType.BOOKMARK]
    assert len(seen[1].object.metadata.annotations["a"]) == 3 << 20
    query = dict(stand.requests[0].query)
    assert query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
        "resourceVersion": "7",
        "labelSelector": "a",
    }


async def test_a_watch_that_is_refused_raises_before_its_first_event(stand: Stand, client: ApiClient) -> None:
    stand.answer({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}, 410)
    with pytest.raises(StatusError) as raised:
        async for _ in client.watch(core.Pod, resource_version="1"):
            pass
    assert raised.value.code == 410


async def test_leaving_a_watch_closes_its_connection(stand: Stand, client: ApiClient) -> None:
    closed = asyncio.Event()

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(json.dumps({"type": "ADDED", "object": POD}).encode() + b"\n")
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    stand.answers.append(endless)

    async def first() -> None:
        async for _ in client.watch(core.Pod):
            return

    await first()
    async with asyncio.timeout(10):
        await closed.wait()


async def test_many_watches_leave_room_for_requests(stand: Stand) -> None:
    stand.answers.append(_stream({"type": "ADDED", "object": POD}, linger=30))
    async with ApiClient(Config(server=stand.url), connections=1) as client, asyncio.TaskGroup() as group:
        seen = asyncio.Semaphore(0)

        async def follow() -> None:
            async for _ in client.watch(core.Pod):
                seen.release()

        tasks = [group.create_task(follow()) for _ in range(5)]
        for _ in tasks:
            await seen.acquire()
        stand.answers.clear()
        stand.answer(POD)
        await client.get(core.Pod, "web", "shop")
        for task in tasks:
            task.cancel()


async def test_dedicated_connections_do_not_wait_for_the_others(stand: Stand) -> None:
    release = asyncio.Event()

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("slow"):
            await release.wait()
        return web.json_response(POD)

    stand.answers.append(slow)
    async with ApiClient(Config(server=stand.url), connections=1) as client:
        blocked = asyncio.ensure_future(client.get(core.Pod, "slow", "shop"))
        async with client.dedicated(timeout=5) as own:
            await own.get(core.Pod, "web", "shop")
        assert not blocked.done()
        release.set()
        await blocked
