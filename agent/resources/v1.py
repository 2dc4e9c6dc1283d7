"""Cgroups of version 1: a hierarchy for each controller, each with a tree of its own (kernel document cgroup-v1).

Settings are written where they belong; a group is listed and removed in every hierarchy there is, since runtimes make
their groups in all of them, the named one of systemd and the unified one of a hybrid set-up included.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.resources import folders
from agent.resources.controllers import CONTROLLERS
from agent.resources.settings import Settings

_NAMED = ("cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb", "devices", "freezer", "blkio", "perf_event")


class SplitTree:
    def __init__(self, hierarchies: Mapping[str, str] | None = None) -> None:
        """`hierarchies` is mount points by what is mounted there; by default those of this machine."""
        mounted = hierarchies if hierarchies is not None else mounted_hierarchies()
        self._by_controller = dict(mounted)
        self._mounts = tuple(dict.fromkeys(mounted.values()))

    def ensure(self, path: str, settings: Settings) -> None:
        for controller in CONTROLLERS:
            mount = self._by_controller.get(controller.name)
            if mount is None:
                continue
            folder = f"{mount}/{path}"
            os.makedirs(folder, mode=0o755, exist_ok=True)
            for file, value in controller.v1(settings):
                folders.write(f"{folder}/{file}", value)

    def exists(self, path: str) -> bool:
        """In all hierarchies that settings are written to."""
        mounts = [self._by_controller[one.name] for one in CONTROLLERS if one.name in self._by_controller]
        return bool(mounts) and all(os.path.isdir(f"{mount}/{path}") for mount in mounts)

    def children(self, path: str) -> Sequence[str]:
        found: set[str] = set()
        for mount in self._mounts:
            found |= folders.child_names(f"{mount}/{path}")
        return sorted(found)

    def pids(self, path: str) -> set[int]:
        found: set[int] = set()
        for mount in self._mounts:
            found |= folders.processes(f"{mount}/{path}")
        return found

    def kill(self, path: str) -> None:
        for mount in self._mounts:
            folders.kill_each(f"{mount}/{path}", path)

    def remove(self, path: str) -> None:
        for mount in self._mounts:
            folders.remove(f"{mount}/{path}")


def mounted_hierarchies(mountinfo: Path = Path("/proc/self/mountinfo")) -> dict[str, str]:
    """Mount points by controller; "systemd" is systemd's named hierarchy, "unified" the one of version 2.

    The format is that of proc_pid_mountinfo(5): the file system type and its options come after a lone dash.
    """
    found: dict[str, str] = {}
    for line in mountinfo.read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        point = fields[4]
        if kind[0] == "cgroup2":
            found["unified"] = point
        elif kind[0] == "cgroup":
            options = kind[2].split(",")
            for option in options:
                if option in _NAMED:
                    found.setdefault(option, point)
                elif option.startswith("name="):
                    found.setdefault(option.removeprefix("name="), point)
                elif option.startswith("net_"):
                    found.setdefault(option, point)
    return found
