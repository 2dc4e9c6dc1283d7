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

MNT_DETACH, UMOUNT_NOFOLLOW = 0x2, 0x8

_libc = ctypes.CDLL(None, use_errno=True)


class Mounts(Protocol):
    """What volumes ask of the kernel. Raises OSError."""

    def points(self, below: Path) -> list[Path]:
        """The mount points at and below a folder (given without symbolic links in it), the latest first."""

    def mount_tmpfs(self, path: Path, size: int | None, mode: int, group: int | None) -> None:
        """Mount a tmpfs of `size` bytes at most (None: half of memory), whose top has that mode and group."""

    def mount_huge_pages(self, path: Path, page_size: int, mode: int, group: int | None) -> None:
        """Mount huge pages of `page_size` bytes each."""

    def unmount(self, path: Path, *, detach: bool = False) -> None:
        """Unmount; with `detach` at once, whoever still uses it. What is not mounted is fine."""


class LinuxMounts:
    """The real thing; needs CAP_SYS_ADMIN."""

    def __init__(self, mountinfo: str = "/proc/self/mountinfo") -> None:
        self._mountinfo = mountinfo
        self._noswap = True

    def points(self, below: Path) -> list[Path]:
        wanted = _escape(os.fsencode(below))
        with open(self._mountinfo, "rb") as file:
            table = file.read()
        if wanted not in table:  # the usual answer, had without taking thousands of lines apart
            return []
        found = [line.split(b" ", 5)[4] for line in table.splitlines() if wanted in line]
        prefix = wanted + b"/"
        return [
            Path(os.fsdecode(_unescape(path))) for path in reversed(found) if path == wanted or path.startswith(prefix)
        ]

    def mount_tmpfs(self, path: Path, size: int | None, mode: int, group: int | None) -> None:
        options = _top(mode, group) + ([f"size={size}"] if size is not None else [])
        if self._noswap:
            try:
                _mount("tmpfs", path, "tmpfs", [*options, "noswap"])
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self._noswap = False  # a kernel before 6.4: what is in the volume may be swapped out
        _mount("tmpfs", path, "tmpfs", options)

    def mount_huge_pages(self, path: Path, page_size: int, mode: int, group: int | None) -> None:
        _mount("nodev", path, "hugetlbfs", [*_top(mode, group), f"pagesize={page_size}"])

    def unmount(self, path: Path, *, detach: bool = False) -> None:
        flags = UMOUNT_NOFOLLOW | (MNT_DETACH if detach else 0)
        if _libc.umount2(os.fsencode(path), flags):
            code = ctypes.get_errno()
            if code not in (errno.EINVAL, errno.ENOENT):  # EINVAL: no mount point
                raise OSError(code, f"unmount {path}: {os.strerror(code)}")


def _top(mode: int, group: int | None) -> list[str]:
    return [f"mode={mode:o}"] + ([f"gid={group}"] if group is not None else [])


def _mount(source: str, target: Path, kind: str, options: list[str]) -> None:
    data = ",".join(options).encode()
    if _libc.mount(source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(0), data):
        code = ctypes.get_errno()
        raise OSError(code, f"mount {kind} at {target}: {os.strerror(code)}")


# In mountinfo these are written in octal (proc(5)); the backslash must be first to go in and last to come out.
_ESCAPES = tuple((byte, b"\\%03o" % byte[0]) for byte in (b"\\", b" ", b"\t", b"\n"))


def _escape(path: bytes) -> bytes:
    for plain, escaped in _ESCAPES:
        path = path.replace(plain, escaped)
    return path


def _unescape(path: bytes) -> bytes:
    for plain, escaped in reversed(_ESCAPES):
        path = path.replace(escaped, plain)
    return path


@dataclass(frozen=True, slots=True)
class FakeMount:
    """One mount of the double; `size` is a page's for huge pages."""

    path: Path
    kind: str
    size: int | None
    mode: int
    group: int | None


@dataclass
class FakeMounts:
    """Mounts in memory. `busy` mounts refuse to go until they are detached, `stuck` ones even then; `faults` are
    raised by mount point.
    """

    mounted: list[FakeMount] = field(default_factory=list)
    busy: set[Path] = field(default_factory=set)
    stuck: set[Path] = field(default_factory=set)
    faults: dict[Path, OSError] = field(default_factory=dict)

    def points(self, below: Path) -> list[Path]:
        paths = [each.path for each in reversed(self.mounted)]
        return [path for path in paths if path == below or below in path.parents]

    def mount(
        self, path: Path, kind: str = "bind", size: int | None = None, mode: int = 0, group: int | None = None
    ) -> None:
        """Something is mounted, by whomever."""
        if path in self.faults:
            raise self.faults[path]
        self.mounted.append(FakeMount(path, kind, size, mode, group))

    def mount_tmpfs(self, path: Path, size: int | None, mode: int, group: int | None) -> None:
        self.mount(path, "tmpfs", size, mode, group)

    def mount_huge_pages(self, path: Path, page_size: int, mode: int, group: int | None) -> None:
        self.mount(path, "hugetlbfs", page_size, mode, group)

    def unmount(self, path: Path, *, detach: bool = False) -> None:
        if path in self.stuck or (path in self.busy and not detach):
            raise OSError(errno.EBUSY, f"unmount {path}: Device or resource busy")
        for index in reversed(range(len(self.mounted))):
            if self.mounted[index].path == path:
                del self.mounted[index]
                return
