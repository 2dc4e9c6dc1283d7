"""Bytes around bytes: lists, watch events and bookmarks made of served objects by joining.

`chunk` is HTTP/1.1's framing (RFC 9112, 7.1): a watch response is one endless chunked body, and framing an event once
is cheaper than framing it once per watcher.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from controlplane.apiserver.cache import Listing
from controlplane.apiserver.caching.entries import Entry, Shape

LAST_CHUNK = b"0\r\n\r\n"

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends the initial events of a streaming list (KEP-3157)."""


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class WatchEncoding(Protocol):
    """The form in which one kind of watcher gets its events; instances that are shared share the encoded bytes."""

    def event(self, kind: str, entry: Entry) -> bytes:
        """An ADDED, MODIFIED or DELETED event, ready to be written."""

    def bookmark(self, shape: Shape, revision: int, *, initial_events_end: bool) -> bytes:
        """A BOOKMARK event, ready to be written."""


class PlainEvents:
    """Objects as they are served, one JSON line an event, each in a chunk of its own."""

    def event(self, kind: str, entry: Entry) -> bytes:
        return chunk(b'{"type":"%b","object":%b}\n' % (kind.encode(), entry.raw))

    def bookmark(self, shape: Shape, revision: int, *, initial_events_end: bool) -> bytes:
        return chunk(b'{"type":"BOOKMARK","object":%b}\n' % bookmark_object(shape, revision, initial_events_end))


PLAIN = PlainEvents()


def bookmark_object(shape: Shape, revision: int, initial_events_end: bool) -> bytes:
    """The object of a bookmark: a kind, and metadata that says how far the watch has come."""
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial_events_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return msgspec.json.encode({"kind": shape.kind, "apiVersion": shape.api_version, "metadata": metadata})


def list_body(shape: Shape, listing: Listing, continue_: str = "") -> bytes:
    """The list object of a page."""
    metadata: dict[str, object] = {"resourceVersion": str(listing.revision)}
    if continue_:
        metadata["continue"] = continue_
        if listing.remaining:
            metadata["remainingItemCount"] = listing.remaining
    opening = msgspec.json.encode({"kind": shape.kind + "List", "apiVersion": shape.api_version, "metadata": metadata})
    items = [entry.raw for entry in listing.entries] or [b""]
    # The frame is put around the outer items and not around the join: a long list is megabytes, copied once is enough.
    items[0] = b'%b,"items":[%b' % (opening[:-1], items[0])
    items[-1] += b"]}"
    return b",".join(items)
