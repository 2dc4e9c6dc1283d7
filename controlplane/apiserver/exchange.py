"""One request and its reply, free of the HTTP library that carries them.

Handlers are written against :class:`Exchange` and answer with a :class:`Reply`, or take over the connection through
:meth:`Exchange.stream` or :meth:`Exchange.messages` (watch, logs), or :meth:`Exchange.hijack` (exec and its kin). The
HTTP library is known to :mod:`controlplane.apiserver.http` and its two helpers alone, so that it can be exchanged
behind this seam.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from api import errors
from client.streaming.joining import End
from controlplane.apiserver.negotiation import JSON
from controlplane.apiserver.query import Query
from controlplane.apiserver.request import BEARER_PROTOCOL, RequestInfo, User


@dataclass(slots=True)
class Reply:
    """A complete answer. `headers` are added to those every answer carries."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    #: The client takes gzip and the body is worth it.
    gzip: bool = False


class Form(enum.Enum):
    """What a piece of an answer looks like as a WebSocket message."""

    TEXT = "text"
    BINARY = "binary"
    BASE64 = "base64"


class Stream(Protocol):
    """An answer of unknown length that is being sent."""

    def write(self, data: bytes) -> None:
        """Send a piece at once, without waiting; the caller watches :meth:`buffered`."""
        ...

    def write_framed(self, data: bytes) -> None:
        """Send bytes that are chunks already: shared by many streams, framed once."""
        ...

    def buffered(self) -> int:
        """Bytes the client has not taken yet."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the client has gone."""
        ...

    async def drain(self) -> None:
        """Wait until the client has taken most of what was written; raises ConnectionError when it is gone."""
        ...

    def finish(self) -> None:
        """End the answer properly."""
        ...


class Connection(Protocol):
    """What :mod:`controlplane.apiserver.http` lends to an exchange."""

    async def read_body(self, limit: int) -> bytes:
        """The whole body; raises StatusError (RequestEntityTooLarge) beyond `limit` bytes."""
        ...

    def start_stream(self, status: int, headers: Iterable[tuple[str, str]]) -> Stream: ...

    async def start_messages(self, form: Form, protocols: Iterable[str]) -> Stream:
        """Answer an upgrade request, and send pieces as WebSocket messages. Raises StatusError (BadRequest)."""
        ...

    def start_tunnel(self, head: bytes) -> End:
        """Leave HTTP with `head`: raw bytes both ways from then on."""
        ...

    def abort(self) -> None:
        """Cut the connection: an answer that was begun cannot be completed."""
        ...


#: The largest request body, in bytes (upstream's limit).
MAX_BODY = 3 * 1024 * 1024


class Exchange:
    """A request on its way through the server, and what has been learnt about it."""

    __slots__ = (
        "connection",
        "headers",
        "info",
        "method",
        "path",
        "peer_certificate",
        "query",
        "raw_query",
        "streamed",
        "user",
        "warnings",
    )

    def __init__(
        self,
        connection: Connection,
        method: str,
        path: str,
        raw_query: str,
        query: Query,
        headers: Mapping[str, str],
        peer_certificate: bytes | None,
    ) -> None:
        self.connection = connection
        self.method = method
        self.path = path
        self.raw_query = raw_query
        self.query = query
        #: Header names are matched without regard to case.
        self.headers = headers
        #: The client's certificate (DER) as TLS showed it, not yet judged.
        self.peer_certificate = peer_certificate
        self.info = RequestInfo(method.lower(), path=path)
        self.user = User("")
        #: Texts for Warning headers, in order.
        self.warnings: list[str] = []
        #: Set once a stream or tunnel was started: there is no Reply to send any more.
        self.streamed = False

    def warn(self, text: str) -> None:
        """Add a Warning header to the reply, once per text."""
        if text not in self.warnings:
            self.warnings.append(text)

    async def read_body(self) -> bytes:
        """The request's body; raises StatusError (RequestEntityTooLarge) when it is over the limit."""
        return await self.connection.read_body(MAX_BODY)

    def stream(self, status: int = 200, content_type: str = JSON, headers: Iterable[tuple[str, str]] = ()) -> Stream:
        """Begin an answer of unknown length."""
        self.streamed = True
        return self.connection.start_stream(status, [("Content-Type", content_type), *headers])

    @property
    def wants_websocket(self) -> bool:
        """Whether the client asks to go on by WebSocket."""
        headers = self.headers
        return headers.get("Upgrade", "").lower() == "websocket" and "upgrade" in headers.get("Connection", "").lower()

    @property
    def subprotocols(self) -> list[str]:
        """The WebSocket subprotocols that the client offers, in its order, without a token in that guise."""
        offered = [name.strip() for name in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        return [name for name in offered if name and not name.startswith(BEARER_PROTOCOL)]

    async def messages(self, forms: Mapping[str, Form]) -> Stream:
        """Begin an answer of unknown length by WebSocket; `forms` are those of the subprotocols, "" of none.

        Raises StatusError (Forbidden, BadRequest).
        """
        offered = self.subprotocols or [""]
        chosen = next((name for name in offered if name in forms), None)
        if chosen is None:
            text = f"requested protocol(s) are not supported: {offered}; supports {sorted(forms)}"
            raise errors.generic_server_response(403, self.info.verb, server_message=text)
        stream = await self.connection.start_messages(forms[chosen], [chosen] if chosen else [])
        self.streamed = True
        return stream

    def hijack(self, head: bytes) -> End:
        """Answer with `head` (a whole HTTP response head) and go on with raw bytes."""
        self.streamed = True
        return self.connection.start_tunnel(head)
