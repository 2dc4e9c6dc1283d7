"""Opening what lies below a folder with openat2(2), which refuses to be led elsewhere.

The kernel itself checks each step of the path, so nothing that a container puts there meanwhile (a link, a mount) can
slip in between looking and opening.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from pathlib import Path

SYS_OPENAT2 = 437  # the same number on every architecture (since Linux 5.6)

RESOLVE_NO_XDEV = 0x01
"""Cross no mount point, bind mounts of the same file system included."""
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_BENEATH = 0x08
"""Stay below the folder that the path starts from."""

INSIDE = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS

_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def open_at(folder: int, path: str, flags: int, resolve: int = INSIDE) -> int:
    """A descriptor of `path` below the open `folder`. Raises OSError (EXDEV for a path that leads out)."""
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    descriptor: int = _libc.syscall(
        SYS_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))
    )
    if descriptor < 0:
        code = ctypes.get_errno()
        if code == errno.ENOSYS:
            raise OSError(code, f"openat2 is missing in kernel {platform.release()} (5.6 has it)")
        raise OSError(code, os.strerror(code), path)
    return descriptor


def open_beneath(folder: Path, path: str, flags: int) -> int:
    """A descriptor of a file below a folder; no link on the way leads out of it. Raises OSError."""
    root = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_at(root, path, flags)
    finally:
        os.close(root)
