"""Exec and attach for clients that speak WebSocket: channels of one connection become streams of a SPDY one.

In the `channel.k8s.io` protocols a message begins with the number of its channel: 0 stdin, 1 stdout, 2 stderr, 3 the
closing status, 4 the terminal's size. Version 5 adds 255 and a channel's number: that channel ends, which is how stdin
can end while output goes on (`tar` in `kubectl cp`). Before version 4 (or without any protocol) the closing status is
the text of an error, and nothing at all after a success. The base64 forms are for browsers; whether a message comes in
a text or a binary frame makes no difference in any. The runtime speaks version 4 on SPDY, where streams end by
themselves. Sources: apimachinery's wsstream documentation; KEP-4006.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from aiohttp import WSMsgType, web

from agent.server.streaming.passing import upgrade_runtime
from agent.server.streaming.websocket import checked
from client.clock import Clock
from client.streaming.session import SpdySession, Stream, StreamReset
from client.streaming.taking import TakenOver

V5, V4, V4_BASE64 = "v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"
V1, V1_BASE64 = "channel.k8s.io", "base64.channel.k8s.io"
PROTOCOLS = (V5, V4, V4_BASE64, V1, V1_BASE64)
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_NAMES = {STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", ERROR: "error", RESIZE: "resize"}
T = TypeVar("T")
OPEN_DEADLINE = 30.0
"""Seconds for the runtime to accept a command's streams."""


@dataclass(frozen=True, slots=True)
class Channels:
    """Which streams a command is to have. A terminal has no stderr of its own."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    def opened(self) -> list[int]:
        """The streams in the order in which they are opened."""
        wanted = [(ERROR, True), (STDIN, self.stdin), (STDOUT, self.stdout), (STDERR, self.stderr)]
        return [number for number, on in [*wanted, (RESIZE, self.tty)] if on]


def acceptable(request: web.BaseRequest) -> web.WebSocketResponse:
    """A WebSocket for a command. Raises Problem when the handshake is bad or none of the protocols is spoken here."""
    return checked(request, PROTOCOLS, none_will_do=True)


async def translate(request: web.BaseRequest, url: str, channels: Channels, clock: Clock) -> web.StreamResponse:
    """Run the command behind `url` for a WebSocket client until it ends. Raises Problem before the upgrade."""
    socket = acceptable(request)
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", V4)]
    runtime = await upgrade_runtime(url, headers)
    try:
        await socket.prepare(request)
        await _Translation(_Client(socket), SpdySession(runtime), channels, clock).run()
        await socket.close()
    finally:
        await runtime.closed()
    return TakenOver()


class _Client:
    """The WebSocket side: messages of channels, in the form that was negotiated."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._base64 = socket.ws_protocol in (V4_BASE64, V1_BASE64)
        self._knows_status = socket.ws_protocol in (V5, V4, V4_BASE64)
        self.can_close_channels = socket.ws_protocol == V5

    async def send(self, channel: int, payload: bytes) -> None:
        """Raises ConnectionError."""
        if self._base64:
            await self._socket.send_str(f"{channel}{base64.b64encode(payload).decode()}")
        else:
            await self._socket.send_bytes(bytes((channel,)) + payload)

    async def send_status(self, status: bytes) -> None:
        """How the command ended, as a Status in JSON. Raises ConnectionError."""
        if self._knows_status:
            await self.send(ERROR, status)
            return
        read = orjson.loads(status)
        if read.get("status") != "Success":
            await self.send(ERROR, str(read.get("message", "")).encode())

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message as channel and payload, None at the end of the connection."""
        while True:
            message = await self._socket.receive()
            if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                return None
            data = message.data.encode() if message.type is WSMsgType.TEXT else message.data
            if data:
                return _decoded(data) if self._base64 else (data[0], data[1:])


def _decoded(data: bytes) -> tuple[int, bytes] | None:
    """A message of a base64 protocol; nonsense ends the connection."""
    try:
        return int(data[:1]), base64.b64decode(data[1:], validate=True)
    except (ValueError, binascii.Error):
        return None


class _Translation:
    """One command between its client and the runtime."""

    def __init__(self, client: _Client, session: SpdySession, channels: Channels, clock: Clock) -> None:
        self._client = client
        self._session = session
        self._channels = channels
        self._clock = clock
        self._streams: dict[int, Stream] = {}
        self._tasks: list[asyncio.Task[Any]] = []
        """All that goes on for the command; `run` ends none before it is over."""

    async def run(self) -> None:
        """Returns when the command has ended and the client knows how, or when the client has gone."""
        self._begin(self._session.run())
        self._begin(self._session.keep_alive(self._clock))
        try:
            async with asyncio.timeout(OPEN_DEADLINE):
                await self._open_streams()
            command, inputs = self._begin(self._command()), self._begin(self._input())
            await asyncio.wait((command, inputs), return_when=asyncio.FIRST_COMPLETED)
            if command.done() or inputs.exception() is not None:
                # Stdin that cannot be written any more says nothing of how the command ended; what it left does.
                await self._client.send_status(await command)
        except (StreamReset, OSError) as error:
            await self._fail(error)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._session.close()

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _open_streams(self) -> None:
        for number in self._channels.opened():
            self._streams[number] = await self._session.open({"streamtype": _NAMES[number]})
        # An empty message tells the client that the command is connected.
        first = next((number for number in (STDOUT, STDERR) if number in self._streams), ERROR)
        await self._client.send(first, b"")

    async def _command(self) -> bytes:
        """Hand all output on; the command's status."""
        outputs = [self._begin(self._output(number)) for number in (STDOUT, STDERR) if number in self._streams]
        status = self._begin(self._status())
        for output in outputs:
            await output
        return await status

    async def _output(self, number: int) -> None:
        while data := await self._streams[number].read():
            await self._client.send(number, data)

    async def _status(self) -> bytes:
        pieces = []
        while data := await self._streams[ERROR].read():
            pieces.append(data)
        if not pieces:
            raise StreamReset("the command ended without a status")
        return b"".join(pieces)

    async def _input(self) -> None:
        """Hand the client's messages on until it closes the connection."""
        while (message := await self._client.receive()) is not None:
            channel, payload = message
            if channel == CLOSE and self._client.can_close_channels:
                for number in payload[:1]:
                    if number in (STDIN, RESIZE) and number in self._streams:
                        await self._streams[number].close()
            elif channel in (STDIN, RESIZE) and channel in self._streams and payload:
                await self._streams[channel].write(payload)

    async def _fail(self, error: Exception) -> None:
        """Tell the client that the stream broke: without a status it would take the end for success."""
        cause = str(error) or type(error).__name__
        status = {
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: error streaming from the container runtime: {cause}",
            "reason": "InternalError",
            "details": {"causes": [{"message": cause}]},
            "code": 500,
        }
        try:
            await self._client.send_status(orjson.dumps(status))
        except ConnectionError:
            return  # it was the client that broke off
