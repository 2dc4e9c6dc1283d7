"""Documents the server keeps ready: discovery and OpenAPI, sent whole with an ETag, or not at all if the client has
them.

A document never changes while the server runs, so its digest and its compressed form are made once, at first need.
Clients cache by the ETag: after the first time a kubectl command costs a 304.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from functools import cached_property

from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.replies import GZIP_THRESHOLD

# Made once and sent often: worth the better compression. The window asks for a gzip header (zlib.h, deflateInit2).
_LEVEL = 6
_WINDOW = 31


class Document:
    """A body of one media type; the body is made when it is first asked for."""

    def __init__(self, content_type: str, make: Callable[[], bytes]) -> None:
        self.content_type = content_type
        self._make = make

    @cached_property
    def body(self) -> bytes:
        return self._make()

    @cached_property
    def digest(self) -> str:
        """The SHA-512 of the body in upper-case hexadecimal digits, as upstream's ETags have it."""
        return hashlib.sha512(self.body).hexdigest().upper()

    @cached_property
    def compressed(self) -> bytes:
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW)
        return compressor.compress(self.body) + compressor.flush()

    def reply(self, exchange: Exchange, *headers: tuple[str, str]) -> Reply:
        """The document, or 304 for a client that holds it already; *headers* go along with either."""
        etag = f'"{self.digest}"'
        tagged = (("ETag", etag), ("Vary", "Accept"), *headers)
        if _matches(exchange.headers.get("If-None-Match", ""), etag):
            return Reply(304, b"", self.content_type, tagged)
        if len(self.body) > GZIP_THRESHOLD and "gzip" in exchange.headers.get("Accept-Encoding", ""):
            return Reply(200, self.compressed, self.content_type, (*tagged, ("Content-Encoding", "gzip")))
        return Reply(200, self.body, self.content_type, tagged)


def _matches(header: str, etag: str) -> bool:
    """If-None-Match by weak comparison (RFC 9110, section 13.1.2)."""
    if not header:
        return False
    candidates = (part.strip().removeprefix("W/") for part in header.split(","))
    return any(candidate in ("*", etag) for candidate in candidates)
