"""TCP probes: whether a port takes connections."""

from __future__ import annotations

import asyncio

from agent.pods.requests import dial_error
from agent.probes.results import SUCCESS, Outcome, failure


async def probe_tcp(host: str, port: int) -> Outcome:
    """Whether the port takes a connection. The caller sets the deadline."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        return failure(dial_error(host, port, error))
    writer.close()
    return SUCCESS
