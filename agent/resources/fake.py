"""Cgroups in memory, for tests and simulations; they can be made to fail and to hold on."""

from __future__ import annotations

import dataclasses
import errno
import os
from collections.abc import Sequence

from agent.resources.settings import Settings


class FakeCgroups:
    """A `CgroupTree`."""

    def __init__(self) -> None:
        self.groups: dict[str, Settings] = {}
        self.processes: dict[str, set[int]] = {}
        """Processes by the group they are in; only groups that exist."""
        self.immortal: set[int] = set()
        """Processes that SIGKILL does not end (stuck in the kernel)."""
        self.fails: dict[str, int] = {}
        """errno by path: what `ensure` and `remove` of that group fail with."""
        self.killed: list[int] = []

    def ensure(self, path: str, settings: Settings) -> None:
        self._maybe_fail(path)
        parts = path.split("/")
        for depth in range(1, len(parts)):
            self.groups.setdefault("/".join(parts[:depth]), Settings())
        changed = {
            field.name: value
            for field in dataclasses.fields(settings)
            if (value := getattr(settings, field.name)) is not None
        }
        self.groups[path] = dataclasses.replace(self.groups.get(path, Settings()), **changed)

    def exists(self, path: str) -> bool:
        return path in self.groups

    def children(self, path: str) -> Sequence[str]:
        prefix = f"{path}/"
        return sorted({one[len(prefix) :].split("/")[0] for one in self.groups if one.startswith(prefix)})

    def pids(self, path: str) -> set[int]:
        return set().union(*(pids for group, pids in self.processes.items() if self._within(group, path)))

    def kill(self, path: str) -> None:
        for group, pids in self.processes.items():
            if self._within(group, path):
                self.killed.extend(sorted(pids))
                pids &= self.immortal

    def remove(self, path: str) -> None:
        self._maybe_fail(path)
        if self.pids(path):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        self.groups = {group: kept for group, kept in self.groups.items() if not self._within(group, path)}

    def _within(self, group: str, path: str) -> bool:
        return group == path or group.startswith(f"{path}/")

    def _maybe_fail(self, path: str) -> None:
        if path in self.fails:
            raise OSError(self.fails[path], os.strerror(self.fails[path]), path)
