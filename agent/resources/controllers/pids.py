"""The pids controller: how many processes and threads (kernel document cgroup-v1/pids)."""

from __future__ import annotations

from agent.resources.settings import Settings

NAME = "pids"


def v1(settings: Settings) -> list[tuple[str, str]]:
    if settings.pids_limit is None:
        return []
    return [("pids.max", str(settings.pids_limit) if settings.pids_limit >= 0 else "max")]


v2 = v1
