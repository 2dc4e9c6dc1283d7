"""Probes: what each way of asking takes for an answer, and when a verdict is reached."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from aiohttp import web

from agent.pods.seams import ExecResult
from agent.probes.health import METHOD, probe_grpc
from agent.probes.prober import Prober, Target
from agent.probes.results import ProbeError, ProbeLate, ProbeType
from agent.probes.worker import ProbeWorker
from api import core_v1 as core
from api.codec import from_builtins
from client.clock import Clock, FakeClock, SystemClock
from cri.errors import RuntimeFailure
from proto import health_pb2
from tests.unit.agent.pod_builders import pod


class Events:
    """What was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.told.append((reason, message, field_path))


class Commands:
    """A runtime that can only run commands."""

    name = "containerd"

    def __init__(self, *answers: ExecResult | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Sequence[str], float]] = []

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout: float) -> ExecResult:
        self.asked.append((container_id, command, timeout))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def probe(**fields: Any) -> core.Probe:
    return from_builtins({"timeoutSeconds": 1, "periodSeconds": 1, **fields}, core.Probe)


def target(ip: str = "127.0.0.1", **container: Any) -> Target:
    web_ = pod({"name": "app", **container})
    return Target(web_, web_.spec.containers[0], "id-1", ip)


class Asked:
    """One prober and what came of it."""

    def __init__(self, runtime: Any = None, clock: Clock | None = None) -> None:
        self.events = Events()
        self.prober = Prober(runtime or Commands(), self.events, clock or SystemClock())

    async def __call__(self, spec: core.Probe, aim: Target, kind: ProbeType = ProbeType.LIVENESS) -> bool:
        return await self.prober.probe(kind, spec, aim)


@asynccontextmanager
async def served(handler: Any) -> AsyncIterator[int]:
    """A web server on loopback; gives its port."""
    server = web.Server(handler)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class TestHttp:
    @pytest.mark.parametrize(
        ("status", "passes", "told"),
        [
            (200, True, None),
            (204, True, None),
            (304, True, "Liveness probe warning: Probe terminated redirects, Response body: "),
            (399, True, "Liveness probe warning: Probe terminated redirects, Response body: "),
            (400, False, "Liveness probe failed: HTTP probe failed with statuscode: 400"),
            (503, False, "Liveness probe failed: HTTP probe failed with statuscode: 503"),
        ],
    )
    async def test_statuses_below_400_pass(self, status: int, passes: bool, told: str | None) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            return web.Response(status=status)

        asked = Asked()
        async with served(answer) as port:
            assert await asked(probe(httpGet={"port": port}), target()) is passes
        assert [message for _, message, _ in asked.events.told] == ([told] if told else [])

    async def test_path_headers_and_host_go_as_asked(self) -> None:
        seen: list[Any] = []

        async def answer(request: web.BaseRequest) -> web.Response:
            seen.append((request.path_qs, dict(request.headers)))
            return web.Response()

        spec = {
            "path": "/healthz?x=%2F",
            "httpHeaders": [{"name": "Host", "value": "web"}, {"name": "X", "value": "1"}],
        }
        async with served(answer) as port:
            assert await Asked()(probe(httpGet={"port": port, **spec}), target())
        ((path, headers),) = seen
        assert path == "/healthz?x=%2F"
        assert headers["Host"] == "web" and headers["X"] == "1"
        assert headers["User-Agent"].startswith("kube-probe/1.36") and headers["Accept"] == "*/*"

    async def test_large_headers_are_borne(self) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            return web.Response(headers={"Set-Cookie": "session=" + "x" * 100_000})

        async with served(answer) as port:
            assert await Asked()(probe(httpGet={"port": port}), target())

    async def test_a_port_may_go_by_its_name(self) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            return web.Response()

        async with served(answer) as port:
            aim = target(ports=[{"name": "web", "containerPort": port}])
            assert await Asked()(probe(httpGet={"port": "web"}), aim)

    async def test_a_redirect_to_another_host_passes_with_a_warning(self) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            return web.Response(status=302, headers={"Location": "http://example.com/"}, text="elsewhere")

        asked = Asked()
        async with served(answer) as port:
            assert await asked(probe(httpGet={"port": port}), target())
        assert asked.events.told[0][:2] == (
            "ProbeWarning",
            "Liveness probe warning: Probe terminated redirects, Response body: elsewhere",
        )

    async def test_a_redirect_on_the_same_host_is_followed_but_not_for_ever(self) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            if request.path == "/there":
                return web.Response()
            return web.Response(status=302, headers={"Location": "/loop" if request.path == "/loop" else "/there"})

        async with served(answer) as port:
            assert await Asked()(probe(httpGet={"port": port}), target())
            asked = Asked()
            assert not await asked(probe(httpGet={"port": port, "path": "/loop"}), target())
            assert "stopped after 10 redirects" in asked.events.told[0][1]

    async def test_nobody_listening_fails_in_the_usual_words(self) -> None:
        asked, port = Asked(), free_port()
        assert not await asked(probe(httpGet={"port": port, "path": "/x"}), target(), ProbeType.READINESS)
        assert asked.events.told == [
            (
                "Unhealthy",
                f'Readiness probe failed: Get "http://127.0.0.1:{port}/x": dial tcp 127.0.0.1:{port}: connect: '
                "connection refused",
                "spec.containers{app}",
            )
        ]

    async def test_a_server_without_tls_is_told_apart_from_none(self) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            return web.Response()

        asked = Asked()
        async with served(answer) as port:
            assert not await asked(probe(httpGet={"port": port, "path": "/x", "scheme": "HTTPS"}), target())
        assert asked.events.told[0][1] == (
            f'Liveness probe failed: Get "https://127.0.0.1:{port}/x": http: server gave HTTP response to HTTPS client'
        )

    async def test_a_server_that_does_not_answer_fails_in_time(self) -> None:
        async def answer(request: web.BaseRequest) -> web.Response:
            await asyncio.sleep(30)
            return web.Response()

        asked = Asked()
        async with served(answer) as port:
            assert not await asked(probe(httpGet={"port": port}), target())
        assert "context deadline exceeded (Client.Timeout exceeded while awaiting headers)" in asked.events.told[0][1]


class TestTcp:
    async def test_an_open_port_passes_and_a_closed_one_fails(self) -> None:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        asked = Asked()
        assert await asked(probe(tcpSocket={"port": port}), target())
        server.close()
        await server.wait_closed()
        assert not await asked(probe(tcpSocket={"port": port}), target())
        assert asked.events.told[0][1] == (
            f"Liveness probe failed: dial tcp 127.0.0.1:{port}: connect: connection refused"
        )

    async def test_an_unknown_port_name_is_an_error_and_no_failure(self) -> None:
        asked = Asked()
        with pytest.raises(ProbeError):
            await asked(probe(tcpSocket={"port": "nope"}), target())
        assert asked.events.told[0][:2] == (
            "Unhealthy",
            'Liveness probe errored and resulted in unknown state: strconv.Atoi: parsing "nope": invalid syntax',
        )


class TestExec:
    async def test_the_exit_code_decides(self) -> None:
        runtime = Commands(ExecResult(0), ExecResult(3, b"out ", b"err"))
        asked = Asked(runtime)
        spec = probe(exec={"command": ["cat", "/x"]}, timeoutSeconds=5)
        assert await asked(spec, target())
        assert not await asked(spec, target())
        assert asked.events.told[0][1] == "Liveness probe failed: out err"
        assert runtime.asked[0] == ("id-1", ["cat", "/x"], 5.0)

    async def test_a_timeout_is_a_failure(self) -> None:
        asked = Asked(Commands(TimeoutError()))
        assert not await asked(probe(exec={"command": ["sh", "-c", "sleep 9"]}), target())
        assert asked.events.told[0][1] == (
            'Liveness probe failed: command timed out: "sh -c sleep 9" timed out after 1s'
        )

    async def test_a_runtime_that_cannot_run_it_is_asked_three_times_and_proves_nothing(self) -> None:
        trouble = RuntimeFailure("run command", "container id-1", "no shim")
        runtime = Commands(trouble, trouble, trouble)
        with pytest.raises(ProbeError):
            await Asked(runtime)(probe(exec={"command": ["true"]}), target())
        assert len(runtime.asked) == 3


class TestGrpc:
    @asynccontextmanager
    async def serving(self, status: int | None, *, silent: bool = False) -> AsyncIterator[int]:
        async def check(request: Any, context: Any) -> Any:
            if silent:
                await asyncio.sleep(30)
            if request.service == "unknown":
                await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
            return health_pb2.HealthCheckResponse(status=status)

        server = grpc.aio.server()
        if status is not None or silent:
            handler = grpc.unary_unary_rpc_method_handler(
                check,
                request_deserializer=health_pb2.HealthCheckRequest.FromString,
                response_serializer=health_pb2.HealthCheckResponse.SerializeToString,
            )
            service, method = METHOD.strip("/").split("/")
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            yield port
        finally:
            await server.stop(0)

    async def test_serving_passes_and_anything_else_fails(self) -> None:
        async with self.serving(health_pb2.HealthCheckResponse.SERVING) as port:
            assert await Asked()(probe(grpc={"port": port}), target())
            outcome = await probe_grpc(core.GRPCAction(port=port, service="unknown"), "127.0.0.1", 1.0, SystemClock())
            assert outcome.output == (
                "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"
            )
        async with self.serving(health_pb2.HealthCheckResponse.NOT_SERVING) as port:
            outcome = await probe_grpc(core.GRPCAction(port=port), "127.0.0.1", 1.0, SystemClock())
            assert outcome.output == 'service unhealthy (responded with "NOT_SERVING")'

    async def test_a_server_without_the_service_fails(self) -> None:
        async with self.serving(None) as port:
            outcome = await probe_grpc(core.GRPCAction(port=port), "127.0.0.1", 1.0, SystemClock())
            assert outcome.output.startswith("error: this server does not implement the grpc health protocol")

    async def test_nobody_listening_fails_once_the_time_is_over(self) -> None:
        asked, port = Asked(), free_port()
        assert not await asked(probe(grpc={"port": port}), target())
        assert asked.events.told[0][1] == (
            f'Liveness probe failed: timeout: failed to connect service "127.0.0.1:{port}" within 1s: '
            "context deadline exceeded"
        )

    async def test_a_server_that_does_not_answer_fails_in_time(self) -> None:
        asked = Asked()
        async with self.serving(None, silent=True) as port:
            assert not await asked(probe(grpc={"port": port}), target())
        assert asked.events.told[0][1] == "Liveness probe failed: timeout: health rpc did not complete within 1s"


class LateClock(FakeClock):
    """A clock of a node too busy to notice a deadline in time."""

    def __init__(self) -> None:
        super().__init__()
        self.late = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.late


async def test_a_late_probe_is_no_failed_probe() -> None:
    clock = LateClock()
    asked = Asked(clock=clock)

    async def refuse(reader: Any, writer: Any) -> None:
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    original = clock.timeout

    def starved(seconds: float | None) -> Any:
        clock.late += 5.0
        return original(seconds)

    clock.timeout = starved  # type: ignore[method-assign]
    with pytest.raises(ProbeLate):
        await asked(probe(tcpSocket={"port": port}), target())
    assert asked.events.told == []


class Scripted:
    """A prober whose answers are given."""

    def __init__(self, clock: FakeClock, answers: str) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.at: list[float] = []

    async def probe(self, kind: ProbeType, spec: core.Probe, aim: Target) -> bool:
        self.at.append(self.clock.monotonic())
        answer = self.answers.pop(0) if self.answers else "+"
        if answer == "?":
            raise ProbeError("no answer")
        return answer == "+"


class Watched:
    """A probe worker with a scripted prober, running."""

    def __init__(self, kind: ProbeType, answers: str, **spec: Any) -> None:
        self.clock = FakeClock(autojump=False)
        self.prober = Scripted(self.clock, answers)
        self.verdicts: list[tuple[float, bool | None]] = []
        self.worker = ProbeWorker(
            kind,
            probe(**spec),
            self.prober,
            self.clock,
            random.Random(1),
            self._told,  # type: ignore[arg-type]
        )

    def _told(self) -> None:
        self.verdicts.append((self.clock.monotonic(), self.worker.passed))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Watched]:
        task = asyncio.create_task(self.worker.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class TestSchedule:
    async def test_readiness_is_asked_at_once_and_then_every_period(self) -> None:
        async with Watched(ProbeType.READINESS, "", periodSeconds=10).running() as watched:
            watched.worker.aim(target(), 0.0, passed=False, enabled=True)
            await watched.clock.advance(25)
            assert watched.prober.at == [0, 10, 20]
            assert watched.verdicts == [(0, True)]

    async def test_liveness_lets_a_container_come_up_first(self) -> None:
        async with Watched(ProbeType.LIVENESS, "", periodSeconds=10, initialDelaySeconds=5).running() as watched:
            watched.worker.aim(target(), 0.0, passed=None, enabled=True)
            await watched.clock.advance(30)
            assert 10 <= watched.prober.at[0] <= 15

    async def test_a_verdict_needs_as_many_answers_as_its_threshold(self) -> None:
        script = Watched(ProbeType.READINESS, "+--+---++", periodSeconds=1, failureThreshold=3, successThreshold=2)
        async with script.running() as watched:
            watched.worker.aim(target(), 0.0, passed=False, enabled=True)
            await watched.clock.advance(8.5)
            assert watched.verdicts == [(8, True)]

    async def test_answers_of_the_other_kind_start_the_count_anew(self) -> None:
        script = Watched(ProbeType.READINESS, "+--+---", periodSeconds=1, failureThreshold=3)
        async with script.running() as watched:
            watched.worker.aim(target(), 0.0, passed=False, enabled=True)
            await watched.clock.advance(6.5)
            assert watched.verdicts == [(0, True), (6, False)]

    async def test_no_answer_counts_neither_way(self) -> None:
        script = Watched(ProbeType.READINESS, "+-?-?-", periodSeconds=1, failureThreshold=3)
        async with script.running() as watched:
            watched.worker.aim(target(), 0.0, passed=False, enabled=True)
            await watched.clock.advance(5.5)
            assert watched.verdicts == [(0, True), (5, False)]

    async def test_a_condemned_container_is_asked_no_more_until_another_takes_its_place(self) -> None:
        script = Watched(ProbeType.STARTUP, "-", periodSeconds=1, failureThreshold=1)
        async with script.running() as watched:
            watched.worker.aim(target(), 0.0, passed=None, enabled=True)
            await watched.clock.advance(10)
            assert watched.verdicts == [(1, False)] and len(watched.prober.at) == 1
            fresh = target()
            watched.worker.aim(Target(fresh.pod, fresh.container, "id-2", fresh.ip), 0.0, passed=None, enabled=True)
            assert watched.worker.passed is None
            await watched.clock.advance(3)
            assert watched.worker.passed is True

    async def test_it_waits_for_its_turn(self) -> None:
        async with Watched(ProbeType.READINESS, "", periodSeconds=10).running() as watched:
            watched.worker.aim(target(), 0.0, passed=False, enabled=False)
            await watched.clock.advance(60)
            assert watched.prober.at == []
            watched.worker.aim(target(), 60.0, passed=False, enabled=True)
            await watched.clock.advance(1)
            assert watched.prober.at == [60]

    async def test_ticks_that_were_missed_are_not_made_up_for(self) -> None:
        script = Watched(ProbeType.READINESS, "", periodSeconds=1)
        slow = script.prober

        async def take_long(kind: ProbeType, spec: core.Probe, aim: Target) -> bool:
            slow.at.append(slow.clock.monotonic())
            await slow.clock.sleep(3.5)
            return True

        slow.probe = take_long  # type: ignore[method-assign]
        async with script.running() as watched:
            watched.worker.aim(target(), 0.0, passed=False, enabled=True)
            await watched.clock.advance(10)
            assert watched.prober.at == [0, 3.5, 7]
