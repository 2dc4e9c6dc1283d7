"""Files that are whole or not there, whatever happens in between.

What a process must find again after a crash or a power cut is written beside its place, flushed, renamed over it, and
the folder is flushed too, since the rename itself lives there. Whatever line the crash hits, the next run finds the old
content or the new one. A file that turns out to be damaged is moved out of the way, never deleted: someone may want it.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace the content of a file. The folder must exist.

    The name used meanwhile is always the same (`.<name>.tmp`), so that a crash leaves at most one and the next write
    clears it; therefore one file has one writer at a time. Raises OSError, and then the old content is still there.
    """
    draft = path.with_name(f".{path.name}.tmp")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(draft)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.fchmod(descriptor, mode)
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, path)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: Path, *, mode: int = 0o700) -> None:
    """Create a folder and those above it, durably; the mode is set on the last one also when it was there already."""
    missing = []
    at = path
    while not at.is_dir():
        missing.append(at)
        at = at.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        sync_directory(each.parent)
    if path.stat().st_mode & 0o7777 != mode:
        path.chmod(mode)


def set_aside(path: Path, now: float) -> Path:
    """Move a damaged file out of the way; `now` (seconds since the epoch) stamps its new name, which is returned.

    Raises OSError.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    target = path.with_name(f"{path.name}.damaged-{stamp}")
    count = 1
    while os.path.lexists(target):
        count += 1
        target = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    os.rename(path, target)
    sync_directory(path.parent)
    return target


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
