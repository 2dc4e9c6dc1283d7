"""Cgroups of version 2: one hierarchy (kernel document admin-guide/cgroup-v2)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agent.resources import folders
from agent.resources.controllers import CONTROLLERS
from agent.resources.settings import Settings

# Runtimes need these enabled in the parent for their containers, beside those that settings are written to.
_WANTED = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids")


class UnifiedTree:
    def __init__(self, mount: Path = Path("/sys/fs/cgroup")) -> None:
        self._mount = str(mount)
        self._available = frozenset(self._read_controllers())

    def _read_controllers(self) -> list[str]:
        with open(f"{self._mount}/cgroup.controllers") as file:
            return file.read().split()

    def ensure(self, path: str, settings: Settings) -> None:
        folder = self._folder(path)
        if not os.path.isdir(folder):
            self._make(path)
        for controller in CONTROLLERS:
            if controller.name in self._available:
                for file, value in controller.v2(settings):
                    folders.write(f"{folder}/{file}", value)

    def _make(self, path: str) -> None:
        """A controller works in a group when it is enabled in every group above."""
        at = self._mount
        enabled = " ".join(f"+{name}" for name in _WANTED if name in self._available)
        for part in path.split("/"):
            if enabled:
                folders.write(f"{at}/cgroup.subtree_control", enabled)
            at = f"{at}/{part}"
            os.makedirs(at, mode=0o755, exist_ok=True)
        if enabled:
            # The pod's containers are below, and the last level of it is the runtime's to make.
            folders.write(f"{at}/cgroup.subtree_control", enabled)

    def exists(self, path: str) -> bool:
        return os.path.isdir(self._folder(path))

    def children(self, path: str) -> Sequence[str]:
        return sorted(folders.child_names(self._folder(path)))

    def pids(self, path: str) -> set[int]:
        return folders.processes(self._folder(path))

    def kill(self, path: str) -> None:
        folder = self._folder(path)
        if os.path.exists(f"{folder}/cgroup.kill"):  # since Linux 5.14; misses nobody, not even who forks
            folders.write(f"{folder}/cgroup.kill", "1")
        else:
            folders.kill_each(folder, path)

    def remove(self, path: str) -> None:
        folders.remove(self._folder(path))

    def _folder(self, path: str) -> str:
        return f"{self._mount}/{path}"
