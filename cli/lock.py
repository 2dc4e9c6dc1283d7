"""One supervisor at a time: a lock that the kernel lets go of when its holder dies, whatever it dies of."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class AlreadyRunning(Exception):
    """Another supervisor holds the lock."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"orlop is running already (process {pid})")
        self.pid = pid


def take(path: Path) -> int:
    """Take the lock and write our process id into it; the descriptor returned holds it. Raises AlreadyRunning."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = int(os.read(descriptor, 32).decode().strip() or 0)
        os.close(descriptor)
        raise AlreadyRunning(pid) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def holder(path: Path) -> int | None:
    """The process that holds the lock, None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.pread(descriptor, 32, 0).decode().strip() or 0)
    finally:
        os.close(descriptor)
    return None
