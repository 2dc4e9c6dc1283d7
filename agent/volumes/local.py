"""emptyDir and hostPath: volumes that are a folder of this machine."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agent.volumes.host import SetUpError
from agent.volumes.kernel import Mounts
from api import core_v1 as core

EMPTY_DIR_MODE = 0o777


def set_up_empty_dir(path: Path, source: core.EmptyDirVolumeSource, mounts: Mounts, memory: int | None) -> None:
    """Have the folder, or a memory file system in it; idempotent. `memory` bounds the latter.

    Raises OSError, SetUpError.
    """
    fresh = not path.is_dir()
    path.mkdir(parents=True, exist_ok=True, mode=0o755)
    if source.medium == "":
        if fresh:
            path.chmod(EMPTY_DIR_MODE)  # mkdir(2) heeds the umask
        return
    if path in mounts.points(path):
        return
    if source.medium == "Memory":
        size = source.size_limit.value() if source.size_limit is not None else None
        bounds = [bound for bound in (size, memory) if bound]
        mounts.mount_tmpfs(path, min(bounds) if bounds else None, EMPTY_DIR_MODE)
    elif source.medium == "HugePages" or source.medium.startswith("HugePages-"):
        _, _, page_size = source.medium.partition("-")
        mounts.mount_huge_pages(path, page_size or "2Mi")
    else:
        raise SetUpError(f'unknown storage medium "{source.medium}"')


def memory_bound(pod: core.Pod, name: str) -> int | None:
    """The bytes that a memory volume may take at most: the containers' memory limits together, if all have one."""
    total = 0
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if not any(mount.name == name for mount in container.volume_mounts):
            continue
        limit = container.resources.limits.get("memory")
        if limit is None:
            return None
        total += limit.value()
    return total or None


def check_host_path(source: core.HostPathVolumeSource) -> None:
    """Have the path be what its type says, or make it. Blocks as long as its file system does. Raises SetUpError."""
    path, kind = source.path, source.type or ""
    if kind == "":
        return
    if kind in ("DirectoryOrCreate", "FileOrCreate") and not os.path.lexists(path):
        _make(path, kind)
        return
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise SetUpError(f"hostPath type check failed: {path} is not {_ARTICLES[kind]}") from error
    if not _CHECKS[kind](mode):
        raise SetUpError(f"hostPath type check failed: {path} is not {_ARTICLES[kind]}")


def _make(path: str, kind: str) -> None:
    try:
        if kind == "DirectoryOrCreate":
            os.makedirs(path, mode=0o755)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    except OSError as error:
        raise SetUpError(f"hostPath: create {path}: {error.strerror}") from error


_CHECKS = {
    "Directory": stat.S_ISDIR,
    "DirectoryOrCreate": stat.S_ISDIR,
    "File": stat.S_ISREG,
    "FileOrCreate": stat.S_ISREG,
    "Socket": stat.S_ISSOCK,
    "CharDevice": stat.S_ISCHR,
    "BlockDevice": stat.S_ISBLK,
}
_ARTICLES = {
    "Directory": "a directory",
    "DirectoryOrCreate": "a directory",
    "File": "a file",
    "FileOrCreate": "a file",
    "Socket": "a socket file",
    "CharDevice": "a character device",
    "BlockDevice": "a block device",
}
