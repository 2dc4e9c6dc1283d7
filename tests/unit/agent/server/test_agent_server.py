"""The agent's API over real TLS: paths, health, pods, and what is relied upon of aiohttp."""

import asyncio
import json
import ssl

import aiohttp
import pytest

from agent.server import http as server_http
from agent.server.health import health_answer
from cri.errors import DeadlineExceeded
from tests.unit.agent.server.agent_server_harness import Bench, running_pod


async def test_pods_are_listed_with_their_status(bench: Bench) -> None:
    bench.host.held = [running_pod(), running_pod("other")]
    bench.host.held[1].status.phase = "Pending"
    status, text = await bench.get("/pods")
    listed = json.loads(text)
    assert (status, listed["kind"], listed["apiVersion"]) == (200, "PodList", "v1")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["web", "other"]
    assert listed["items"][0]["status"]["containerStatuses"][0]["containerID"] == "containerd://c1"
    for path in ("/runningpods", "/runningpods/"):
        _, text = await bench.get(path)
        assert [item["metadata"]["name"] for item in json.loads(text)["items"]] == ["web"]


async def test_metrics_configuration_and_plans_are_shown(bench: Bench) -> None:
    async with bench.session.get("/metrics") as answer:
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert await answer.text() == "kubelet_running_pods 1\n"
    assert await bench.get("/debug/pods") == (200, '[{"uid":"u"}]')


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/nowhere", "404 page not found\n"),
        ("/", "404 page not found\n"),
        ("/exec/default/web", "404: Page Not Found"),
        ("/containerLogs/default", "404: Page Not Found"),
        ("/pods/web", "404: Page Not Found"),
    ],
)
async def test_unknown_paths(bench: Bench, path: str, text: str) -> None:
    assert await bench.get(path) == (404, text)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/pods", "GET"),
        ("DELETE", "/containerLogs/default/web/app", "GET"),
        ("PUT", "/exec/default/web/app", "GET, POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
async def test_methods_that_make_no_sense(bench: Bench, method: str, path: str, allowed: str) -> None:
    async with bench.session.request(method, path) as answer:
        assert (answer.status, await answer.text()) == (405, "405: Method Not Allowed")
        assert answer.headers["Allow"] == allowed


async def test_health_is_one_word_while_all_is_well(bench: Bench) -> None:
    assert await bench.get("/healthz") == (200, "ok")
    assert await bench.get("/healthz/syncloop") == (200, "ok")
    assert await bench.get("/healthz?verbose") == (200, "[+]ping ok\n[+]syncloop ok\nhealthz check passed\n")
    async with bench.session.head("/healthz") as answer:
        assert answer.status == 200


async def test_a_failed_check_is_named_and_its_reason_told_to_who_asks_for_it(bench: Bench) -> None:
    bench.host.checks["syncloop"] = "the runtime was last seen 4m ago"
    failed = "[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"
    assert await bench.get("/healthz") == (500, failed)
    assert await bench.get("/healthz/syncloop") == (500, "internal server error: the runtime was last seen 4m ago\n")
    assert await bench.get("/healthz/ping") == (200, "ok")
    assert await bench.get("/healthz?exclude=syncloop") == (200, "ok")
    assert await bench.get("/healthz/nothing") == (404, "404 page not found\n")


def test_exclusions_are_told_in_the_list() -> None:
    answer = health_answer({"a": "x", "b": ""}, excluded=["a", "c"], verbose=True)
    assert answer.text == (
        "[+]a excluded: ok\n[+]b ok\n"
        'warn: some health checks cannot be excluded: no matches for "c"\nhealthz check passed\n'
    )


async def test_a_runtime_that_fails_is_a_500_with_its_words(bench: Bench) -> None:
    bench.host.held = [running_pod()]
    bench.host.fault = DeadlineExceeded("exec", "container c1", "no answer after 10 s")
    async with bench.session.post(
        "/exec/default/web/app?command=x&output=1", headers={"Upgrade": "SPDY/3.1", "Connection": "Upgrade"}
    ) as answer:
        assert answer.status == 500
        assert "no answer after 10 s" in await answer.text()


async def test_a_fault_of_ours_is_reported_and_the_server_goes_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.host.fault = KeyError("oops")
    status, text = await bench.get("/pods")
    assert (status, text) == (500, "KeyError: 'oops'\n")
    assert "event=request_failed method=GET path=/pods" in caplog.text
    bench.host.fault = None
    assert (await bench.get("/pods"))[0] == 200


async def test_long_commands_fit_into_a_request(bench: Bench) -> None:
    """`kubectl exec -- sh -c "$(cat script)"` puts all of it into the URL."""
    status, _ = await bench.get(f"/exec/default/web/app?command={'x' * 100_000}&output=1")
    assert status == 404


@pytest.mark.parametrize("garbage", [b"\x00\xff no TLS", b"GET / HTTP/1.1\r\n\r\n"])
async def test_who_speaks_no_tls_does_no_harm(bench: Bench, garbage: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.port)
    writer.write(garbage)
    try:
        await reader.read()
    except ConnectionError:
        pass
    writer.close()
    assert (await bench.get("/healthz"))[0] == 200


async def test_old_tls_is_refused(bench: Bench) -> None:
    context = bench.pki.tls("admin")
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", bench.port, ssl=context)


async def test_stopping_ends_what_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = asyncio.Event()

    async def hang(*_: object) -> None:
        entered.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(bench.server._api._access, "_review", hang)
    asking = asyncio.create_task(bench.get("/healthz"))
    await entered.wait()
    await bench.server._server.close(grace=0.05)
    with pytest.raises(aiohttp.ClientError):
        await asking


async def test_dead_machines_are_found_out_by_tcp() -> None:
    """Not by WebSocket pings: who reads slowly, in a pager, would be taken for dead."""
    idle, interval, count = server_http.KEEP_ALIVE
    assert idle + interval * count <= 180


async def test_what_is_known_of_aiohttps_insides_still_holds(bench: Bench) -> None:
    """`agent.server.http` looks at two of them to know whether an answer has begun."""
    seen = []
    real = bench.server._server._handler

    async def spying(request: aiohttp.web.BaseRequest) -> aiohttp.web.StreamResponse:
        seen.append((request.writer.output_size, request.protocol._payload_parser))
        answer = aiohttp.web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"half")
        seen.append((request.writer.output_size > 0, server_http._begun(request)))
        raise ValueError("in the middle")

    bench.server._server._handler = spying
    with pytest.raises(aiohttp.ClientPayloadError):
        await bench.get("/healthz")
    assert seen == [(0, None), (True, True)]
    bench.server._server._handler = real
    assert (await bench.get("/healthz"))[0] == 200
