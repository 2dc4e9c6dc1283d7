"""Objects in another shape than they are stored: as tables, or as metadata only; single, listed and watched.

What a table shows is decided in :mod:`controlplane.apiserver.tables`; this module brings it into replies and events.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec

from api import codec, errors
from api import meta_v1 as meta
from controlplane.apiserver import replies
from controlplane.apiserver.caching.encoding import WatchEncoding, bookmark_object, chunk
from controlplane.apiserver.caching.entries import Entry, Shape
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.negotiation import Output, Transform
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.tables.rendering import METADATA, NOTHING, OBJECT, render


def table_reply(
    registry: Registry, exchange: Exchange, output: Output, entries: Sequence[Entry], metadata: Mapping[str, object]
) -> Reply:
    """The objects as a Table; raises StatusError (BadRequest) for a bad `includeObject`."""
    objects = [registry.cache.object(entry) for entry in entries]
    return render_reply(registry.type, exchange, output, objects, metadata)


def render_reply(
    kind: type[meta.Object],
    exchange: Exchange,
    output: Output,
    objects: Sequence[meta.Object],
    metadata: Mapping[str, object],
) -> Reply:
    """Decoded objects as a Table; raises StatusError (BadRequest) for a bad `includeObject`."""
    include = include_object(exchange)
    of_list = codec.from_builtins(dict(metadata), meta.ListMeta)
    table = render(kind, objects, include, time.time(), metadata=of_list)
    return replies.reply(exchange, output, _encode_table(table, output.transform))


def partial_list_reply(
    exchange: Exchange, output: Output, entries: Sequence[Entry], metadata: Mapping[str, object]
) -> Reply:
    """The objects as a PartialObjectMetadataList."""
    version = output.transform.api_version if output.transform is not None else "meta.k8s.io/v1"
    head = msgspec.json.encode({"kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": metadata})
    items = b",".join([replies.partial_metadata(entry.raw, version) for entry in entries])
    return replies.reply(exchange, output, b'%b,"items":[%b]}' % (head[:-1], items))


def include_object(exchange: Exchange) -> str:
    """What of each object goes along in its row; raises StatusError (BadRequest)."""
    wanted = exchange.query.first("includeObject")
    if wanted not in ("", NOTHING, METADATA, OBJECT):
        cause = f"includeObject: Invalid value: \"{wanted}\": must be 'Metadata', 'Object', 'None', or empty"
        raise errors.bad_request(f"Unable to convert to Table as requested: {cause}")
    return wanted


def error_event(error: errors.StatusError) -> bytes:
    """The event that ends a watch because of a failure, as one JSON line."""
    return b'{"type":"ERROR","object":%b}\n' % codec.encode(error.status)


def watch_encoding(registry: Registry, exchange: Exchange, output: Output) -> WatchEncoding:
    """The form of events for a watcher that wants another shape; raises StatusError (NotAcceptable)."""
    transform = output.transform
    if transform is None or transform.kind == "PartialObjectMetadataList":
        raise errors.not_acceptable(["you requested PartialObjectMetadataList, but the requested object is not a list"])
    if transform.kind == "Table":
        return _TableEvents(registry, transform, include_object(exchange))
    return _partial_events(transform.api_version)


class _PartialEvents:
    """Objects as their metadata."""

    def __init__(self, api_version: str) -> None:
        self._api_version = api_version

    def event(self, kind: str, entry: Entry) -> bytes:
        partial = replies.partial_metadata(entry.raw, self._api_version)
        return chunk(b'{"type":"%b","object":%b}\n' % (kind.encode(), partial))

    def bookmark(self, shape: Shape, revision: int, *, initial_events_end: bool) -> bytes:
        partial = replies.partial_metadata(bookmark_object(shape, revision, initial_events_end), self._api_version)
        return chunk(b'{"type":"BOOKMARK","object":%b}\n' % partial)


_shared_partial: dict[str, _PartialEvents] = {}


def _partial_events(api_version: str) -> _PartialEvents:
    """One instance for each version, so that its watchers share their bytes."""
    found = _shared_partial.get(api_version)
    if found is None:
        found = _shared_partial[api_version] = _PartialEvents(api_version)
    return found


class _TableEvents:
    """Objects as tables of one row; the columns are sent with the first only, so no two watchers share bytes."""

    def __init__(self, registry: Registry, transform: Transform, include: str) -> None:
        self._registry = registry
        self._transform = transform
        self._include = include
        self._columns = True

    def event(self, kind: str, entry: Entry) -> bytes:
        obj = self._registry.cache.object(entry)
        return self._encoded(kind.encode(), [obj], str(entry.mod_revision))

    def bookmark(self, shape: Shape, revision: int, *, initial_events_end: bool) -> bytes:
        blank = codec.decode(bookmark_object(shape, revision, initial_events_end), self._registry.type)
        return self._encoded(b"BOOKMARK", [blank], str(revision))

    def _encoded(self, kind: bytes, objects: list[meta.Object], revision: str) -> bytes:
        of_list = meta.ListMeta(resource_version=revision)
        table = render(
            self._registry.type, objects, self._include, time.time(), metadata=of_list, columns=self._columns
        )
        self._columns = False
        return chunk(b'{"type":"%b","object":%b}\n' % (kind, _encode_table(table, self._transform)))


def _encode_table(table: meta.Table, transform: Transform | None) -> bytes:
    if transform is not None:
        table.api_version = transform.api_version
    return codec.encode(table)
