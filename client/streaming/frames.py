"""Bytes of SPDY frames, version 3: what the Kubernetes streaming protocols use of it, in both directions.

SPDY never became a standard and browsers dropped it, but every kubelet and container runtime speaks it for exec,
attach and port-forward. Source: SPDY Protocol, draft 3.1, sections 2.2 and 2.6. Flow control (2.6.8) is left out as it
is by the other side: window updates are read and dropped.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

VERSION = 3
FIN = 0x01
HEADER_SIZE = 8
MAX_HEADERS = 1 << 20
"""Bytes of one block of headers, unpacked."""


class Kind(IntEnum):
    """The types of control frames."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class SpdyError(Exception):
    """The other side does not speak SPDY/3 as it should."""


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream; `fin` says that they are the last."""

    stream: int
    payload: bytes
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """A control frame. `number` is the stream's, the ping's, or the last good stream's; `code` a status."""

    kind: Kind
    number: int = 0
    fin: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    code: int = 0


Frame = Data | Control

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
).split()
_MORE_WORDS = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_CODES = (
    "100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416 417 502 "
    "504 505"
).split()
_PHRASES = (
    "203 Non-Authoritative Information", "204 No Content", "301 Moved Permanently", "400 Bad Request",
    "401 Unauthorized", "403 Forbidden", "404 Not Found", "500 Internal Server Error", "501 Not Implemented",
    "503 Service Unavailable", "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, "
    "Sat, Sun, GMT", "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,public", "privatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
)  # fmt: skip
# Section 2.6.10.1: each word with its length before it, then bare text. Both sides must have the very same bytes.
DICTIONARY = (
    b"".join(len(word).to_bytes(4, "big") + word.encode() for word in (*_WORDS, *_MORE_WORDS))
    + "".join((*_CODES, *_PHRASES)).encode()
)


class FrameWriter:
    """Makes frames. Header blocks share one compression state, so frames must be sent in the order they were made."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, 15, 8, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)

    def open_stream(self, stream: int, headers: Mapping[str, str], *, fin: bool = False) -> bytes:
        body = struct.pack(">IIH", stream, 0, 0) + self._block(headers)
        return _control(Kind.SYN_STREAM, body, FIN if fin else 0)

    def reply(self, stream: int, headers: Mapping[str, str]) -> bytes:
        return _control(Kind.SYN_REPLY, struct.pack(">I", stream) + self._block(headers))

    def ping(self, number: int) -> bytes:
        return _control(Kind.PING, struct.pack(">I", number))

    def reset(self, stream: int, code: int) -> bytes:
        return _control(Kind.RST_STREAM, struct.pack(">II", stream, code))

    def go_away(self, last_stream: int) -> bytes:
        return _control(Kind.GOAWAY, struct.pack(">II", last_stream, 0))

    def data(self, stream: int, payload: bytes, *, fin: bool = False) -> bytes:
        return struct.pack(">IB", stream, FIN if fin else 0) + len(payload).to_bytes(3, "big") + payload

    def _block(self, headers: Mapping[str, str]) -> bytes:
        parts = [struct.pack(">I", len(headers))]
        for name, value in headers.items():
            for text in (name.lower(), value):
                encoded = text.encode()
                parts += [struct.pack(">I", len(encoded)), encoded]
        return self._deflate.compress(b"".join(parts)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: Kind, body: bytes, flags: int = 0) -> bytes:
    return struct.pack(">HHB", 0x8000 | VERSION, kind, flags) + len(body).to_bytes(3, "big") + body


class FrameReader:
    """Takes bytes as they come and gives the frames that are complete. Raises SpdyError."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(15, DICTIONARY)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while len(self._buffer) >= HEADER_SIZE:
            length = int.from_bytes(self._buffer[5:8], "big")
            if len(self._buffer) < HEADER_SIZE + length:
                return
            head, body = bytes(self._buffer[:5]), bytes(self._buffer[HEADER_SIZE : HEADER_SIZE + length])
            del self._buffer[: HEADER_SIZE + length]
            frame = self._frame(head, body)
            if frame is not None:
                yield frame

    def _frame(self, head: bytes, body: bytes) -> Frame | None:
        first, flags = struct.unpack(">IB", head)
        fin = bool(flags & FIN)
        if not first & 0x80000000:
            return Data(first, body, fin)
        version, number = (first >> 16) & 0x7FFF, first & 0xFFFF
        if version != VERSION:
            raise SpdyError(f"control frame of version {version}")
        try:
            kind = Kind(number)
        except ValueError:
            return None  # section 2.2.1: unknown control frames are passed over
        try:
            return self._control(kind, fin, body)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise SpdyError(f"malformed {kind.name} frame: {error}") from error

    def _control(self, kind: Kind, fin: bool, body: bytes) -> Frame | None:
        if kind is Kind.SETTINGS:
            return None
        first = struct.unpack_from(">I", body)[0] & 0x7FFFFFFF
        match kind:
            case Kind.SYN_STREAM:
                return Control(kind, first, fin, self._headers(body[10:]))
            case Kind.SYN_REPLY | Kind.HEADERS:
                return Control(kind, first, fin, self._headers(body[4:]))
            case Kind.RST_STREAM | Kind.WINDOW_UPDATE:
                return Control(kind, first, code=struct.unpack_from(">I", body, 4)[0])
            case Kind.PING:
                return Control(kind, struct.unpack_from(">I", body)[0])
            case _:
                return Control(kind, first)

    def _headers(self, block: bytes) -> dict[str, str]:
        plain = self._inflate.decompress(block, MAX_HEADERS)
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"more than {MAX_HEADERS} bytes of headers")
        count, offset = struct.unpack_from(">I", plain)[0], 4
        headers = {}
        for _ in range(count):
            pair = []
            for _ in range(2):
                length = struct.unpack_from(">I", plain, offset)[0]
                text = plain[offset + 4 : offset + 4 + length]
                if len(text) < length:
                    raise SpdyError("a header ends before its length")
                pair.append(text.decode())
                offset += 4 + length
            headers[pair[0]] = pair[1]
        return headers
