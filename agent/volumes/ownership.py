"""fsGroup: giving a pod's group access to its own volumes (PodSecurityContext of the core API)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_READ, _WRITE = 0o440, 0o660


def give_to_group(path: Path, group: int, *, read_only: bool, only_on_mismatch: bool) -> None:
    """Give everything below `path` to `group`, with the bits it needs; new files inherit it. Raises OSError.

    With `only_on_mismatch` a volume whose top is right already is left alone, which spares walking large ones.
    """
    bits = _READ if read_only else _WRITE
    if only_on_mismatch and _is_given(path, group, bits):
        return
    for root, folders, names in os.walk(path, topdown=False):
        for name in names:
            _give(os.path.join(root, name), group, bits)
        for name in folders:
            full = os.path.join(root, name)
            if os.path.islink(full):
                os.lchown(full, -1, group)
        _give(root, group, bits)  # the top comes last: it is what `only_on_mismatch` goes by


def _is_given(path: Path, group: int, bits: int) -> bool:
    status = os.stat(path)
    wanted = bits | stat.S_ISGID | 0o110
    return status.st_gid == group and status.st_mode & wanted == wanted


def _give(path: str, group: int, bits: int) -> None:
    os.lchown(path, -1, group)
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return
    wanted = stat.S_IMODE(mode) | bits
    if stat.S_ISDIR(mode):
        wanted |= stat.S_ISGID | 0o110
    if wanted != stat.S_IMODE(mode):
        os.chmod(path, wanted)
