"""The answers of the agent's API, request by request."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import BinaryIO

import orjson
from aiohttp import web

from agent.logs.following import read_log
from agent.logs.options import InvalidOptions, LogOptions, UndecodableOptions, parse_options
from agent.server.access import Access
from agent.server.containers import bare_id, logged_container, running_container
from agent.server.health import health_answer
from agent.server.host import Host
from agent.server.http import Problem, peer_certificate
from agent.server.routes import METHODS, Route, is_known, route
from agent.server.streaming import commands, tunnelling
from agent.server.streaming.passing import pass_through
from agent.server.streaming.websocket import offered_protocols
from api import codec
from api import core_v1 as core
from api.pods import find_container
from client.clock import Clock
from cri.errors import CriError

MOST_PORT = 65535

logger = logging.getLogger(__name__)


class AgentApi:
    """Answers requests about the pods of this node."""

    def __init__(self, host: Host, access: Access, clock: Clock) -> None:
        self._host = host
        self._access = access
        self._clock = clock

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to a request. Raises Problem."""
        path, method = request.path, request.method
        await self._access.check(peer_certificate(request), request.headers.get("Authorization", ""), method, path)
        wanted = route(path)
        if wanted is None:
            raise Problem(404, "404: Page Not Found" if is_known(path) else "404 page not found\n")
        if method not in METHODS[wanted.action]:
            raise Problem(405, "405: Method Not Allowed", {"Allow": ", ".join(METHODS[wanted.action])})
        try:
            return await self._dispatch(request, wanted)
        except CriError as error:
            raise Problem(500, str(error)) from error

    async def _dispatch(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        match wanted.action:
            case "exec" | "attach":
                return await self._run_command(request, wanted)
            case "portForward":
                return await self._forward(request, wanted)
            case "containerLogs":
                return await self._logs(request, wanted)
            case "pods":
                return _pod_list(self._host.pods())
            case "runningpods":
                return _pod_list([pod for pod in self._host.pods() if pod.status.phase == "Running"])
            case "healthz":
                excluded, verbose = request.query.getall("exclude", []), "verbose" in request.query
                return health_answer(self._host.health(), wanted.rest, excluded, verbose=verbose)
            case "metrics":
                return web.Response(text=self._host.metrics(), content_type="text/plain", charset="utf-8")
            case "configz":
                return _json(orjson.dumps({"kubeletconfig": self._host.configuration()}))
            case _:
                return _json(orjson.dumps(self._host.debug()))

    # ------------------------------------------------------------------ logs

    async def _logs(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        try:
            options = parse_options(request.query, self._clock.now())
        except UndecodableOptions as error:
            raise Problem(400, '{"message": "Unable to decode query."}') from error
        except InvalidOptions as error:
            raise Problem(422, '{"message": "Invalid request."}') from error
        pod = self._host.pod(wanted.namespace, wanted.pod)
        if pod is None:
            raise Problem(404, f'pod "{wanted.pod}" does not exist')
        if find_container(pod.spec, wanted.container) is None:
            raise Problem(404, f'container "{wanted.container}" not found in pod "{wanted.pod}"')
        container_id = logged_container(pod, wanted.container, previous=options.previous)
        try:
            path = await self._host.log_path(bare_id(container_id))
        except CriError as error:
            logger.warning('event=log_not_found container=%s error="%s"', container_id, error)
            raise Problem(400, f"unable to retrieve container logs for {container_id}") from error
        return await self._send_log(request, path, bare_id(container_id), options)

    async def _send_log(
        self, request: web.BaseRequest, path: str, container_id: str, options: LogOptions
    ) -> web.StreamResponse:
        with _opened_log(path) as file:
            pieces = read_log(file, options, lambda: self._host.container_running(container_id))
            response = web.StreamResponse(headers={"Content-Type": "text/plain"})
            response.enable_chunked_encoding()
            await response.prepare(request)
            async with aclosing(pieces):
                async for piece in pieces:
                    await response.write(piece)
            await response.write_eof()
            return response

    # -------------------------------------------------------------- streaming

    def _pod(self, wanted: Route) -> core.Pod:
        pod = self._host.pod(wanted.namespace, wanted.pod)
        if pod is None:
            raise Problem(404, "pod does not exist")
        return pod

    async def _run_command(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        channels = requested_channels(request.query)
        pod = self._pod(wanted)
        container_id = running_container(pod, wanted.container) if wanted.uid in ("", pod.metadata.uid) else ""
        if not container_id:
            raise Problem(500, f'container not found ("{wanted.container}")')
        websocket = _wants_websocket(request)
        if websocket:
            commands.acceptable(request)  # before the runtime is asked for anything
        streams = {
            "stdin": channels.stdin,
            "stdout": channels.stdout,
            "stderr": channels.stderr,
            "tty": channels.tty,
        }
        if wanted.action == "exec":
            url = await self._host.exec_url(container_id, request.query.getall("command", []), **streams)
        else:
            url = await self._host.attach_url(container_id, **streams)
        if websocket:
            return await commands.translate(request, url, channels, self._clock)
        return await pass_through(request, url)

    async def _forward(self, request: web.BaseRequest, wanted: Route) -> web.StreamResponse:
        websocket = _wants_websocket(request)
        tunnelled = websocket and tunnelling.TUNNELLED in offered_protocols(request)
        # Only the oldest protocol has the ports in the request; SPDY names one for each of its streams.
        ports = requested_ports(request.query.getall("port", [])) if websocket and not tunnelled else []
        pod = self._pod(wanted)
        if wanted.uid not in ("", pod.metadata.uid):
            raise Problem(404, "pod not found")
        try:
            url = await self._host.port_forward_url(pod, ports)
        except LookupError as error:
            raise Problem(500, f'pod not found ("{pod.metadata.name}_{pod.metadata.namespace}")') from error
        return await (tunnelling.tunnel(request, url) if tunnelled else pass_through(request, url))


def _opened_log(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        raise Problem(400, f'failed to try resolving symlinks in path "{path}": lstat {path}: {cause}') from error


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


def _pod_list(pods: Iterable[core.Pod]) -> web.Response:
    items = b",".join(codec.encode(pod) for pod in pods)
    return _json(b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s]}\n' % items)


def _wants_websocket(request: web.BaseRequest) -> bool:
    upgrade = request.headers.get("Upgrade", "")
    if not upgrade or "upgrade" not in request.headers.get("Connection", "").lower():
        raise Problem(400, "Upgrade request required\n")
    return upgrade.lower() == "websocket"


def requested_channels(query: Mapping[str, str]) -> commands.Channels:
    """The streams that the query of an exec or attach asks for. Raises Problem."""
    stdin, stdout, stderr, tty = (query.get(name) in ("1", "true") for name in ("input", "output", "error", "tty"))
    stderr = stderr and not tty  # a terminal has no stderr of its own
    if not (stdin or stdout or stderr):
        raise Problem(400, "you must specify at least 1 of stdin, stdout, stderr")
    return commands.Channels(stdin, stdout, stderr, tty)


def requested_ports(values: Iterable[str]) -> list[int]:
    """The ports in the query of a port-forward. Raises Problem."""
    ports = []
    for text in (port for value in values for port in value.split(",")):
        cause = ""
        if not (text.isascii() and text.isdigit()):
            cause = "invalid syntax"
        elif int(text) > MOST_PORT:
            cause = "value out of range"
        if cause:
            raise Problem(400, f'unable to parse "{text}" as a port: strconv.ParseUint: parsing "{text}": {cause}')
        if int(text) == 0:
            raise Problem(400, f'port "{text}" must be > 0')
        ports.append(int(text))
    if not ports:
        raise Problem(400, 'query parameter "port" is required')
    return ports
