"""One probe, carried out and told: which way to ask, the deadline, the event.

A deadline that passed because this process was not scheduled in time is no answer: on a busy node a late probe is not a
failed probe.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.pods.go_text import seconds_text
from agent.pods.identity import field_path
from agent.pods.ports import resolve_port
from agent.pods.requests import action_url, address
from agent.pods.seams import Recorder, Runtime
from agent.probes.health import probe_grpc
from agent.probes.http import probe_http
from agent.probes.results import (
    LARGEST_OUTPUT,
    SUCCESS,
    Outcome,
    ProbeError,
    ProbeLate,
    ProbeType,
    Verdict,
    failure,
)
from agent.probes.tcp import probe_tcp
from api import core_v1 as core
from client.clock import Clock
from cri.errors import CriError, DeadlineExceeded

TRIES = 3
"""A probe that could not be carried out is tried again at once, so often in all."""
TOLERATED_LATENESS = 0.2
"""A deadline noticed later than this (seconds, and as a share of the deadline) was noticed by a node too busy to
judge.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """What is probed: one running container of a pod, at an address."""

    pod: core.Pod
    container: core.Container
    container_id: str
    ip: str


class Prober:
    """Carries probes out."""

    def __init__(self, runtime: Runtime, recorder: Recorder, clock: Clock) -> None:
        self._runtime = runtime
        self._recorder = recorder
        self._clock = clock

    async def probe(self, kind: ProbeType, probe: core.Probe, target: Target) -> bool:
        """Whether the container passes. Raises ProbeError when that could not be found out."""
        try:
            outcome = await self._try(probe, target)
        except ProbeLate:
            raise
        except ProbeError as error:
            self._tell(target, "Unhealthy", f"{kind.value} probe errored and resulted in unknown state: {error}")
            raise
        if outcome.verdict is Verdict.WARNING:
            self._tell(target, "ProbeWarning", f"{kind.value} probe warning: {outcome.output}")
        elif outcome.verdict is Verdict.FAILURE:
            self._tell(target, "Unhealthy", f"{kind.value} probe failed: {outcome.output}")
        return outcome.verdict is not Verdict.FAILURE

    async def _try(self, probe: core.Probe, target: Target) -> Outcome:
        last: ProbeError | None = None
        for _ in range(TRIES):
            try:
                return await self._once(probe, target)
            except ProbeLate:
                raise
            except ProbeError as error:
                last = error
        assert last is not None
        raise last

    async def _once(self, probe: core.Probe, target: Target) -> Outcome:
        timeout = float(max(probe.timeout_seconds, 1))
        if probe.exec is not None:
            return await self._command(probe.exec, target, timeout)
        host, port = self._destination(probe, target)
        if probe.grpc is not None:
            began = self._clock.monotonic()
            return self._unless_late(await probe_grpc(probe.grpc, host, timeout, self._clock), began, timeout)
        if probe.http_get is not None:
            http_action = probe.http_get
            late = (
                f'Get "{action_url(http_action, host, port)}": context deadline exceeded '
                "(Client.Timeout exceeded while awaiting headers)"
            )
            return await self._in_time(timeout, lambda: probe_http(http_action, host, port), late)
        late = f"dial tcp {address(host, port)}: i/o timeout"
        return await self._in_time(timeout, lambda: probe_tcp(host, port), late)

    def _destination(self, probe: core.Probe, target: Target) -> tuple[str, int]:
        if probe.http_get is not None:
            host, port = probe.http_get.host, probe.http_get.port
        elif probe.tcp_socket is not None:
            host, port = probe.tcp_socket.host, probe.tcp_socket.port
        elif probe.grpc is not None:
            host, port = "", probe.grpc.port
        else:
            raise ProbeError(f"missing probe handler for {target.pod.metadata.name}:{target.container.name}")
        host = host or target.ip
        if not host:
            raise ProbeError("the pod has no address")
        try:
            return host, resolve_port(port, target.container)
        except ValueError as error:
            raise ProbeError(str(error)) from error

    async def _in_time(self, timeout: float, ask: Callable[[], Awaitable[Outcome]], late: str) -> Outcome:
        began = self._clock.monotonic()
        try:
            async with self._clock.timeout(timeout):
                outcome = await ask()
        except TimeoutError:
            outcome = failure(late)
        return self._unless_late(outcome, began, timeout)

    def _unless_late(self, outcome: Outcome, began: float, timeout: float) -> Outcome:
        over = self._clock.monotonic() - began - timeout
        if outcome.verdict is Verdict.FAILURE and over > max(TOLERATED_LATENESS, TOLERATED_LATENESS * timeout):
            raise ProbeLate(f"the probe was held up for {over:.1f}s on this node")
        return outcome

    async def _command(self, action: core.ExecAction, target: Target, timeout: float) -> Outcome:
        # Whole seconds, and the runtime's own clock: it kills the command, and says so.
        try:
            result = await self._runtime.exec_sync(target.container_id, action.command, timeout)
        except (DeadlineExceeded, TimeoutError):
            command = " ".join(action.command)
            return failure(f'command timed out: "{command}" timed out after {seconds_text(timeout)}')
        except CriError as error:
            raise ProbeError(error.status_text) from error
        if result.exit_code == 0:
            return SUCCESS
        output = (result.stdout + result.stderr)[:LARGEST_OUTPUT]
        return failure(output.decode(errors="replace"))

    def _tell(self, target: Target, reason: str, message: str) -> None:
        path = field_path(target.pod, target.container.name)
        self._recorder.event(target.pod, "Warning", reason, message, field_path=path)
