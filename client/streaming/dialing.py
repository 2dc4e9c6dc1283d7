"""One HTTP/1.1 request without a body on a connection of its own, and the connection itself once it has left HTTP.

Written by hand, since what matters after an upgrade (RFC 9110, section 7.8) is the connection, which no HTTP client
library hands out.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from client.streaming.wires import CLOSE_GRACE, Wire, connect

CONNECT_DEADLINE = 10.0
HEAD_DEADLINE = 30.0
HEAD_LIMIT = 64 * 1024


class BadAnswer(ConnectionError):
    """What came back is not HTTP, or ended too soon."""


@dataclass(slots=True)
class Answer:
    """The head of an answer, and what comes after it: a body, or after a 101 whatever was agreed on.

    `head` is the head as it came; the names in `headers` are in lower case. An Answer is itself a `Wire`.
    """

    status: int
    headers: Mapping[str, str]
    head: bytes
    wire: Wire
    rest: bytes = b""
    """What came along with the head and is not read yet."""

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises OSError."""
        if self.rest:
            taken, self.rest = self.rest, b""
            return taken
        return await self.wire.read()

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the other side takes more. Raises OSError."""
        await self.wire.write(data)

    async def flushed(self) -> None:
        """Wait until what was written is safe from our closing the connection."""
        await self.wire.flushed()

    def close(self) -> None:
        """End the connection. `closed` must follow."""
        self.wire.close()

    async def closed(self, grace: float = CLOSE_GRACE) -> None:
        """End the connection and let go of it."""
        await self.wire.closed(grace)

    async def body(self) -> AsyncIterator[bytes]:
        """The body in pieces, as they come (RFC 9112, section 6). Raises BadAnswer, OSError."""
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            while size := _size(await self._line(), 16):
                async for piece in self._take(size):
                    yield piece
                await self._line()
            return
        length = self.headers.get("content-length")
        async for piece in self._take(_size(length.encode(), 10) if length is not None else None):
            yield piece

    async def whole_body(self, limit: int) -> bytes:
        """The body, at most `limit` bytes of it. Raises BadAnswer, OSError."""
        pieces, size = [], 0
        async for piece in self.body():
            pieces.append(piece)
            size += len(piece)
            if size >= limit:
                break
        return b"".join(pieces)[:limit]

    async def _take(self, size: int | None) -> AsyncIterator[bytes]:
        """`size` bytes, or all until the connection ends."""
        while size is None or size > 0:
            piece = await self.read()
            if not piece:
                if size is None:
                    return
                raise BadAnswer("the connection ended in the middle of a body")
            if size is not None:
                piece, self.rest = piece[:size], piece[size:]
                size -= len(piece)
            yield piece

    async def _line(self) -> bytes:
        line = b""
        while b"\n" not in line:
            piece = await self.read()
            if not piece or len(line) > HEAD_LIMIT:
                raise BadAnswer("the connection ended in the middle of a body")
            line += piece
        line, _, self.rest = line.partition(b"\n")
        return line.strip()


def _size(text: bytes, base: int) -> int:
    digits = text.partition(b";")[0].strip()
    try:
        size = int(digits, base)
    except ValueError:
        size = -1
    if size < 0 or not digits.isalnum():
        raise BadAnswer(f"a body of {text[:40]!r} bytes")
    return size


async def dial(
    host: str,
    port: int,
    method: str,
    target: str,
    headers: Iterable[tuple[str, str]],
    *,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Send a request (a Host header is made here); returns when the head of the answer is there.

    Raises OSError, TimeoutError and BadAnswer among them.
    """
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"{method} {target} HTTP/1.1", f"Host: {authority}", *(f"{name}: {value}" for name, value in headers)]
    try:
        async with asyncio.timeout(CONNECT_DEADLINE):
            wire = await connect(host, port, tls)
    except TimeoutError:
        raise TimeoutError(f"dial tcp {authority}: i/o timeout") from None
    except OSError as error:
        raise ConnectionError(f"dial tcp {authority}: {_cause(error)}") from error
    try:
        async with asyncio.timeout(HEAD_DEADLINE):
            await wire.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace"))
            head, rest = await _read_head(wire)
        status, fields = parse_head(head)
        return Answer(status, fields, head, wire, rest)
    except BaseException as error:
        await wire.closed(0)
        if isinstance(error, TimeoutError):
            raise TimeoutError(f"read from {authority}: i/o timeout") from None
        raise


def _cause(error: OSError) -> str:
    """The cause alone: asyncio puts the address into it, in a form of its own."""
    if isinstance(error, ssl.SSLError) or error.errno is None:
        return str(error)
    return f"connect: {os.strerror(error.errno).lower()}"


async def dial_url(
    url: str, method: str, headers: Iterable[tuple[str, str]], *, tls: ssl.SSLContext | None = None
) -> Answer:
    """`dial` for a URL. Raises OSError, ValueError for a URL that is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"not a URL to dial: {url!r}")
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    context = (tls or ssl.create_default_context()) if secure else None
    return await dial(parts.hostname, parts.port or (443 if secure else 80), method, target, headers, tls=context)


async def _read_head(wire: Wire) -> tuple[bytes, bytes]:
    """The head, its empty line included, and what came after it."""
    got = b""
    while (end := got.find(b"\r\n\r\n")) < 0:
        piece = await wire.read()
        if not piece:
            raise BadAnswer("the connection ended before the answer")
        if len(got) > HEAD_LIMIT:
            raise BadAnswer("the answer's head is too long")
        got += piece
    return got[: end + 4], got[end + 4 :]


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and header fields (names in lower case, the last of a name counts) of a head. Raises BadAnswer."""
    first, *fields = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or len(code) != 3 or not (code.isascii() and code.isdigit()):
        raise BadAnswer(f"malformed answer: {first[:80]!r}")
    headers = {}
    for field in fields:
        name, colon, value = field.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return int(code), headers
