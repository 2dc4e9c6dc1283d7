"""The plugin inside the agent: a socket at which the program that the runtime starts hands its call over.

The program then needs no imports, no sockets to the kernel and no set-up of its own, which is most of what a call would
cost. Calls are served one after the other by one thread that owns the kernel's sockets. As long as it is served, the
plugin's table in the packet filter is put back when a reload of somebody else's rules takes it along.

The exchange: the program sends its name and its environment, each ended by a NUL, an empty entry, and its standard
input to the end; the answer is the exit code in decimal, a newline, and the standard output.
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor

from cni.bridge.plugin import Plugin
from cni.kernel.interface import Kernel
from cni.kernel.linux import LinuxKernel
from cni.kernel.nftables import NftablesError
from cni.kernel.tables import TableRemovals

log = logging.getLogger(__name__)

REQUEST_DEADLINE = 5.0  # the program sends all it has at once
REQUEST_LIMIT = 4 * 1024 * 1024


class BadRequest(Exception):
    """What came in at the socket is no call of the plugin."""


def parse_request(data: bytes) -> tuple[str, dict[str, str], bytes]:
    """Program name, environment and standard input of a request. Raises BadRequest."""
    head, separator, stdin = data.partition(b"\0\0")
    name, *variables = head.split(b"\0")
    if not separator or not name:
        raise BadRequest(f"malformed request of {len(data)} bytes")
    environment = {}
    for variable in variables:
        key, _, value = variable.partition(b"=")
        environment[os.fsdecode(key)] = os.fsdecode(value)
    return os.fsdecode(name), environment, stdin


class PluginService:
    """Serves `orlop-cni` at a unix socket from `start` to `stop`."""

    def __init__(self, path: str, kernel: Kernel | None = None) -> None:
        self.path = path
        self._kernel = kernel
        self._own_kernel: LinuxKernel | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cni")
        self._plugin: Plugin | None = None
        self._server: asyncio.Server | None = None
        self._removals: TableRemovals | None = None

    async def start(self) -> None:
        """Listen. A socket left by a process that was killed is replaced. Raises OSError."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._prepare)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        temporary = f"{self.path}.{os.getpid()}"
        self._server = await asyncio.start_unix_server(self._serve, temporary)
        os.chmod(temporary, 0o600)
        os.replace(temporary, self.path)
        if self._own_kernel is not None:
            try:
                self._removals = TableRemovals()
            except OSError as error:
                log.warning('event=packet_filter_not_watched error="%s"', error)
            else:
                asyncio.get_running_loop().add_reader(self._removals.fileno(), self._on_removal)

    def _on_removal(self) -> None:
        """The packet filter has changed: put our part of it back if it went along."""
        assert self._removals is not None
        tables = self._removals.read()
        if tables is None or tables:
            self._thread.submit(self._mend, tables)

    def _mend(self, tables: set[str] | None) -> None:
        assert self._plugin is not None
        try:
            for name in self._plugin.mend(tables):
                log.warning("event=packet_filter_restored table=%s cause=removed_by_another", name)
        except (NftablesError, OSError) as error:
            log.error('event=packet_filter_not_restored error="%s"', error)

    def _prepare(self) -> None:
        kernel = self._kernel
        if kernel is None:
            kernel = self._own_kernel = LinuxKernel()
        self._plugin = Plugin(kernel)

    async def stop(self) -> None:
        """Finish the calls under way and listen no more; the program does its work itself from then on."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
            try:
                os.unlink(self.path)
            except FileNotFoundError:
                pass
        if self._removals is not None:
            asyncio.get_running_loop().remove_reader(self._removals.fileno())
            self._removals.close()
            self._removals = None
        self._thread.shutdown()
        if self._own_kernel is not None:
            self._own_kernel.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_DEADLINE):
                data = await _read_all(reader)
            name, environment, stdin = parse_request(data)
            assert self._plugin is not None
            loop = asyncio.get_running_loop()
            code, output = await loop.run_in_executor(self._thread, self._plugin.serve, name, environment, stdin)
            writer.write(b"%d\n" % code + output)
            await writer.drain()
        except (BadRequest, TimeoutError, ConnectionError):
            pass  # nobody is left who could be told: the program on the other end notices and does the work itself
        finally:
            writer.close()


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    parts, size = [], 0
    while part := await reader.read(1 << 16):
        size += len(part)
        if size > REQUEST_LIMIT:
            raise BadRequest(f"request of more than {REQUEST_LIMIT} bytes")
        parts.append(part)
    return b"".join(parts)
