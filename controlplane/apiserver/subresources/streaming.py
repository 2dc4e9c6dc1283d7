"""exec, attach and portforward: a client and its kubelet talk to each other, we pass the bytes.

The client's upgrade request goes on to the kubelet; when that answers 101, both sides have agreed on a protocol
(WebSocket or SPDY, in any version) and nothing of it is looked at here.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote, urlencode

from api import core_v1 as core
from api import errors
from client.streaming.dialing import Answer
from client.streaming.joining import join
from controlplane.apiserver.authorization.decisions import forbidden
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.kubelet import Kubelets
from controlplane.apiserver.query import parse_int64
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.request import RequestInfo
from controlplane.apiserver.subresources.containers import choose_container, node_of
from controlplane.apiserver.verbs.environment import Environment

_ERROR_LIMIT = 64 * 1024

#: Headers that belong to this hop, or say who the client is, and so do not go on.
_HOP = frozenset(
    {
        "accept-encoding", "authorization", "content-length", "cookie", "expect", "host", "keep-alive",
        "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    }
)  # fmt: skip


async def connect(registry: Registry, environment: Environment, kubelets: Kubelets, exchange: Exchange) -> Reply | None:
    """Answer a GET or POST of pods/<name>/{exec,attach,portforward}."""
    info = exchange.info
    if "dryRun" in exchange.query:
        raise errors.bad_request("dryRun is not supported")
    _authorize_create(environment, exchange)
    pod: core.Pod = registry.decode(registry.find(info.namespace, info.name))
    target = _target(exchange, pod)
    endpoint = kubelets.endpoint(node_of(pod))
    await environment.admit("CONNECT", exchange, registry, pod, None, dry_run=False)
    if "upgrade" not in exchange.headers.get("Connection", "").lower():
        raise errors.bad_request("Upgrade request required")
    response = await kubelets.call(endpoint, exchange.method, target, _headers(exchange))
    try:
        if response.status != 101:
            raise await _refusal(response, info)
        await join(exchange.hijack(response.head), response)
    finally:
        await response.closed()
    return None


def _authorize_create(environment: Environment, exchange: Exchange) -> None:
    """WebSocket upgrades come as GET; what they do is create a process, so that is what must be allowed, too."""
    info = exchange.info
    if info.verb == "create":
        return
    asked = RequestInfo(
        "create", info.group, info.version, info.resource, info.subresource, info.namespace, info.name, info.path, True
    )
    decision = environment.authorizer.authorize(exchange.user, asked)
    if not decision.allowed:
        raise forbidden(exchange.user, asked, decision.reason)


def _target(exchange: Exchange, pod: core.Pod) -> str:
    """Path and query as the kubelet takes them."""
    query, kind = exchange.query, exchange.info.subresource
    place = f"{quote(pod.metadata.namespace)}/{quote(pod.metadata.name)}"
    if kind == "portforward":
        ports = [str(parse_int64(text)) for text in query.get("ports", [])]
        parameters = [("port", ",".join(ports))] if ports else []
        path = f"/portForward/{place}"
    else:
        container = choose_container(pod, query.first("container"))
        names = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
        parameters = [(theirs, "1") for ours, theirs in names if query.flag(ours)]
        if kind == "exec":
            parameters += [("command", word) for word in query.get("command", [])]
        path = f"/{kind}/{place}/{quote(container)}"
    return f"{path}?{urlencode(parameters)}" if parameters else path


def _headers(exchange: Exchange) -> list[tuple[str, str]]:
    sent = []
    for name, value in exchange.headers.items():
        lower = name.lower()
        if lower in _HOP or lower.startswith("impersonate-"):
            continue
        if lower == "sec-websocket-protocol":
            value = ", ".join(exchange.subprotocols)
        sent.append((name, value))
    if exchange.method == "POST":
        sent.append(("Content-Length", "0"))
    return sent


async def _refusal(response: Answer, info: RequestInfo) -> errors.StatusError:
    try:
        async with asyncio.timeout(10):
            text = (await response.whole_body(_ERROR_LIMIT)).decode("utf-8", "replace").strip()
    except OSError:
        text = ""
    code = response.status if response.status >= 400 else 500
    error = errors.generic_server_response(code, "", server_message=text)
    if text:
        error.status.message = text
    return error
