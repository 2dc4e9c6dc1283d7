"""kubectl's side of the channel protocols of exec and attach, for tests."""

from __future__ import annotations

import base64
import json
from typing import Any

import aiohttp
from aiohttp import WSMsgType

V5, V4, BASE64 = "v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"
V1, V1_BASE64, NONE = "channel.k8s.io", "base64.channel.k8s.io", ""
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)


class Client:
    """kubectl's side of the channel protocols."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.text = socket.protocol in (BASE64, V1_BASE64)
        self.channels: dict[int, bytearray] = {}
        self.first: tuple[int, bytes] | None = None

    async def send(self, channel: int, data: bytes) -> None:
        if self.text:
            await self.socket.send_str(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self.socket.send_bytes(bytes((channel,)) + data)

    async def next(self) -> tuple[int, bytes] | None:
        message = await self.socket.receive()
        if message.type is WSMsgType.BINARY and not self.text:
            return message.data[0], message.data[1:]
        if message.type is WSMsgType.TEXT and self.text:
            return int(message.data[0]), base64.b64decode(message.data[1:])
        assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING), message
        return None

    async def until(self, channel: int, data: bytes) -> None:
        while self.channels.get(channel) != data:
            got = await self.next()
            assert got is not None
            self.first = self.first or got
            self.channels.setdefault(got[0], bytearray()).extend(got[1])

    async def to_the_end(self) -> dict[int, bytearray]:
        while (got := await self.next()) is not None:
            self.first = self.first or got
            self.channels.setdefault(got[0], bytearray()).extend(got[1])
        return self.channels

    async def status(self) -> dict[str, Any]:
        channels = await self.to_the_end()
        return dict(json.loads(channels[ERROR]))
