"""emptyDir and hostPath: volumes that are a folder of this machine."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.resources.pods import pod_settings
from agent.runtime.facts import NodeFacts
from agent.volumes.host import SetUpError
from agent.volumes.kernel import Mounts
from agent.volumes.ownership import folder_mode, settle
from api import core_v1 as core
from api.quantity import Quantity
from api.resource_names import HUGEPAGES_PREFIX, is_hugepages

EMPTY_DIR_MODE = 0o777
TMPFS_MODE = 0o1777
"""What the top of a tmpfs has when nobody says otherwise, and programs have come to expect."""

MEMORY, HUGE_PAGES = "Memory", "HugePages"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a volume in memory may take, in bytes: `memory` in all (None: half the machine's), `page` for huge pages."""

    memory: int | None = None
    page: int = 0


def set_up_empty_dir(path: Path, medium: str, bounds: Bounds, mounts: Mounts, group: int | None) -> None:
    """Have the folder, or a memory file system in it; idempotent. What is there already is left as it is.

    Raises OSError, SetUpError.
    """
    if medium == "":
        _make_folder(path, folder_mode(EMPTY_DIR_MODE, group, read_only=False), group)
        return
    path.mkdir(parents=True, exist_ok=True, mode=0o755)
    if path in mounts.points(path):
        return
    mode = folder_mode(TMPFS_MODE, group, read_only=False)
    if medium == MEMORY:
        mounts.mount_tmpfs(path, bounds.memory, mode, group)
    elif _is_huge(medium):
        mounts.mount_huge_pages(path, bounds.page, mode, group)
    else:
        raise SetUpError(f'unknown storage medium "{medium}"')


def _make_folder(path: Path, mode: int, group: int | None) -> None:
    """The folder appears under its name only once mode and group are right: afterwards it is the containers' own."""
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    fresh = path.with_name(f".{path.name}.new")
    fresh.mkdir(exist_ok=True)
    settle(fresh, mode, group)
    fresh.rename(path)


def empty_dir_bounds(pod: core.Pod, source: core.EmptyDirVolumeSource, facts: NodeFacts) -> Bounds:
    """What an emptyDir of a pod may take. Raises SetUpError."""
    if source.medium == MEMORY:
        return Bounds(memory=memory_bound(pod, source.size_limit, facts))
    return Bounds(page=_page_size(pod, source.medium)) if _is_huge(source.medium) else Bounds()


def memory_bound(pod: core.Pod, size_limit: Quantity | None, facts: NodeFacts) -> int | None:
    """The least of what the node has for pods, what the pod may use, and what the volume asks for (KEP-1967)."""
    candidates = [
        facts.allocatable["memory"].value() if "memory" in facts.allocatable else 0,
        pod_settings(pod, facts.kernel).memory_limit or 0,
        size_limit.value() if size_limit is not None else 0,
    ]
    bounds = [bytes_ for bytes_ in candidates if bytes_ > 0]
    return min(bounds) if bounds else None


def _is_huge(medium: str) -> bool:
    return medium == HUGE_PAGES or medium.startswith(f"{HUGE_PAGES}-")


def _page_size(pod: core.Pod, medium: str) -> int:
    """The bytes of a page: named by the medium, or the only size that the pod requests."""
    requested = set(_requested_page_sizes(pod))
    if medium == HUGE_PAGES:
        if len(requested) > 1:
            raise SetUpError(f"medium: {medium} can't be used if container requests multiple huge page sizes")
        sizes = requested
    else:
        sizes = requested & {Quantity(medium.removeprefix(f"{HUGE_PAGES}-")).value()}
    if not sizes:
        raise SetUpError(
            f"medium {medium}: hugePages storage requested, but there is no resource request for huge pages"
        )
    return sizes.pop()


def _requested_page_sizes(pod: core.Pod) -> Iterator[int]:
    requests = [container.resources.requests for container in (*pod.spec.containers, *pod.spec.init_containers)]
    if pod.spec.resources is not None:
        requests.append(pod.spec.resources.requests)
    for names in requests:
        yield from (Quantity(name.removeprefix(HUGEPAGES_PREFIX)).value() for name in names if is_hugepages(name))


def check_host_path(source: core.HostPathVolumeSource) -> None:
    """Have the path be what its type says, or make it. Blocks as long as its file system does. Raises SetUpError."""
    path, kind = source.path, source.type or ""
    if kind == "":
        return
    if kind not in _KINDS:
        raise SetUpError(f"{kind} is an invalid volume type")
    if kind in ("DirectoryOrCreate", "FileOrCreate") and not os.path.exists(path):
        _make(path, kind)
        return
    is_kind, name = _KINDS[kind]
    try:
        fits = is_kind(os.stat(path).st_mode)
    except OSError:
        fits = False
    if not fits:
        raise SetUpError(f"hostPath type check failed: {path} is not a {name}")


def _make(path: str, kind: str) -> None:
    """Fails in the words of Go's library, which upstream hands on."""
    try:
        if kind == "DirectoryOrCreate":
            os.makedirs(path, mode=0o755)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    except OSError as error:
        call, at = ("open", path) if kind == "FileOrCreate" else ("mkdir", error.filename)
        if call == "mkdir" and error.errno == errno.ENOTDIR:
            at = os.path.dirname(at)  # Go names the folder that is none
        raise SetUpError(f"{call} {at}: {os.strerror(error.errno or 0).lower()}") from error


_KINDS = {
    "Directory": (stat.S_ISDIR, "directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "directory"),
    "File": (stat.S_ISREG, "file"),
    "FileOrCreate": (stat.S_ISREG, "file"),
    "Socket": (stat.S_ISSOCK, "socket file"),
    "CharDevice": (stat.S_ISCHR, "character device"),
    "BlockDevice": (stat.S_ISBLK, "block device"),
}
