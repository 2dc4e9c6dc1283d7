"""Lifecycle hooks: what runs in or against a container right after it started and right before it is stopped.

A hook is run once; whoever calls sets the deadline. Why it failed stays out of events, where it could carry secrets.
"""

from __future__ import annotations

import aiohttp

from agent.pods.ports import resolve_port
from agent.pods.seams import Runtime
from api import core_v1 as core
from api.pods import AnyContainer
from client.clock import Clock
from cri.errors import CriError

LARGEST_ANSWER = 10 * 1024
"""Bytes of an HTTP answer that are read."""
EXEC_LIMIT = 24 * 3600.0
"""Seconds: an exec hook of itself may take as long as it likes; the caller's deadline is the one that counts."""


class HookError(Exception):
    """The hook could not be run, or it failed."""


class Hooks:
    """Runs hooks of containers."""

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._runtime = runtime
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
        if handler.exec is not None:
            await self._exec(handler.exec, container, container_id)
        elif handler.http_get is not None:
            await self._http(handler.http_get, pod, container, pod_ips)
        elif handler.sleep is not None:
            await self._clock.sleep(handler.sleep.seconds)
        else:
            raise HookError(f"container {container.name}: hook has no action that is known here")

    async def _exec(self, action: core.ExecAction, container: AnyContainer, container_id: str) -> None:
        try:
            result = await self._runtime.exec_sync(container_id, action.command, EXEC_LIMIT)
        except (CriError, TimeoutError) as error:
            raise HookError(f"container {container.name}: run hook: {error}") from error
        if result.exit_code != 0:
            raise HookError(f"container {container.name}: hook exited with {result.exit_code}")

    async def _http(
        self, action: core.HTTPGetAction, pod: core.Pod, container: AnyContainer, pod_ips: tuple[str, ...]
    ) -> None:
        host = action.host or (pod_ips[0] if pod_ips else "")
        if not host:
            raise HookError(f"container {container.name}: hook: the pod has no address yet")
        try:
            port = resolve_port(action.port, container)
        except ValueError as error:
            raise HookError(f"container {container.name}: hook: {error}") from error
        scheme = (action.scheme or "HTTP").lower()
        where = f"[{host}]" if ":" in host else host
        url = f"{scheme}://{where}:{port}/{action.path.lstrip('/')}"
        headers = {"User-Agent": "kube-lifecycle/1.36", "Accept": "*/*"}
        headers.update({one.name: one.value for one in action.http_headers})
        try:
            async with (
                aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False, force_close=True)) as session,
                session.get(url, headers=headers) as answer,
            ):
                await answer.content.read(LARGEST_ANSWER)
                if answer.status >= 400:
                    raise HookError(f"container {container.name}: hook answered {answer.status}")
        except (aiohttp.ClientError, OSError) as error:
            raise HookError(f"container {container.name}: call hook: {error}") from error
