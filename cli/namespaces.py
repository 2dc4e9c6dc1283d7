"""The folder in which network namespaces have names, made so that nobody's `ip netns add` gets in the pods' way.

The first `ip netns add` on a machine mounts the folder on itself, with all that is mounted in it, unless it is a shared
mount already (ip-netns(8), iproute2's `create_netns_dir`). Namespaces of running pods are then mounted twice, below and
above; a runtime unmounts one of them, and can never remove the file ("device or resource busy"), nor the pod. So it is
made a shared mount before there is a pod.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from agent.volumes.kernel import LinuxMounts

FOLDER = Path("/run/netns")
_MS_BIND, _MS_REC, _MS_SHARED = 0x1000, 0x4000, 0x100000

_libc = ctypes.CDLL(None, use_errno=True)


def share() -> None:
    """Make the folder a shared mount. Raises OSError.

    One that is a mount, or that has namespaces in it of somebody else's, is left as it is.
    """
    FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
    if FOLDER in LinuxMounts().points(FOLDER) or any(FOLDER.iterdir()):
        return
    place = os.fsencode(FOLDER)
    _mount(place, place, _MS_BIND)
    _mount(b"none", place, _MS_SHARED | _MS_REC)


def unshare() -> None:
    """Undo `share`, unless there are namespaces in the folder. Raises OSError."""
    if not FOLDER.exists() or any(FOLDER.iterdir()):
        return
    LinuxMounts().unmount(FOLDER)
    with suppress(OSError):  # somebody has just made a namespace
        FOLDER.rmdir()


def _mount(source: bytes, target: bytes, flags: int) -> None:
    if _libc.mount(source, target, b"none", ctypes.c_ulong(flags), None):
        code = ctypes.get_errno()
        raise OSError(code, f"mount {os.fsdecode(target)}: {os.strerror(code)}")
