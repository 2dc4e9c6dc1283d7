"""Answers of unknown length as WebSocket messages: watches and logs for clients that cannot read a chunked body.

A piece is a message. Handshake, pings and the closing are aiohttp's; messages are written here, since a watch must not
wait while it writes. Knows aiohttp, like :mod:`controlplane.apiserver.connections`, which uses it.
"""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from aiohttp import web

from api import errors
from controlplane.apiserver.exchange import Form

CLOSE_DEADLINE = 30.0
"""Seconds for a client to answer our closing message."""

_MESSAGE_LIMIT = 64 << 10
"""The largest message a client may send; there is nothing to say."""

_TEXT, _BINARY = 0x81, 0x82  # the last frame of a message, and its kind


class Handler(Protocol):
    """The connection below."""

    @property
    def transport(self) -> asyncio.Transport | None: ...

    async def drained(self) -> None: ...


def frame(form: Form, data: bytes) -> bytes:
    """One unmasked message of one frame (RFC 6455, 5.2)."""
    kind = _BINARY if form is Form.BINARY else _TEXT
    if form is Form.BASE64:
        data = base64.b64encode(data)
    size = len(data)
    if size < 126:
        head = bytes((kind, size))
    elif size < 1 << 16:
        head = struct.pack(">BBH", kind, 126, size)
    else:
        head = struct.pack(">BBQ", kind, 127, size)
    return head + data


async def begin(request: web.BaseRequest, handler: Handler, form: Form, protocols: Iterable[str]) -> MessageStream:
    """Answer an upgrade request; raises StatusError (BadRequest) when it is malformed."""
    socket = web.WebSocketResponse(
        protocols=tuple(protocols), compress=False, timeout=CLOSE_DEADLINE, max_msg_size=_MESSAGE_LIMIT
    )
    if not socket.can_prepare(request).ok:
        raise errors.bad_request("malformed WebSocket handshake")
    await socket.prepare(request)
    return MessageStream(socket, handler, form)


class MessageStream:
    """An exchange's `Stream`; `settle` it when the exchange is over."""

    def __init__(self, socket: web.WebSocketResponse, handler: Handler, form: Form) -> None:
        self._socket = socket
        self._handler = handler
        self._form = form
        self._finished = False
        self._listening = asyncio.create_task(self._listen())

    def write(self, data: bytes) -> None:
        if not self.closed:
            self._write(frame(self._form, data))

    def write_framed(self, data: bytes) -> None:
        """Each chunk becomes a message, the last chunk the end."""
        if self.closed:
            return
        messages = []
        start = 0
        while start < len(data):
            head_end = data.index(b"\r\n", start) + 2
            size = int(data[start : head_end - 2], 16)
            if size == 0:
                self._finished = True
                break
            messages.append(frame(self._form, data[head_end : head_end + size]))
            start = head_end + size + 2
        self._write(b"".join(messages))

    def buffered(self) -> int:
        transport = self._handler.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    @property
    def closed(self) -> bool:
        return self._finished or self._handler.transport is None or self._handler.transport.is_closing()

    async def drain(self) -> None:
        await self._handler.drained()

    def finish(self) -> None:
        self._finished = True

    async def settle(self) -> None:
        """Say goodbye, and wait for the client to do so if all was said."""
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening  # aiohttp does not wait for the client's goodbye while somebody else reads
        if self._finished:
            await self._socket.close()

    async def _listen(self) -> None:
        """Answer pings; a client that says goodbye ends the connection, and with it the exchange."""
        async for _ in self._socket:
            continue
        if not self._finished and self._handler.transport is not None:
            self._handler.transport.close()

    def _write(self, data: bytes) -> None:
        transport = self._handler.transport
        if transport is not None:
            transport.write(data)
