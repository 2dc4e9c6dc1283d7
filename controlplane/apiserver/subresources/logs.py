"""log: what a container has written, fetched from the kubelet of its node and handed on as it comes."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from api import core_v1 as core
from api import errors, fields
from api.times import Time, TimeError
from client.streaming.dialing import Answer
from controlplane.apiserver.exchange import Exchange, Form, Reply
from controlplane.apiserver.kubelet import Kubelets, unreachable
from controlplane.apiserver.query import Query
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.subresources.containers import choose_container

_ERROR_LIMIT = 50_000
_FULL = 1 << 20
_FORMS = {"": Form.BINARY, "binary.k8s.io": Form.BINARY, "base64.binary.k8s.io": Form.BASE64}


async def read_log(registry: Registry, kubelets: Kubelets, exchange: Exchange) -> Reply | None:
    """Answer a GET of pods/<name>/log."""
    info = exchange.info
    pod: core.Pod = registry.decode(registry.find(info.namespace, info.name))
    parameters = _parameters(exchange.query, info.name)
    container = choose_container(pod, exchange.query.first("container"))
    if not pod.spec.node_name:
        return Reply(204)
    endpoint = kubelets.endpoint(pod.spec.node_name)
    path = f"/containerLogs/{quote(pod.metadata.namespace)}/{quote(pod.metadata.name)}/{quote(container)}"
    target = f"{path}?{urlencode(parameters)}" if parameters else path
    response = await kubelets.call(endpoint, "GET", target, (("Connection", "close"),))
    try:
        if not 200 <= response.status <= 206:
            raise _refusal(response.status, await _text(response), info.name)
        await _hand_on(exchange, response)
    finally:
        await response.closed()
    return None


async def _hand_on(exchange: Exchange, response: Answer) -> None:
    if exchange.wants_websocket:
        stream = await exchange.messages(_FORMS)
        stream.write(b"")  # upstream begins so, to show that the connection stands
    else:
        stream = exchange.stream(200, response.headers.get("content-type", "text/plain"))
    try:
        async for piece in response.body():
            stream.write(piece)
            if stream.buffered() > _FULL:
                await stream.drain()
    except OSError:
        # The node broke off in the middle: the client must not take what it has for all there is.
        exchange.connection.abort()
        return
    stream.finish()


async def _text(response: Answer) -> str:
    try:
        return (await response.whole_body(_ERROR_LIMIT)).decode("utf-8", "replace").strip()
    except OSError as error:
        raise unreachable(f"error reading from backend: {error}") from error


def _refusal(code: int, text: str, name: str) -> errors.StatusError:
    if code == 500:
        return errors.internal(text)
    if code == 400:
        return errors.bad_request(text)
    return errors.generic_server_response(code, "", "pods/log", name, text)


def _parameters(query: Query, name: str) -> list[tuple[str, str]]:
    """The options as the kubelet takes them; raises StatusError (BadRequest, Invalid)."""
    tail, limit = query.optional_integer("tailLines"), query.optional_integer("limitBytes")
    seconds, since = query.optional_integer("sinceSeconds"), query.first("sinceTime")
    stream = query.first("stream")
    problems: fields.FieldErrors = []
    if tail is not None and tail < 0:
        problems.append(fields.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        problems.append(fields.invalid("limitBytes", limit, "must be greater than 0"))
    if seconds is not None and since:
        problems.append(fields.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif seconds is not None and seconds < 1:
        problems.append(fields.invalid("sinceSeconds", seconds, "must be greater than 0"))
    if stream not in ("", "All", "Stdout", "Stderr"):
        problems.append(fields.not_supported("stream", stream, ("All", "Stderr", "Stdout")))
    if problems:
        raise errors.invalid("PodLogOptions", name, problems)
    if since:
        try:
            since = str(Time(since))
        except TimeError as error:
            raise errors.bad_request(str(error)) from None
    sent = [(flag, "true") for flag in ("follow", "previous", "timestamps") if query.flag(flag)]
    for key, value in (("sinceSeconds", seconds), ("sinceTime", since), ("tailLines", tail), ("limitBytes", limit)):
        if value not in (None, ""):
            sent.append((key, str(value)))
    if stream and stream != "All":
        sent.append(("stream", stream))
    return sent
