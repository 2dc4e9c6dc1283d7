"""What this machine and its runtime can do, asked once at start, for the builders."""

from __future__ import annotations

from pathlib import Path

from cri.client import RuntimeClient

_CPUS = Path("/sys/devices/system/cpu")


async def recursive_read_only(client: RuntimeClient) -> bool:
    """Whether the runtime's default handler makes mounts read-only all the way down (KEP-3857). Raises CriError."""
    status = await client.status()
    return any(handler.features.recursive_read_only_mounts for handler in status.runtime_handlers if not handler.name)


def throttle_paths(cpus: Path = _CPUS) -> tuple[str, ...]:
    """The thermal throttling counters of each CPU: they tell of the neighbours' load, so containers do not see them."""
    return tuple(str(path) for path in sorted(cpus.glob("cpu[0-9]*/thermal_throttle")))
