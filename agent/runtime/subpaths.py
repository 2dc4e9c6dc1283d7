"""Mounting a part of a volume without being led out of it.

A container may write into a volume while another is about to mount a path below it; a symbolic link put there at the
right moment must not turn the mount into one of the host's files (CVE-2017-1002101). So the path is opened step by step
beneath the volume's folder with openat2(2) and RESOLVE_BENEATH, and what was opened, not what was named, is bound to a
place of the agent's own, which is what the runtime is then given. Parts that are missing are made as folders. The binds
go with the pod's folder, like all that is mounted in it (agent.volumes.removing).

Everything here blocks, on file systems that may hang; callers run it in a thread with a deadline.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from agent.runtime.opening import open_at

MS_BIND = 4096
MNT_DETACH = 2
UMOUNT_NOFOLLOW = 8

_libc = ctypes.CDLL(None, use_errno=True)


class SubPathError(Exception):
    """A sub-path cannot be mounted. The message says why, with what is where on the host: it is for logs alone."""


class MissingFolderError(SubPathError):
    """A part of it that is missing cannot be made."""


class SubPaths(Protocol):
    """The kernel as sub-paths need it."""

    def bind(self, volume: Path, sub_path: str, target: Path) -> None:
        """Binds `sub_path` of the volume's folder to `target`, both made if missing. Raises SubPathError,
        MissingFolderError.
        """


class KernelSubPaths:
    """The real thing; needs CAP_SYS_ADMIN."""

    def bind(self, volume: Path, sub_path: str, target: Path) -> None:
        if is_outside(sub_path):
            raise SubPathError(f"sub-path {sub_path!r} leads out of the volume")
        try:
            with _opened(volume, sub_path) as descriptor:
                _make_place(target, stat.S_ISDIR(os.fstat(descriptor).st_mode))
                _unmount(target)
                _mount_bind(f"/proc/self/fd/{descriptor}", target)
        except OSError as error:
            raise SubPathError(f"bind {volume}/{sub_path}: {error.strerror or error}") from error


class FakeSubPaths:
    """Remembers what was asked for and does nothing, for tests without root."""

    def __init__(self) -> None:
        self.bound: dict[Path, tuple[Path, str]] = {}

    def bind(self, volume: Path, sub_path: str, target: Path) -> None:
        if is_outside(sub_path):
            raise SubPathError(f"sub-path {sub_path!r} leads out of the volume")
        self.bound[target] = (volume, sub_path)


def is_outside(sub_path: str) -> bool:
    """Whether a path is absolute or steps up."""
    return sub_path.startswith("/") or ".." in sub_path.split("/")


@contextmanager
def _opened(volume: Path, sub_path: str) -> Iterator[int]:
    """An O_PATH descriptor of the sub-path, made as folders where it is missing."""
    root = os.open(volume, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            found = open_at(root, sub_path, os.O_PATH)
        except FileNotFoundError:
            try:
                _make_folders(root, sub_path)
                found = open_at(root, sub_path, os.O_PATH)
            except OSError as error:
                raise MissingFolderError(f"make {volume}/{sub_path}: {error.strerror or error}") from error
        try:
            yield found
        finally:
            os.close(found)
    finally:
        os.close(root)


def _make_folders(root: int, sub_path: str) -> None:
    """Makes the missing folders with the mode of the volume's own; a link on the way is followed only inside."""
    mode = stat.S_IMODE(os.fstat(root).st_mode)
    done = ""
    for part in [one for one in sub_path.split("/") if one not in ("", ".")]:
        parent = open_at(root, done, os.O_PATH) if done else os.dup(root)
        try:
            try:
                os.mkdir(part, 0o700, dir_fd=parent)
            except FileExistsError:
                pass
            else:
                # mkdir(2) applies the umask. The new folder is ours; opening it without following keeps it so.
                own = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
                try:
                    os.fchmod(own, mode)
                finally:
                    os.close(own)
        finally:
            os.close(parent)
        done = f"{done}/{part}" if done else part


def _make_place(target: Path, folder: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
    if folder:
        target.mkdir(exist_ok=True, mode=0o750)
    elif not target.exists():
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640))


def _mount_bind(source: str, target: Path) -> None:
    if _libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(MS_BIND), None) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(target))


def _unmount(target: Path) -> None:
    """Takes down whatever is mounted at a place; a place without a mount is fine."""
    while _libc.umount2(os.fsencode(target), UMOUNT_NOFOLLOW | MNT_DETACH) == 0:
        continue
    code = ctypes.get_errno()
    if code not in (errno.EINVAL, errno.ENOENT):
        raise OSError(code, os.strerror(code), str(target))
