"""TCP probes, and how a failed connection reads: as Go's net package would put it, since events show it."""

from __future__ import annotations

import asyncio
import errno
import os

from agent.probes.results import SUCCESS, Outcome, failure


def address(host: str, port: int) -> str:
    """`host:port`, with brackets where they are needed."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def dial_error(host: str, port: int, error: OSError) -> str:
    """`dial tcp 10.0.0.1:80: connect: connection refused`."""
    where = f"dial tcp {address(host, port)}"
    if isinstance(error, TimeoutError):
        return f"{where}: i/o timeout"
    if error.errno is not None and error.errno > 0:
        call = "connect: " if error.errno in _CONNECT else ""
        return f"{where}: {call}{os.strerror(error.errno).lower()}"
    return f"{where}: {error}"


_CONNECT = frozenset(
    {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNRESET, errno.EADDRNOTAVAIL, errno.EINVAL}
)


async def probe_tcp(host: str, port: int) -> Outcome:
    """Whether the port takes a connection. The caller sets the deadline."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        return failure(dial_error(host, port, error))
    writer.close()
    return SUCCESS
