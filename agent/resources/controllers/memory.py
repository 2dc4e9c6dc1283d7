"""The memory controller: the limit (kernel documents cgroup-v1/memory and cgroup-v2)."""

from __future__ import annotations

from agent.resources.settings import Settings

NAME = "memory"


def v1(settings: Settings) -> list[tuple[str, str]]:
    if settings.memory_limit is None:
        return []
    return [("memory.limit_in_bytes", str(settings.memory_limit))]


def v2(settings: Settings) -> list[tuple[str, str]]:
    if settings.memory_limit is None:
        return []
    return [("memory.max", str(settings.memory_limit) if settings.memory_limit >= 0 else "max")]
