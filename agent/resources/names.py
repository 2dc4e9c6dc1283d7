"""Where the cgroups of QoS classes and pods are, for both ways of naming.

With the cgroupfs driver a cgroup is a path (`kubepods/burstable/pod<uid>`); with the systemd driver each level is a
slice whose name repeats its parents' (`kubepods-burstable-pod<uid>.slice`), and dashes within a part become
underscores, since the dash is what separates levels (systemd.slice(5)).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from api.pod_resources import BEST_EFFORT, BURSTABLE

ROOT = "kubepods"
_POD = "pod"

Name = tuple[str, ...]
"""A cgroup by its parts from the top, without the driver's decoration."""


class Driver(enum.Enum):
    CGROUPFS = "cgroupfs"
    SYSTEMD = "systemd"


def class_name(quality: str, root: Name = (ROOT,)) -> Name:
    """The cgroup whose children are the pods of a QoS class; guaranteed ones are at the top."""
    return (*root, quality.lower()) if quality in (BURSTABLE, BEST_EFFORT) else root


def pod_name(uid: str, quality: str, root: Name = (ROOT,)) -> Name:
    return (*class_name(quality, root), f"{_POD}{uid}")


def path_of(name: Name, driver: Driver) -> str:
    """Path below a cgroup mount, without a leading slash."""
    if driver is Driver.CGROUPFS:
        return "/".join(name)
    return "/".join(_slice(name[: depth + 1]) for depth in range(len(name)))


def parent_of_sandbox(name: Name, driver: Driver) -> str:
    """What a runtime is told as the cgroup parent: a path, or the name of a slice."""
    return f"/{'/'.join(name)}" if driver is Driver.CGROUPFS else _slice(name)


def uid_of(entry: str, driver: Driver) -> str | None:
    """The pod's UID in the name of one folder of the tree, or None when it is no pod's."""
    if driver is Driver.SYSTEMD:
        if not entry.endswith(".slice"):
            return None
        entry = entry.removesuffix(".slice").rpartition("-")[2].replace("_", "-")
    if not entry.startswith(_POD) or entry == ROOT or len(entry) == len(_POD):
        return None
    return entry.removeprefix(_POD)


def _slice(name: Sequence[str]) -> str:
    return "-".join(part.replace("-", "_") for part in name) + ".slice"
