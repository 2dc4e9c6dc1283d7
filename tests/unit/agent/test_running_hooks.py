"""Lifecycle hooks: what counts as having run, and in which words a failure is told."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from agent.pods.hooks import HookError, Hooks
from agent.pods.identity import describe
from agent.pods.seams import ExecResult
from api import core_v1 as core
from api.codec import from_builtins
from client.clock import FakeClock
from cri.errors import RuntimeFailure
from tests.unit.agent.pod_builders import pod

POD = pod({"name": "app", "ports": [{"name": "web", "containerPort": 8080}]})


class Commands:
    """A runtime that can only run commands, always with the same end."""

    name = "containerd"

    def __init__(self, answer: ExecResult | Exception) -> None:
        self.answer = answer

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout: float) -> ExecResult:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Events:
    """What was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.told.append((type_, reason, message))


class Ran:
    """Hooks, and what came of them."""

    def __init__(self, answer: ExecResult | Exception | None = None) -> None:
        self.events = Events()
        self.clock = FakeClock()
        runtime: Any = Commands(answer or ExecResult(0))
        self.hooks = Hooks(runtime, self.events, self.clock)

    async def __call__(self, **handler: Any) -> str:
        """Why the hook failed, "" if it did not."""
        made = from_builtins(handler, core.LifecycleHandler)
        try:
            await self.hooks.run(made, POD, POD.spec.containers[0], "id-1", ("127.0.0.1",))
        except HookError as error:
            return str(error)
        return ""


@asynccontextmanager
async def served(answer: Any) -> AsyncIterator[int]:
    """A web server on loopback, without TLS; gives its port."""
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("status", [200, 302, 404, 500])
async def test_a_call_that_is_answered_has_been_made_whatever_the_answer(status: int) -> None:
    asked: list[tuple[str, dict[str, str]]] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        asked.append((request.path_qs, dict(request.headers)))
        return web.Response(status=status)

    headers = [{"name": "X", "value": "1"}]
    async with served(answer) as port:
        path = "/dial?request=echo%3Fmsg%3Dprestop"
        assert await Ran()(httpGet={"port": port, "path": path, "httpHeaders": headers}) == ""
    ((seen, sent),) = asked
    assert seen == path
    assert sent["User-Agent"] == "kube-lifecycle/1.36" and sent["Accept"] == "*/*" and sent["X"] == "1"


async def test_a_call_by_https_to_a_server_without_tls_is_made_by_http_and_told_of() -> None:
    asked: list[dict[str, str]] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        asked.append(dict(request.headers))
        return web.Response()

    ran = Ran()
    headers = [{"name": "Authorization", "value": "Bearer secret"}, {"name": "X", "value": "1"}]
    async with served(answer) as port:
        assert await ran(httpGet={"port": port, "scheme": "HTTPS", "httpHeaders": headers}) == ""
    (sent,) = asked
    assert "Authorization" not in sent and sent["X"] == "1"
    assert ran.events.told == [
        (
            "Warning",
            "LifecycleHTTPFallback",
            f"request to HTTPS lifecycle hook 127.0.0.1:{port} got HTTP response, retry with HTTP succeeded",
        )
    ]


async def test_nobody_to_call_is_a_failure_in_upstreams_words() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert await Ran()(httpGet={"port": port, "path": "/x"}) == (
        f'HTTP lifecycle hook (/x) for Container "app" in Pod "{describe(POD)}" failed - error: '
        f'Get "http://127.0.0.1:{port}/x": dial tcp 127.0.0.1:{port}: connect: connection refused'
    )


async def test_a_command_that_fails_is_told_with_its_code_and_what_it_said() -> None:
    ran = Ran(ExecResult(3, b"out\n", b"er\xff\n"))
    assert await ran(exec={"command": ["sh", "-c", "exit 3"]}) == (
        f'Exec lifecycle hook ([sh -c exit 3]) for Container "app" in Pod "{describe(POD)}" failed - error: '
        "command 'sh -c exit 3' exited with 3: er\ufffd\n, message: \"out\\ner\\xff\\n\""
    )


async def test_a_command_that_cannot_be_run_is_told_in_the_runtimes_words() -> None:
    said = await Ran(RuntimeFailure("run command", "container id-1", "no such file"))(exec={"command": ["nope"]})
    assert said.endswith('failed - error: rpc error: code = Unknown desc = no such file, message: ""')


async def test_sleeping_takes_its_time() -> None:
    ran = Ran()
    assert await ran(sleep={"seconds": 7}) == ""
    assert ran.clock.monotonic() >= 7
