"""The answers of the agent's API, request by request."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from aiohttp import web

from agent.logs.following import read_log
from agent.logs.options import InvalidOptions, LogOptions, parse_options
from agent.server.access import Access
from agent.server.host import Host
from agent.server.http import Problem, peer_certificate
from agent.server.routes import Route, route
from agent.server.streaming import commands, tunnelling
from agent.server.streaming.passing import pass_through
from api import codec
from api import core_v1 as core
from api.pods import container_statuses, find_container, find_status
from client.clock import Clock
from cri.errors import CriError

JSON = "application/json"


class AgentApi:
    """Answers requests about the pods of this node."""

    def __init__(self, host: Host, access: Access, clock: Clock) -> None:
        self._host = host
        self._access = access
        self._clock = clock

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request. Raises Problem."""
        path = request.path
        await self._access.check(
            peer_certificate(request), request.headers.get("Authorization", ""), request.method, path
        )
        wanted = route(path)
        if wanted is None:
            raise Problem(404, "404 page not found\n")
        try:
            return await self._dispatch(request, wanted)
        except CriError as error:
            raise Problem(500, f"{error}\n") from error

    async def _dispatch(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        match wanted.action:
            case "exec" | "attach":
                return await self._run_command(request, wanted)
            case "portForward":
                return await self._forward(request, wanted)
        if request.method not in ("GET", "HEAD"):
            raise Problem(405, "405: Method Not Allowed\n")
        match wanted.action:
            case "containerLogs":
                return await self._logs(request, wanted)
            case "pods":
                return _json(b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s]}' % self._pods())
            case "runningpods":
                running = [pod for pod in self._host.pods() if pod.status.phase == "Running"]
                items = b",".join(codec.encode(pod) for pod in running)
                return _json(b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s]}' % items)
            case "healthz":
                return self._health(request, wanted.rest)
            case "metrics":
                return web.Response(text=self._host.metrics(), content_type="text/plain", charset="utf-8")
            case "configz":
                return _json(orjson.dumps({"kubeletconfig": self._host.configuration()}))
            case _:
                return _json(orjson.dumps(self._host.debug()))

    def _pods(self) -> bytes:
        return b",".join(codec.encode(pod) for pod in self._host.pods())

    def _health(self, request: web.BaseRequest, name: str) -> web.Response:
        checks = self._host.health()
        if name:
            if name not in checks:
                raise Problem(404, "404 page not found\n")
            checks = {name: checks[name]}
        failed = {check: complaint for check, complaint in checks.items() if complaint}
        lines = [f"[-]{check} failed: {checks[check]}" if checks[check] else f"[+]{check} ok" for check in checks]
        if failed:
            return web.Response(status=500, text="\n".join([*lines, "healthz check failed", ""]))
        if "verbose" in request.query:
            return web.Response(text="\n".join([*lines, "healthz check passed", ""]))
        return web.Response(text="ok")

    # ------------------------------------------------------------------ logs

    async def _logs(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        try:
            options = parse_options(request.query, self._clock.now())
        except InvalidOptions as error:
            raise Problem(422, orjson.dumps({"message": f"Invalid request: {error}"}).decode(), JSON) from error
        pod = self._host.pod(wanted.namespace, wanted.pod)
        if pod is None:
            raise Problem(404, f'pod "{wanted.pod}" does not exist\n')
        if find_container(pod.spec, wanted.container) is None:
            raise Problem(404, f'container "{wanted.container}" not found in pod "{wanted.pod}"\n')
        container_id = logged_container(pod, wanted.container, previous=options.previous)
        path = await self._host.log_path(container_id)
        return await self._send_log(request, path, container_id, options)

    async def _send_log(
        self, request: web.BaseRequest, path: str, container_id: str, options: LogOptions
    ) -> web.StreamResponse:
        pieces = read_log(path, options, lambda: self._host.container_running(container_id))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        try:
            first = await anext(pieces, None) if not options.follow else None
        except OSError as error:
            raise Problem(400, f"failed to try resolving symlinks in path {path!r}: {error}\n") from error
        await response.prepare(request)
        if first is not None:
            await response.write(first)
        async for piece in pieces:
            await response.write(piece)
        await response.write_eof()
        return response

    # -------------------------------------------------------------- streaming

    def _pod(self, wanted: Route) -> core.Pod:
        pod = self._host.pod(wanted.namespace, wanted.pod)
        if pod is None or (wanted.uid and pod.metadata.uid != wanted.uid):
            raise Problem(404, "pod does not exist\n")
        return pod

    async def _run_command(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        query = request.query
        channels = commands.Channels(
            *(query.get(name) in ("1", "true") for name in ("input", "output", "error", "tty"))
        )
        if not (channels.stdin or channels.stdout or channels.stderr):
            raise Problem(400, "you must specify at least 1 of stdin, stdout, stderr\n")
        container_id = running_container(self._pod(wanted), wanted.container)
        streams = {
            "stdin": channels.stdin,
            "stdout": channels.stdout,
            "stderr": channels.stderr and not channels.tty,
            "tty": channels.tty,
        }
        websocket = _wants_websocket(request)
        if websocket and commands.choose_protocol(commands.offered_protocols(request)) is None:
            raise Problem(403, f"no protocol of {commands.offered_protocols(request)} is spoken here\n")
        if wanted.action == "exec":
            url = await self._host.exec_url(container_id, query.getall("command", []), **streams)
        else:
            url = await self._host.attach_url(container_id, **streams)
        if websocket:
            return await commands.translate(request, url, channels)
        return await pass_through(request, url)

    async def _forward(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        try:
            ports = [int(port) for value in request.query.getall("port", []) for port in value.split(",") if port]
        except ValueError as error:
            raise Problem(400, f"invalid port: {error}\n") from error
        pod = self._pod(wanted)
        tunnelled = _wants_websocket(request) and tunnelling.TUNNELLED in commands.offered_protocols(request)
        try:
            url = await self._host.port_forward_url(pod, ports)
        except LookupError as error:
            raise Problem(500, f"{error}\n") from error
        return await (tunnelling.tunnel(request, url) if tunnelled else pass_through(request, url))


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type=JSON)


def _wants_websocket(request: web.BaseRequest) -> bool:
    upgrade = request.headers.get("Upgrade", "")
    if not upgrade:
        raise Problem(400, "Upgrade request required\n")
    return upgrade.lower() == "websocket"


def _status(pod: core.Pod, name: str) -> core.ContainerStatus | None:
    return find_status(container_statuses(pod.status), name)


def bare_id(container_id: str) -> str:
    """The runtime's own id in a `containerd://…` of the API."""
    return container_id.partition("://")[2]


def running_container(pod: core.Pod, name: str) -> str:
    """The id of a container that runs. Raises Problem."""
    status = _status(pod, name)
    if status is None or status.state is None or status.state.running is None or not status.container_id:
        raise Problem(500, f'container not found ("{name}")\n')
    return bare_id(status.container_id)


_WAITING: Mapping[str, str] = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def logged_container(pod: core.Pod, name: str, *, previous: bool) -> str:
    """The id of the container whose log is asked for. Raises Problem with upstream's words when there is none."""
    where = f'container "{name}" in pod "{pod.metadata.name}"'
    status = _status(pod, name)
    if status is None:
        raise Problem(400, f"{where} is not available\n")
    last = status.last_state.terminated if status.last_state is not None else None
    if previous:
        if last is None or not last.container_id:
            raise Problem(400, f"previous terminated {where} not found\n")
        return bare_id(last.container_id)
    state = status.state or core.ContainerState()
    if state.running is not None and status.container_id:
        return bare_id(status.container_id)
    if state.terminated is not None and state.terminated.container_id:
        return bare_id(state.terminated.container_id)
    if last is not None and last.container_id:
        return bare_id(last.container_id)
    if state.waiting is not None:
        reason = _WAITING.get(state.waiting.reason, state.waiting.reason)
        raise Problem(400, f"{where} is waiting to start: {reason}\n")
    raise Problem(400, f"{where} is waiting to start - no logs yet\n")
