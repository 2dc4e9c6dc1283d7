"""Serving the OpenAPI documents: ``/openapi/v2``, and ``/openapi/v3`` with one document for each group and version.

The documents are made by `api.openapi`; here is only how they travel. The index of v3 names every document with a
hash, and a document asked for by the right hash may be kept for ever (KEP-2896). JSON is the only form: the protobuf
one that clients before kubectl 1.27 ask for is refused with 406.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate
from functools import cached_property

import msgspec

from api import errors
from api.openapi import v2_document, v3_document, v3_index
from controlplane.apiserver.documents import Document
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.negotiation import JSON

_V2 = "/openapi/v2"
_V3 = "/openapi/v3"
# Seconds a document may be kept whose address has its hash.
_FOR_EVER = 365 * 24 * 3600


class _Place(msgspec.Struct):
    url: str = msgspec.field(name="serverRelativeURL")


class _Index(msgspec.Struct):
    paths: dict[str, _Place]


class OpenApi:
    """Answers the OpenAPI paths."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """*now* gives the wall clock in seconds, for the date of expiry."""
        self._now = now
        self._documents: dict[str, Document] = {}

    def serve(self, exchange: Exchange) -> Reply | None:
        """The answer to a GET of an OpenAPI path, None when there is no such document.

        Raises StatusError (NotAcceptable) for clients that do not take JSON.
        """
        path = exchange.path.rstrip("/")
        name = path.removeprefix(f"{_V3}/")
        if path not in (_V2, _V3) and name not in self._hashes:
            return None
        if not takes_json(exchange.headers.get("Accept", "")):
            raise errors.not_acceptable([JSON])
        if path in (_V2, _V3):
            return self._document(path).reply(exchange)
        wanted, known = exchange.query.first("hash"), self._hashes[name]
        if not wanted:
            return self._document(name).reply(exchange)
        if wanted != known:
            return Reply(301, b"", JSON, (("Location", f"{path}?hash={known}"),))
        expires = formatdate(self._now() + _FOR_EVER, usegmt=True)
        return self._document(name).reply(exchange, (("Cache-Control", "public, immutable"), ("Expires", expires)))

    def _document(self, name: str) -> Document:
        found = self._documents.get(name)
        if found is None:
            found = self._documents[name] = self._make(name)
        return found

    def _make(self, name: str) -> Document:
        if name == _V2:
            return Document(JSON, lambda: v2_document().body, v2_document().etag)
        if name == _V3:
            return Document(JSON, lambda: v3_index().body, v3_index().etag)
        return Document(JSON, lambda: _body(name), self._hashes[name])

    @cached_property
    def _hashes(self) -> dict[str, str]:
        """The hash of every document of v3, as the index has them."""
        index = msgspec.json.decode(v3_index().body, type=_Index)
        return {name: place.url.rpartition("hash=")[2] for name, place in index.paths.items()}


def takes_json(accept: str) -> bool:
    """Whether a client that sends this Accept header can do with plain JSON."""
    if not accept:
        return True
    ranges = (clause.partition(";")[0].strip().lower() for clause in accept.split(","))
    return any(media_range in (JSON, "*/*", "application/*") for media_range in ranges)


def _body(name: str) -> bytes:
    document = v3_document(name)
    if document is None:
        raise LookupError(f"openapi: the index names {name}, which there is not")
    return document.body
