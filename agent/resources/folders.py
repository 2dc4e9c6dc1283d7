"""Cgroups as folders: what both versions have in common."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator


def below(folder: str) -> Iterator[str]:
    """The folder and all below it, deepest first; what vanishes meanwhile is left out."""
    try:
        entries = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    for entry in entries:
        yield from below(entry)
    yield folder


def child_names(folder: str) -> set[str]:
    try:
        return {entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)}
    except FileNotFoundError:
        return set()


def processes(folder: str) -> set[int]:
    """Processes in the group and below it."""
    found: set[int] = set()
    for each in below(folder):
        try:
            with open(f"{each}/cgroup.procs") as file:
                found.update(int(line) for line in file)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in (errno.ENODEV, errno.EOPNOTSUPP):  # removed meanwhile; threaded
                raise
    found.discard(0)  # a process outside our own PID namespace
    return found


def write(path: str, value: str) -> None:
    """Raises OSError that names the file and the value."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise OSError(error.errno, f"write {value!r}: {error.strerror}", path) from error


def remove(folder: str) -> None:
    """Removes the group and those below it. Raises OSError (EBUSY) while one has processes."""
    for each in below(folder):
        try:
            os.rmdir(each)
        except FileNotFoundError:
            continue


def kill_each(folder: str, path: str) -> None:
    """SIGKILL to every process of the group `path`, whose folder in some hierarchy is `folder`.

    A number read from cgroup.procs may belong to another process by the time it is used. So each is pinned by a file
    descriptor first, and looked at again: only what is still in the group is killed.
    """
    for pid in processes(folder):
        try:
            pinned = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if _is_in(pid, path):
                signal.pidfd_send_signal(pinned, signal.SIGKILL)
        except ProcessLookupError:
            continue
        finally:
            os.close(pinned)


def _is_in(pid: int, path: str) -> bool:
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            groups = [line.rstrip("\n").split(":", 2)[2].lstrip("/") for line in file]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return any(group == path or group.startswith(f"{path}/") for group in groups)
