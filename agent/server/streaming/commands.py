"""Exec and attach for clients that speak WebSocket: channels of one connection become streams of a SPDY one.

In the `channel.k8s.io` protocols a message begins with the number of its channel: 0 stdin, 1 stdout, 2 stderr, 3 the
closing status, 4 the terminal's size. Version 5 adds 255 and a channel's number: that channel ends, which is how stdin
can end while output goes on (`tar` in `kubectl cp`). The base64 forms are text for browsers. The runtime speaks version
4 on SPDY, where streams end by themselves. Sources: apimachinery's wsstream documentation; KEP-4006.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from aiohttp import WSMsgType, web

from agent.server.http import TakenOver
from agent.server.streaming.passing import dial
from client.streaming.frames import SpdyError
from client.streaming.session import SpdySession, Stream, StreamReset

V5, V4, V4_BASE64 = "v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"
PROTOCOLS = (V5, V4, V4_BASE64)
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_NAMES = {STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", ERROR: "error", RESIZE: "resize"}
MESSAGE_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Channels:
    """Which streams a command is to have."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    def opened(self) -> list[int]:
        """The streams in the order in which the runtime expects them."""
        wanted = [(ERROR, True), (STDIN, self.stdin), (STDOUT, self.stdout), (STDERR, self.stderr and not self.tty)]
        return [number for number, on in [*wanted, (RESIZE, self.tty)] if on]


def offered_protocols(request: web.BaseRequest) -> list[str]:
    """The WebSocket subprotocols that the client offers, in its order."""
    values = request.headers.getall("Sec-WebSocket-Protocol", [])
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


async def translate(request: web.BaseRequest, url: str, channels: Channels) -> web.StreamResponse:
    """Run the command behind `url` for a WebSocket client until it ends. Raises Problem before the upgrade."""
    headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", V4)]
    runtime = await dial(url, headers)
    try:
        socket = web.WebSocketResponse(protocols=PROTOCOLS, max_msg_size=MESSAGE_LIMIT, compress=False)
        await socket.prepare(request)
        session = SpdySession(runtime.reader, runtime.writer)
        await _Translation(_Client(socket), session, channels).run()
        await socket.close()
    finally:
        runtime.close()
    return TakenOver()


class _Client:
    """The WebSocket side: messages of channels, in the form that was negotiated."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.text = socket.ws_protocol == V4_BASE64
        self.can_close_channels = socket.ws_protocol == V5

    async def send(self, channel: int, payload: bytes) -> None:
        if self.text:
            await self.socket.send_str(f"{channel}{base64.b64encode(payload).decode()}")
        else:
            await self.socket.send_bytes(bytes((channel,)) + payload)

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message as channel and payload, None at the end of the connection."""
        while True:
            message = await self.socket.receive()
            if message.type is WSMsgType.BINARY and message.data and not self.text:
                return message.data[0], message.data[1:]
            if message.type is WSMsgType.TEXT and message.data and self.text:
                try:
                    return int(message.data[0]), base64.b64decode(message.data[1:], validate=True)
                except (ValueError, binascii.Error):
                    return None
            if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
                return None


class _Translation:
    """One command between its client and the runtime."""

    def __init__(self, client: _Client, session: SpdySession, channels: Channels) -> None:
        self._client = client
        self._session = session
        self._channels = channels
        self._streams: dict[int, Stream] = {}

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._read_session())
            try:
                await self._open_streams()
                await self._copy(group)
            except (StreamReset, ConnectionError) as error:
                await self._fail(str(error))
            finally:
                self._session.close()
                reading.cancel()

    async def _read_session(self) -> None:
        try:
            await self._session.run()
        except SpdyError:
            pass  # the streams have been reset with the cause, and who reads them reports it

    async def _open_streams(self) -> None:
        for number in self._channels.opened():
            self._streams[number] = await self._session.open({"streamtype": _NAMES[number]})
        # An empty message tells the client that the command is connected.
        first = next((number for number in (STDOUT, STDERR) if number in self._streams), ERROR)
        await self._client.send(first, b"")

    async def _copy(self, group: asyncio.TaskGroup) -> None:
        outputs = [group.create_task(self._output(number)) for number in (STDOUT, STDERR) if number in self._streams]
        status = group.create_task(self._status())
        inputs = group.create_task(self._input())
        finishing = asyncio.gather(*outputs, status)
        try:
            await asyncio.wait((finishing, inputs), return_when=asyncio.FIRST_COMPLETED)
            if finishing.done():
                finishing.result()  # raises what broke
                await self._client.send(ERROR, status.result())
        finally:
            # Either the command has ended, or the client has gone and the command's streams go with it.
            for task in (inputs, status, *outputs):
                task.cancel()
            await asyncio.gather(finishing, return_exceptions=True)

    async def _output(self, number: int) -> None:
        while data := await self._streams[number].read():
            await self._client.send(number, data)

    async def _status(self) -> bytes:
        pieces = []
        while data := await self._streams[ERROR].read():
            pieces.append(data)
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

    async def _fail(self, cause: str) -> None:
        """Tell the client that the stream broke: without a status it would take the end for success."""
        status = {
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: error streaming from the container runtime: {cause}",
            "reason": "InternalError",
            "details": {"causes": [{"message": cause}]},
            "code": 500,
        }
        if not self._client.socket.closed:
            await self._client.send(ERROR, orjson.dumps(status))


def choose_protocol(offered: Sequence[str]) -> str | None:
    """The first protocol of the client's that is spoken here."""
    return next((name for name in offered if name in PROTOCOLS), None)
