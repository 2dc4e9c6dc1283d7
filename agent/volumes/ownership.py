"""Modes and owners of a pod's own volumes, fsGroup among them (PodSecurityContext of the core API).

The volumes made here are empty or written by us, so the group is given to them as they are made and never by walking
what containers have put there since. (Which is also why fsGroupChangePolicy says nothing about them.)
"""

from __future__ import annotations

import os
import stat

_READ, _WRITE, _ENTER = 0o440, 0o660, 0o110


def folder_mode(mode: int, group: int | None, *, read_only: bool) -> int:
    """The mode of a volume's folder: the group may enter it, and what is made in it inherits the group."""
    return mode if group is None else mode | stat.S_ISGID | _ENTER | (_READ if read_only else _WRITE)


def file_mode(mode: int, group: int | None) -> int:
    """The mode of a file in a volume that containers only read."""
    return mode if group is None else mode | _READ


def settle(path: str | os.PathLike[str], mode: int, group: int | None) -> None:
    """Give a folder of ours its group and mode if it has them not. Raises OSError."""
    status = os.stat(path)
    if group is not None and status.st_gid != group:
        os.chown(path, -1, group)
    if stat.S_IMODE(status.st_mode) != mode:
        os.chmod(path, mode)  # after chown(2), which clears the set-group-ID bit
