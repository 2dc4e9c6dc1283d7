"""What is set on a cgroup, whatever its version; None leaves a thing as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Settings:
    cpu_shares: int | None = None
    """In the units of version 1 (2 to 262144)."""
    cpu_quota: int | None = None
    """Microseconds a period; UNLIMITED lifts the limit."""
    cpu_period: int | None = None
    """Microseconds."""
    memory_limit: int | None = None
    """Bytes; UNLIMITED lifts the limit."""
    pids_limit: int | None = None
    """Processes and threads; UNLIMITED lifts the limit."""
    huge_page_limits: Mapping[int, int] | None = None
    """Bytes by page size in bytes."""
