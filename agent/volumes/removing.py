"""Taking a pod's folder away: first what is mounted in it, then the files, never across a live mount.

Nodes have lost the data of users to a recursive removal that walked into a volume which was still mounted. So mounts
are looked up in mountinfo and unmounted, and the walk itself refuses to enter anything mounted: the kernel is asked to
open each folder without crossing a mount point (openat2(2), RESOLVE_NO_XDEV), bind mounts of the same file system
included.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.runtime.opening import INSIDE, RESOLVE_NO_XDEV, open_at
from agent.volumes.kernel import Mounts

# Each level that is walked into holds a descriptor open. What lies deeper is first moved up, so that a container
# cannot keep its pod from being removed by nesting folders.
MOST_DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class StillMounted(OSError):
    """Something is mounted where files were to be removed."""


def unmount_all(folder: Path, mounts: Mounts) -> None:
    """Unmount everything at and below a folder; what is busy is detached. Raises OSError."""
    for point in mounts.points(folder):
        try:
            mounts.unmount(point)
        except OSError:
            mounts.unmount(point, detach=True)
    _refuse_mounts(folder, mounts)


def remove_tree(folder: Path, mounts: Mounts) -> None:
    """Remove a folder and all below it, mounts excepted. Raises StillMounted, OSError; what is gone already is fine."""
    _refuse_mounts(folder, mounts)
    try:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        with _entered(parent, folder.name, folder) as top:
            while _empty(top, folder, top, 0):
                continue
        os.rmdir(folder.name, dir_fd=parent)
    except FileNotFoundError:
        return
    finally:
        os.close(parent)


def _refuse_mounts(folder: Path, mounts: Mounts) -> None:
    left = mounts.points(folder)
    if left:
        raise StillMounted(errno.EBUSY, f"{left[0]} is still mounted")


@contextmanager
def _entered(parent: int, name: str, path: Path) -> Iterator[int]:
    """A descriptor of the folder `name` in `parent`, if that is a folder and nothing is mounted there."""
    try:
        descriptor = open_at(parent, name, _FOLDER, INSIDE | RESOLVE_NO_XDEV)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise StillMounted(errno.EBUSY, f"{path} is still mounted") from error
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _empty(folder: int, path: Path, top: int, depth: int) -> bool:
    """Remove what is in a folder, by descriptors alone, so that no link put there meanwhile leads elsewhere.

    True when something was too deep and has been moved to `top` instead.
    """
    moved = False
    with os.scandir(folder) as listing:
        entries = list(listing)
    for entry in entries:
        try:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
            elif depth == MOST_DEPTH:
                os.rename(entry.name, f"..deep-{entry.inode()}", src_dir_fd=folder, dst_dir_fd=top)
                moved = True
            else:
                with _entered(folder, entry.name, path / entry.name) as inner:
                    moved |= _empty(inner, path / entry.name, top, depth + 1)
                os.rmdir(entry.name, dir_fd=folder)
        except FileNotFoundError:
            continue  # somebody else was faster
    return moved
