"""Lifecycle hooks: what runs in or against a container right after it started and right before it is stopped.

A hook is run once; whoever calls sets the deadline. Why it failed is told in upstream's words, which may end up in a
status but are kept out of events: they could carry secrets.
"""

from __future__ import annotations

import msgspec

from agent.pods.go_text import listed, quoted
from agent.pods.identity import describe
from agent.pods.ports import resolve_port
from agent.pods.requests import RequestFailed, address, get
from agent.pods.seams import Recorder, Runtime
from api import core_v1 as core
from api.pods import AnyContainer
from client.clock import Clock
from cri.errors import CriError

USER_AGENT = "kube-lifecycle/1.36"
EXEC_LIMIT = 24 * 3600.0
"""Seconds: an exec hook of itself may take as long as it likes; the caller's deadline is the one that counts."""


class HookError(Exception):
    """The hook could not be run, or it failed."""


class _Failed(Exception):
    """What went wrong, without whose hook it was."""


class Hooks:
    """Runs hooks of containers."""

    def __init__(self, runtime: Runtime, recorder: Recorder, clock: Clock) -> None:
        self._runtime = runtime
        self._recorder = recorder
        self._clock = clock

    async def run(
        self,
        handler: core.LifecycleHandler,
        pod: core.Pod,
        container: AnyContainer,
        container_id: str,
        pod_ips: tuple[str, ...],
    ) -> None:
        """Raises HookError."""
        whose = f'for Container "{container.name}" in Pod "{describe(pod)}"'
        try:
            if handler.exec is not None:
                what = f"Exec lifecycle hook ({listed(handler.exec.command)})"
                await self._exec(handler.exec, container_id)
            elif handler.http_get is not None:
                what = f"HTTP lifecycle hook ({handler.http_get.path})"
                await self._http(handler.http_get, pod, container, pod_ips)
            elif handler.sleep is not None:
                await self._clock.sleep(handler.sleep.seconds)
            else:
                raise HookError(f"Cannot run handler: container {container.name}: no action that is known here")
        except _Failed as error:
            raise HookError(f"{what} {whose} failed - error: {error}") from error

    async def _exec(self, action: core.ExecAction, container_id: str) -> None:
        try:
            result = await self._runtime.exec_sync(container_id, action.command, EXEC_LIMIT)
        except CriError as error:
            raise _Failed(f'{error.status_text}, message: ""') from error
        except TimeoutError as error:
            raise _Failed(f'{error}, message: ""') from error
        if result.exit_code != 0:
            command = " ".join(action.command)
            said = f"command '{command}' exited with {result.exit_code}: {result.stderr.decode(errors='replace')}"
            output = (result.stdout + result.stderr).decode(errors="surrogateescape")
            raise _Failed(f"{said}, message: {quoted(output)}")

    async def _http(
        self, action: core.HTTPGetAction, pod: core.Pod, container: AnyContainer, pod_ips: tuple[str, ...]
    ) -> None:
        """Whatever is answered, the hook has been called: the answer's status is not looked at."""
        host = action.host or (pod_ips[0] if pod_ips else "")
        if not host:
            raise _Failed("failed to find networking container")
        try:
            port = resolve_port(action.port, container)
            await get(action, host, port, USER_AGENT)
        except ValueError as error:
            raise _Failed(str(error)) from error
        except RequestFailed as error:
            if not error.plain or not await self._called_without_tls(action, host, port):
                raise _Failed(str(error)) from error
            text = f"request to HTTPS lifecycle hook {address(host, port)} got HTTP response, retry with HTTP succeeded"
            self._recorder.event(pod, "Warning", "LifecycleHTTPFallback", text)

    async def _called_without_tls(self, action: core.HTTPGetAction, host: str, port: int) -> bool:
        """Before 1.23 hooks were called by HTTP whatever their scheme, and there are pods that rest on it. What should
        not be read on the way is left out.
        """
        headers = [one for one in action.http_headers if one.name.lower() != "authorization"]
        plain = msgspec.structs.replace(action, scheme="HTTP", http_headers=headers)
        try:
            await get(plain, host, port, USER_AGENT)
        except RequestFailed:
            return False
        return True
