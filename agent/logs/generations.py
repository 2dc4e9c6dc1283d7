"""The files of one container log: the one being written, and those that were rotated away from it.

Rotation renames `0.log` to `0.log.20260102-150405` and later compresses that to `….gz`, so names sort by age.
"""

from __future__ import annotations

import os


def rotated(path: str) -> list[str]:
    """The paths of the rotated files of the log at `path`, the oldest first."""
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    whole = [each for each in names if each.startswith(f"{name}.") and not each.endswith(".tmp")]
    return [os.path.join(folder, each) for each in sorted(whole, key=lambda each: each.removesuffix(".gz"))]


def inode_of(path: str) -> int | None:
    """The file's inode, None when there is no such file."""
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def successor(path: str, inode: int) -> str | None:
    """The file that was begun after the one with `inode`, which once was at `path`; None while that is the last.

    In the moment of a rotation there is nothing at `path`: the newest has its new name, and the next is not begun.
    """
    current = inode_of(path)
    if current == inode:
        return None
    files = [file for file in rotated(path) if not file.endswith(".gz")]
    inodes = [inode_of(file) for file in files]
    if None in inodes or inode_of(path) == inode:
        return None  # renamed while we looked: look again later
    # If the file we read has been compressed or removed meanwhile, the oldest that is left comes next.
    after = files[inodes.index(inode) + 1 :] if inode in inodes else files
    if after:
        return after[0]
    return path if current is not None else None
