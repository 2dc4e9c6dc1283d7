"""Mounts: the seam to the kernel for volumes. `LinuxMounts` is the real one, `FakeMounts` the double.

Whether something is mounted is read from /proc/self/mountinfo and never asked of the file system: stat(2) on a dead
network mount does not come back.
"""

from __future__ import annotations

import ctypes
import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

MS_NOSUID, MS_NODEV = 0x2, 0x4
MNT_DETACH, UMOUNT_NOFOLLOW = 0x2, 0x8

_libc = ctypes.CDLL(None, use_errno=True)


class Mounts(Protocol):
    """What volumes ask of the kernel. Raises OSError."""

    def points(self, below: Path) -> list[Path]:
        """The mount points at and below a folder, the deepest and latest first."""

    def mount_tmpfs(self, path: Path, size: int | None, mode: int) -> None:
        """Mount a tmpfs of `size` bytes at most (None: half of memory)."""

    def mount_huge_pages(self, path: Path, page_size: str) -> None:
        """Mount huge pages of that size (`2Mi`)."""

    def unmount(self, path: Path, *, detach: bool = False) -> None:
        """Unmount; with `detach` at once, whoever still uses it. What is not mounted is fine."""


class LinuxMounts:
    """The real thing; needs CAP_SYS_ADMIN."""

    def __init__(self, mountinfo: str = "/proc/self/mountinfo") -> None:
        self._mountinfo = mountinfo
        self._noswap = True

    def points(self, below: Path) -> list[Path]:
        prefix = f"{below}/"
        with open(self._mountinfo, encoding="utf-8", errors="surrogateescape") as file:
            found = [_unescape(line.split(" ", 5)[4]) for line in file]
        return [Path(path) for path in reversed(found) if path == str(below) or path.startswith(prefix)]

    def mount_tmpfs(self, path: Path, size: int | None, mode: int) -> None:
        options = [f"mode={mode:o}"] + ([f"size={size}"] if size is not None else [])
        if self._noswap:
            try:
                _mount("tmpfs", path, "tmpfs", 0, ",".join([*options, "noswap"]))
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self._noswap = False  # a kernel before 6.4: what is in the volume may be swapped out
        _mount("tmpfs", path, "tmpfs", 0, ",".join(options))

    def mount_huge_pages(self, path: Path, page_size: str) -> None:
        _mount("nodev", path, "hugetlbfs", 0, f"pagesize={page_size.removesuffix('i')}")

    def unmount(self, path: Path, *, detach: bool = False) -> None:
        flags = UMOUNT_NOFOLLOW | (MNT_DETACH if detach else 0)
        if _libc.umount2(os.fsencode(path), flags):
            code = ctypes.get_errno()
            if code not in (errno.EINVAL, errno.ENOENT):  # EINVAL: no mount point
                raise OSError(code, f"unmount {path}: {os.strerror(code)}")


def _mount(source: str, target: Path, kind: str, flags: int, options: str) -> None:
    arguments = (source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode())
    if _libc.mount(*arguments):
        code = ctypes.get_errno()
        raise OSError(code, f"mount {kind} at {target}: {os.strerror(code)}")


def _unescape(path: str) -> str:
    """A path of mountinfo, in which space, tab, newline and backslash are octal (proc(5))."""
    if "\\" not in path:
        return path
    for code in ("040", "011", "012", "134"):
        path = path.replace(f"\\{code}", chr(int(code, 8)))
    return path


@dataclass
class FakeMounts:
    """Mounts in memory. `busy` mounts refuse to go until they are detached; `faults` are raised by mount point."""

    mounted: list[Path] = field(default_factory=list)
    busy: set[Path] = field(default_factory=set)
    faults: dict[Path, OSError] = field(default_factory=dict)

    def points(self, below: Path) -> list[Path]:
        return [path for path in reversed(self.mounted) if path == below or below in path.parents]

    def _mount(self, path: Path) -> None:
        if path in self.faults:
            raise self.faults[path]
        self.mounted.append(path)

    def mount_tmpfs(self, path: Path, size: int | None, mode: int) -> None:
        self._mount(path)

    def mount_huge_pages(self, path: Path, page_size: str) -> None:
        self._mount(path)

    def unmount(self, path: Path, *, detach: bool = False) -> None:
        if path in self.busy and not detach:
            raise OSError(errno.EBUSY, f"unmount {path}: Device or resource busy")
        if path in self.mounted:
            self.mounted.remove(path)
