"""Logs, exec, attach and port-forward, with a kubelet that is a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from controlplane.apiserver.http import HttpServer
from tests.unit.controlplane.apiserver.server_harness import Harness, pod

PODS = "/api/v1/namespaces/test/pods"


@dataclass
class FakeKubelet:
    """Answers each connection with what it was told to, and keeps the requests."""

    port: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello\n"
    requests: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    echo: bool = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            self.requests.append(first)
            self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            writer.write(self.answer)
            while self.echo and (data := await reader.read(65536)):
                writer.write(data.swapcase())
            await writer.drain()
        except (OSError, EOFError):
            return
        finally:
            writer.close()


@pytest.fixture
async def kubelet(api: Harness) -> AsyncIterator[FakeKubelet]:
    fake = FakeKubelet()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    status = {
        "addresses": [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": fake.port}},
    }
    (await api.create("/api/v1/nodes", {"metadata": {"name": "n1"}, "status": status})).ok  # noqa: B018
    await api.create(PODS, pod("p", nodeName="n1"))
    yield fake
    server.close()
    await server.wait_closed()


async def test_logs_are_handed_on(api: Harness, kubelet: FakeKubelet) -> None:
    answer = (await api.get(f"{PODS}/p/log?follow=true&tailLines=5&sinceTime=2024-01-01T00:00:00%2B01:00")).ok
    assert (answer.body, answer.headers["Content-Type"]) == (b"hello\n", "text/plain")
    (line,) = kubelet.requests
    assert line == "GET /containerLogs/test/p/c?follow=true&sinceTime=2023-12-31T23%3A00%3A00Z&tailLines=5 HTTP/1.1"
    assert "authorization" not in kubelet.headers


async def test_chunked_logs_are_put_together(api: Harness, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n"
    assert (await api.get(f"{PODS}/p/log")).ok.body == b"abcdefg"


@pytest.mark.parametrize(
    ("status", "reason", "code", "words"),
    [
        ("404 Not Found", "NotFound", 404, "the server could not find the requested resource ( pods/log p)"),
        ("400 Bad Request", "BadRequest", 400, "previous terminated container"),
        ("500 Oops", "InternalError", 500, "Internal error occurred: previous terminated container"),
    ],
)
async def test_what_the_kubelet_refuses_is_a_status(
    api: Harness, kubelet: FakeKubelet, status: str, reason: str, code: int, words: str
) -> None:
    text = "previous terminated container"
    kubelet.answer = f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
    assert words in (await api.get(f"{PODS}/p/log")).refused(code, reason)


async def test_logs_that_break_off_are_not_taken_for_whole(api: Harness, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"
    exchange, connection = api._exchange("GET", f"{PODS}/p/log", None, "", {})
    assert await api.server.handle(exchange) is None
    assert connection.aborted


@pytest.mark.parametrize(
    ("query", "code", "reason", "words"),
    [
        ("container=x", 400, "BadRequest", "container x is not valid for pod p"),
        ("tailLines=-1", 422, "Invalid", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("limitBytes=0", 422, "Invalid", "limitBytes: Invalid value: 0: must be greater than 0"),
        ("sinceSeconds=0", 422, "Invalid", "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            "sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z",
            422,
            "Invalid",
            "at most one of `sinceTime` or `sinceSeconds`",
        ),
        ("sinceTime=yesterday", 400, "BadRequest", "yesterday"),
        ("tailLines=few", 400, "BadRequest", 'strconv.ParseInt: parsing "few": invalid syntax'),
    ],
)
async def test_log_options(api: Harness, kubelet: FakeKubelet, query: str, code: int, reason: str, words: str) -> None:
    assert words in (await api.get(f"{PODS}/p/log?{query}")).refused(code, reason)
    assert kubelet.requests == []


async def test_which_container(api: Harness, kubelet: FakeKubelet) -> None:
    two = [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]
    await api.create(PODS, pod("q", nodeName="n1", containers=two))
    message = (await api.get(f"{PODS}/q/log")).refused(400, "BadRequest")
    assert message == "a container name must be specified for pod q, choose one of: [a b]"
    (await api.get(f"{PODS}/q/log?container=b")).ok  # noqa: B018
    assert "/containerLogs/test/q/b" in kubelet.requests[0]


async def test_a_pod_without_a_node_has_no_logs(api: Harness) -> None:
    await api.create(PODS, pod("p"))
    assert (await api.get(f"{PODS}/p/log")).status == 204
    message = (await api.create(f"{PODS}/p/exec?command=ls&stdout=true", None)).refused(400, "BadRequest")
    assert message == "pod p does not have a host assigned"


async def test_a_node_that_is_gone(api: Harness) -> None:
    await api.create(PODS, pod("p", nodeName="gone"))
    (await api.get(f"{PODS}/p/log")).refused(404, "NotFound")
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    }
    await api.create("/api/v1/nodes", {"metadata": {"name": "gone"}, "status": status})
    assert "error dialing backend: dial tcp 127.0.0.1:1" in (await api.get(f"{PODS}/p/log")).refused(500, "")


async def converse(
    api: Harness, target: str, *headers: str, method: str = "POST"
) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a streaming request over a real connection; the head of the answer and the connection."""
    from tests.unit.controlplane.apiserver.server_harness import admin_certificate

    async def handle(exchange):  # type: ignore[no-untyped-def]
        exchange.peer_certificate = admin_certificate()
        return await api.server.handle(exchange)

    server = HttpServer(handle)
    (port,) = await server.listen(["127.0.0.1"], 0, None)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    server.stop_accepting()
    return head, reader, writer


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (
            "exec?command=sh&command=-c&command=echo+hi&stdin=true&stdout=true&stderr=true&tty=true&container=c",
            "/exec/test/p/c?input=1&output=1&error=1&tty=1&command=sh&command=-c&command=echo+hi",
        ),
        ("attach?stdout=1", "/attach/test/p/c?output=1"),
        ("portforward?ports=80&ports=443", "/portForward/test/p?port=80%2C443"),
        ("portforward", "/portForward/test/p"),
    ],
)
async def test_streams_pass_through_untouched(api: Harness, kubelet: FakeKubelet, target: str, wanted: str) -> None:
    kubelet.answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4\r\n\r\n"
    kubelet.echo = True
    head, reader, writer = await converse(
        api,
        f"{PODS}/p/{target}",
        "Connection: Upgrade",
        "Upgrade: SPDY/3.1",
        "X-Stream-Protocol-Version: v4.channel.k8s.io",
        "Authorization: Bearer secret",
    )
    assert head == kubelet.answer
    assert kubelet.requests == [f"POST {wanted} HTTP/1.1"]
    assert kubelet.headers["x-stream-protocol-version"] == "v4.channel.k8s.io"
    assert "authorization" not in kubelet.headers
    writer.write(b"\x00abc" * 1000)
    assert await asyncio.wait_for(reader.readexactly(4000), 5) == b"\x00ABC" * 1000
    writer.close()


async def test_a_websocket_token_does_not_go_on(api: Harness, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    _, _, writer = await converse(
        api,
        f"{PODS}/p/exec?command=ls&stdout=true",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io",
        method="GET",
    )
    assert kubelet.headers["sec-websocket-protocol"] == "v5.channel.k8s.io"
    writer.close()


async def test_a_refused_stream_is_a_status(api: Harness, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\ncontainer not found"
    answer = await api.request(
        "POST", f"{PODS}/p/exec?command=ls&stdout=1", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    )
    assert answer.refused(404, "NotFound") == "container not found"
    plain = await api.request("POST", f"{PODS}/p/exec?command=ls&stdout=1")
    assert plain.refused(400, "BadRequest") == "Upgrade request required"
