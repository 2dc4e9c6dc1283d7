"""watch: what happens to a collection, as it happens.

The fan-out itself is :mod:`controlplane.apiserver.watching`; here a request becomes a watcher: where it begins, in
which form it wants its events, and how long it lasts.
"""

from __future__ import annotations

import random

from api import errors, fields
from controlplane.apiserver import options, replies, tabular
from controlplane.apiserver.caching.encoding import LAST_CHUNK, PLAIN, WatchEncoding
from controlplane.apiserver.caching.history import TooOld
from controlplane.apiserver.exchange import Exchange, Form, Reply, Stream
from controlplane.apiserver.negotiation import JSON, YAML, Output
from controlplane.apiserver.options import ListOptions
from controlplane.apiserver.query import parse_resource_version
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs.selecting import selection
from controlplane.apiserver.watching import End, Fanout, Watcher

#: Seconds a watch lasts at least if the client does not say; up to as much again is added, so that not all end at once.
MIN_DURATION = 1800.0

#: Seconds a client may ask for at most; a longer watch is simply begun again.
_MAX_DURATION = 7 * 24 * 3600.0


class _Sink:
    """A stream as the fan-out writes to it: events come framed, since they are shared."""

    __slots__ = ("_stream", "buffered", "drain", "write")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        # Bound once: these are called for every event of every watcher.
        self.write = stream.write_framed
        self.buffered = stream.buffered
        self.drain = stream.drain


async def watch(registry: Registry, fanout: Fanout, exchange: Exchange, *, by_path: bool = False) -> Reply | None:
    """Answer a watch; `by_path` for the /watch/ paths. Returns when it has ended."""
    output = replies.output_of(exchange)
    if output.media_type == YAML:
        raise errors.not_acceptable([f"{JSON};stream=watch"])
    wanted = options.list_options(exchange.query, force_watch=by_path)
    selected = selection(registry, exchange, wanted)
    revision = _start(wanted)
    encoding = _encoding(registry, exchange, output)
    # From here on nothing can be refused any more: the head is sent, failures are events.
    stream = await _begin(exchange)
    watcher = Watcher(fanout, _Sink(stream), selected, encoding, bookmarks=wanted.allow_watch_bookmarks)
    try:
        if wanted.send_initial_events:
            watcher.start_with_all(mark_end=wanted.allow_watch_bookmarks)
        elif revision:
            watcher.start_after(revision)
        # Else the client wants neither what there is nor what was: the watcher stands at the end of history.
    except TooOld as error:
        stream.write(tabular.error_event(errors.expired(str(error))))
        stream.finish()
        return None
    ended = await watcher.run(_duration(wanted))
    if ended in (End.TIMEOUT, End.CLOSED) and not stream.closed:
        stream.write_framed(LAST_CHUNK)
    elif not stream.closed:
        exchange.connection.abort()
    return None


async def _begin(exchange: Exchange) -> Stream:
    """The events' way to the client; a WebSocket speaks whatever protocol its client offers first."""
    if exchange.wants_websocket:
        return await exchange.messages({(exchange.subprotocols or [""])[0]: Form.TEXT})
    return exchange.stream(200, JSON)


def _start(wanted: ListOptions) -> int:
    version = parse_resource_version(wanted.resource_version)
    if isinstance(version, str):
        problem = fields.invalid("resourceVersion", wanted.resource_version, version)
        raise errors.invalid(errors.GroupName("meta.k8s.io", "ListOptions"), "", [problem])
    return version


def _duration(wanted: ListOptions) -> float:
    if wanted.timeout_seconds:
        return min(max(float(wanted.timeout_seconds), 0.0), _MAX_DURATION)
    return MIN_DURATION * (1 + random.random())


def _encoding(registry: Registry, exchange: Exchange, output: Output) -> WatchEncoding:
    if output.transform is None:
        return registry.watched_as(PLAIN)
    return registry.watched_as(tabular.watch_encoding(registry, exchange, output))
