"""Connections as bytes both ways: of a bare socket, or under TLS.

A bare socket is used without asyncio's transports for one reason: a transport whose write fails throws away what has
come in and was not read yet. A runtime that ends a command sends its status, then closes the connection, stdin on the
way or not; the status must survive that stdin could not be written any more.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

CLOSE_GRACE = 5.0
PIECE = 64 * 1024


class Wire(Protocol):
    """One connection. Reading and writing raise OSError."""

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. One reader at a time."""

    async def write(self, data: bytes) -> None:
        """Send bytes; returns when the other side takes more. Cancelled in the middle, some of it may be gone."""

    async def flushed(self) -> None:
        """Wait until what was written is safe from our closing the connection."""

    def close(self) -> None:
        """End the connection both ways. `closed` must follow."""

    async def closed(self, grace: float = CLOSE_GRACE) -> None:
        """End the connection and let go of it, of what was not sent within `grace` seconds, too."""


class SocketWire:
    """A connected socket in non-blocking mode."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    async def read(self) -> bytes:
        await asyncio.sleep(0)  # a side that always has more to say must not keep the loop from everything else
        if self._socket.fileno() < 0:
            return b""
        with self._used():
            return await self._loop.sock_recv(self._socket, PIECE)

    async def write(self, data: bytes) -> None:
        async with self._sending:
            if self._socket.fileno() < 0:
                raise ConnectionResetError("the connection is closed")
            with self._used():
                await self._loop.sock_sendall(self._socket, data)

    @contextmanager
    def _used(self) -> Iterator[None]:
        self._users += 1
        self._unused.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def flushed(self) -> None:
        """Whatever was written is the kernel's to send."""

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the other side was faster

    async def closed(self, grace: float = CLOSE_GRACE) -> None:
        # The descriptor stays until nobody waits on it any more: its number would be somebody else's by then.
        self.close()
        try:
            async with asyncio.timeout(grace):
                await self._unused.wait()
        except TimeoutError:
            return
        finally:
            self._socket.close()


class StreamWire:
    """A connection of asyncio's streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        return await self._reader.read(PIECE)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def flushed(self) -> None:
        """`closed` gives it time."""

    def close(self) -> None:
        # Once: after a second time a TLS transport of Python 3.11.2 can no longer be cut off.
        if not self._writer.is_closing():
            self._writer.close()

    async def closed(self, grace: float = CLOSE_GRACE) -> None:
        self.close()
        try:
            async with asyncio.timeout(grace):
                await self._writer.wait_closed()
        except OSError:  # a timeout, too; it ends either way
            return
        finally:
            self._writer.transport.abort()


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Wire:
    """Connect by TCP, to the first address that answers. Raises OSError."""
    if tls is not None:
        return StreamWire(*await asyncio.open_connection(host, port, ssl=tls, limit=PIECE))
    loop = asyncio.get_running_loop()
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            await loop.sock_connect(made, address)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            failure = error
        except BaseException:
            made.close()
            raise
        else:
            return SocketWire(made)
    raise failure
