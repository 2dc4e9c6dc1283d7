"""The way to a node's kubelet: where it listens, and a connection to it with the server's own certificate.

What goes over the connection is HTTP/1.1 written here by hand: after an upgrade both directions are raw bytes, which
an HTTP client library would not hand out.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.scheme import SCHEME
from controlplane.apiserver.request import ObjectReader

#: Seconds to reach a kubelet and have it begin to answer.
_CONNECT_DEADLINE = 10.0
_HEAD_DEADLINE = 30.0

_DEFAULT_PORT = 10250
_ADDRESS_TYPES = ("InternalIP", "Hostname", "InternalDNS", "ExternalIP", "ExternalDNS")
_HEAD_LIMIT = 64 * 1024
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a kubelet listens."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(slots=True)
class Response:
    """The head of an answer and the way to its body."""

    status: int
    headers: dict[str, str]
    #: The head as it came, to be handed on unchanged after an upgrade.
    raw: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Let go of the connection."""
        self.writer.close()

    async def read_body(self, limit: int) -> bytes:
        """The body, at most `limit` bytes of it."""
        pieces, size = [], 0
        async for piece in self.iterate_body():
            pieces.append(piece)
            size += len(piece)
            if size >= limit:
                break
        return b"".join(pieces)[:limit]

    async def iterate_body(self) -> AsyncIterator[bytes]:
        """The body in pieces, as they come (RFC 9112, section 6).

        Raises EOFError when it breaks off, ValueError when its framing is wrong.
        """
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int((await self._line()).partition(b";")[0], 16):
                async for piece in self._take(size):
                    yield piece
                await self._line()
            return
        length = self.headers.get("content-length")
        async for piece in self._take(int(length) if length is not None else None):
            yield piece

    async def _take(self, size: int | None) -> AsyncIterator[bytes]:
        """`size` bytes, or all until the connection ends."""
        while size is None or size > 0:
            piece = await self.reader.read(_PIECE if size is None else min(size, _PIECE))
            if not piece:
                if size is None:
                    return
                raise EOFError("the connection ended in the middle of a body")
            if size is not None:
                size -= len(piece)
            yield piece

    async def _line(self) -> bytes:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended in the middle of a body")
        return line.strip()


class Kubelets:
    """Finds and calls the kubelets of the cluster's nodes."""

    def __init__(self, reader: ObjectReader, tls: ssl.SSLContext | None) -> None:
        nodes = SCHEME.by_resource("", "v1", "nodes")
        if nodes is None:
            raise LookupError("nodes are not in the scheme")
        self._nodes = nodes
        self._reader = reader
        self._tls = tls

    def endpoint(self, node_name: str) -> Endpoint:
        """Where the kubelet of a node listens; raises StatusError when there is no such node or it has no address."""
        node = self._reader.get(self._nodes, "", node_name)
        if not isinstance(node, core.Node):
            raise errors.not_found("nodes", node_name)
        known: dict[str, str] = {}
        for address in node.status.addresses:
            known.setdefault(address.type, address.address)
        host = next((known[kind] for kind in _ADDRESS_TYPES if known.get(kind)), "")
        if not host:
            raise unreachable(f"no preferred addresses found; known addresses: {node.status.addresses}")
        port = node.status.daemon_endpoints.kubelet_endpoint.port
        return Endpoint(host, port or _DEFAULT_PORT)

    async def call(
        self, endpoint: Endpoint, method: str, target: str, headers: Iterable[tuple[str, str]] = ()
    ) -> Response:
        """Send a request without body; returns once the head of the answer is there. Raises StatusError."""
        try:
            async with asyncio.timeout(_CONNECT_DEADLINE):
                reader, writer = await asyncio.open_connection(
                    endpoint.host, endpoint.port, ssl=self._tls, limit=_HEAD_LIMIT
                )
        except (OSError, TimeoutError) as error:
            cause = str(error) or "i/o timeout"
            raise unreachable(f"error dialing backend: dial tcp {endpoint.authority}: {cause}") from error
        lines = [f"{method} {target} HTTP/1.1", f"Host: {endpoint.authority}"]
        lines += [f"{name}: {value}" for name, value in headers]
        try:
            async with asyncio.timeout(_HEAD_DEADLINE):
                writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace"))
                raw = await reader.readuntil(b"\r\n\r\n")
            return _response(raw, reader, writer)
        except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError, ValueError) as error:
            writer.close()
            raise unreachable(f"error reading from backend {endpoint.authority}: {error or 'i/o timeout'}") from error
        except BaseException:
            writer.close()
            raise


def unreachable(message: str) -> errors.StatusError:
    """A failure on the way to a node: a 500 without reason, as upstream's proxy answers."""
    return errors.StatusError(meta.Status(status="Failure", code=500, message=message))


def _response(raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Response:
    status_line, *fields = raw.decode("latin-1").split("\r\n")
    headers = {}
    for field in fields:
        name, colon, value = field.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return Response(int(status_line.split(" ", 2)[1]), headers, raw, reader, writer)
