"""A real API server process, and the plainest client that can talk to it."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


class Connection:
    """One keep-alive connection."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port, self._tls = port, tls

    async def __aenter__(self) -> Connection:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._tls, limit=1 << 24)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def request(self, method: str, target: str, body: object = None) -> tuple[int, bytes]:
        data = b"" if body is None else json.dumps(body).encode()
        self.writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
        )
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        return int(head.split()[1]), await self.reader.readexactly(length)


@asynccontextmanager
async def server(folder: Path, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    with (folder / "server.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "controlplane.apiserver", "--data-dir", str(folder), "--port", str(port)),
            stderr=log,
        )
    try:
        yield process
    except BaseException:
        print((folder / "server.log").read_text()[-4000:])
        raise
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def connected(port: int, folder: Path) -> ssl.SSLContext:
    """Wait until the server answers; the TLS context of its administrator."""
    async with asyncio.timeout(60):
        while True:
            try:
                pki = folder / "pki"
                tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
                tls.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))
                async with Connection(port, tls) as connection:
                    status, _ = await connection.request("GET", "/readyz")
                    if status == 200:
                        return tls
            except (OSError, EOFError):
                pass
            await asyncio.sleep(0.05)
