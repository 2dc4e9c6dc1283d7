"""Serving the OpenAPI documents: ``/openapi/v2``, and ``/openapi/v3`` with one document for each group and version.

The documents are made by `api.openapi`; here is only how they travel. The index of v3 names every document with a
hash, and a document asked for by the right hash may be kept for ever (KEP-2896). All of them are served as JSON. That
of v2 is served as protobuf as well: kubectl reads it, in that form alone, to check objects of kinds that cannot be
patched (TokenReview, Binding …).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate
from functools import cached_property

import msgspec

from api import errors
from api.openapi import v2_document, v2_protobuf, v2_protobuf_etag, v3_document, v3_index
from controlplane.apiserver.documents import Document
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.negotiation import JSON, preferred

_V2 = "/openapi/v2"
_V3 = "/openapi/v3"
# The media type as it is sent, and as clients ask for it: an older spelling, whose "@" no parser of headers takes.
# Source: k8s.io/kube-openapi, pkg/handler.
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PROTOBUF_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
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

        Raises StatusError (NotAcceptable) for clients that take no form of it.
        """
        path = exchange.path.rstrip("/")
        name = path.removeprefix(f"{_V3}/")
        if path not in (_V2, _V3) and name not in self._hashes:
            return None
        offered = (JSON, _PROTOBUF, _PROTOBUF_ASKED) if path == _V2 else (JSON,)
        media_type = preferred(exchange.headers.get("Accept", ""), offered)
        if media_type is None:
            raise errors.not_acceptable(list(offered))
        if media_type != JSON:
            return self._document(_PROTOBUF).reply(exchange)
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
        if name == _PROTOBUF:
            return Document(_PROTOBUF, v2_protobuf, v2_protobuf_etag())
        if name == _V3:
            return Document(JSON, lambda: v3_index().body, v3_index().etag)
        return Document(JSON, lambda: _body(name), self._hashes[name])

    @cached_property
    def _hashes(self) -> dict[str, str]:
        """The hash of every document of v3, as the index has them."""
        index = msgspec.json.decode(v3_index().body, type=_Index)
        return {name: place.url.rpartition("hash=")[2] for name, place in index.paths.items()}


def _body(name: str) -> bytes:
    document = v3_document(name)
    if document is None:
        raise LookupError(f"openapi: the index names {name}, which there is not")
    return document.body
