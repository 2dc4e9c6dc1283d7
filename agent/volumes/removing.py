"""Taking a pod's folder away: first what is mounted in it, then the files, never across a live mount.

Nodes have lost the data of users to a recursive removal that walked into a volume which was still mounted. So mounts
are looked up in mountinfo and unmounted, and the walk itself refuses to enter another file system.
"""

from __future__ import annotations

import os
from pathlib import Path

from agent.volumes.kernel import Mounts


class StillMounted(OSError):
    """Something is mounted where files were to be removed."""


def unmount_all(folder: Path, mounts: Mounts) -> None:
    """Unmount everything at and below a folder; what is busy is detached. Raises OSError."""
    for point in mounts.points(folder):
        try:
            mounts.unmount(point)
        except OSError:
            mounts.unmount(point, detach=True)
    left = mounts.points(folder)
    if left:
        raise StillMounted(f"{left[0]} is still mounted")


def remove_tree(folder: Path, mounts: Mounts) -> None:
    """Remove a folder and all below it, mounts excepted. Raises StillMounted, OSError; what is gone already is fine."""
    if mounts.points(folder):
        raise StillMounted(f"{mounts.points(folder)[0]} is still mounted")
    try:
        device = os.lstat(folder).st_dev
    except FileNotFoundError:
        return
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _remove(parent, folder.name, device, folder)
    finally:
        os.close(parent)


def _remove(parent: int, name: str, device: int, path: Path) -> None:
    """Remove `name` in the folder `parent`, by descriptors, so that no link put there meanwhile leads elsewhere."""
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if os.fstat(descriptor).st_dev != device:
            raise StillMounted(f"{path} is on another file system")
        for entry in os.scandir(descriptor):
            if entry.is_dir(follow_symlinks=False):
                _remove(descriptor, entry.name, device, path / entry.name)
            else:
                os.unlink(entry.name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=parent)
