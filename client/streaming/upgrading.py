"""Asking a server to leave HTTP (RFC 9110, section 7.8), and what came of it.

Written by hand on asyncio's streams, since what matters comes after the answer: the connection itself, which no HTTP
client library hands out.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

DEADLINE = 30.0
HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 64 * 1024


class UpgradeRefused(Exception):
    """The server answered with something other than 101."""

    def __init__(self, status: int, body: bytes, content_type: str) -> None:
        super().__init__(f"unable to upgrade connection: {body.decode(errors='replace').strip() or status}")
        self.status = status
        self.body = body
        self.content_type = content_type


@dataclass(slots=True)
class Upgraded:
    """A connection that has left HTTP. `head` is the answer's head as it came."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: bytes
    headers: Mapping[str, str]

    def close(self) -> None:
        self.writer.close()


async def upgrade(
    url: str,
    headers: Iterable[tuple[str, str]],
    *,
    method: str = "POST",
    tls: ssl.SSLContext | None = None,
    deadline: float = DEADLINE,
) -> Upgraded:
    """Connect to `url` and ask it to upgrade; `headers` say to what. Raises UpgradeRefused, OSError, TimeoutError."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Content-Length: 0"]
    lines += [f"{name}: {value}" for name, value in headers]
    async with asyncio.timeout(deadline):
        reader, writer = await asyncio.open_connection(
            parts.hostname, port, limit=HEAD_LIMIT, ssl=(tls or ssl.create_default_context()) if secure else None
        )
        try:
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
                raise ConnectionError(f"upgrade {parts.netloc}: no answer: {error}") from error
            status, answer = _parse(head)
            if status != 101:
                body = await _body(reader, answer)
                raise UpgradeRefused(status, body, answer.get("content-type", "text/plain"))
            return Upgraded(reader, writer, head, answer)
        except BaseException:
            writer.close()
            raise


def _parse(head: bytes) -> tuple[int, dict[str, str]]:
    first, *fields = head.decode("latin-1").split("\r\n")
    try:
        status = int(first.split(" ", 2)[1])
    except (IndexError, ValueError):
        raise ConnectionError(f"malformed answer: {first[:80]!r}") from None
    headers = {}
    for line in fields:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return status, headers


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    length = headers.get("content-length", "")
    if not length.isdigit():
        return await reader.read(BODY_LIMIT)
    try:
        return await reader.readexactly(min(int(length), BODY_LIMIT))
    except asyncio.IncompleteReadError as error:
        return error.partial
