"""Documents the server keeps ready: discovery and OpenAPI, sent whole with an ETag, or not at all if the client has
them.

A document never changes while the server runs. Clients cache by the ETag: after the first time a kubectl command costs
a 304.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable

from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.replies import GZIP_THRESHOLD

Headers = tuple[tuple[str, str], ...]

# Made once and sent often: worth the better compression. The window asks for a gzip header (zlib.h, deflateInit2).
_LEVEL = 6
_WINDOW = 31


class Document:
    """A body of one media type under one tag.

    *make* is called when the body is needed: what is kept is its compressed form alone, since nearly every client
    takes that.
    """

    def __init__(self, content_type: str, make: Callable[[], bytes], tag: str = "") -> None:
        """*tag* is the text of the ETag; without one it is the SHA-512 of the body, which is made now."""
        self.content_type = content_type
        self.tag = tag or hashlib.sha512(make()).hexdigest().upper()
        self._make = make
        self._compressed: bytes | None = None

    def reply(self, exchange: Exchange, headers: Headers = ()) -> Reply:
        """The document, or 304 for a client that holds it already; *headers* go along with either."""
        etag = f'"{self.tag}"'
        tagged = (("ETag", etag), ("Vary", "Accept"), *headers)
        if _matches(exchange.headers.get("If-None-Match", ""), etag):
            return Reply(304, b"", self.content_type, tagged)
        if "gzip" in exchange.headers.get("Accept-Encoding", ""):
            if self._compressed is None:
                self._compressed = self._compress()
            if self._compressed:
                encoded = (*tagged, ("Content-Encoding", "gzip"))
                return Reply(200, self._compressed, self.content_type, encoded)
        return Reply(200, self._make(), self.content_type, tagged)

    def _compress(self) -> bytes:
        """The gzip form, or nothing where the body is not worth it."""
        body = self._make()
        if len(body) <= GZIP_THRESHOLD:
            return b""
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW)
        return compressor.compress(body) + compressor.flush()


def _matches(header: str, etag: str) -> bool:
    """If-None-Match by weak comparison (RFC 9110, section 13.1.2)."""
    if not header:
        return False
    candidates = (part.strip().removeprefix("W/") for part in header.split(","))
    return any(candidate in ("*", etag) for candidate in candidates)
