"""Network namespaces by path, entered by one thread for as long as it takes to open a socket there.

A socket belongs for good to the namespace it was made in, so nothing but its creation needs to happen inside.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


class NoSuchNamespace(OSError):
    """The path names no network namespace (any more)."""


def open_namespace(path: str) -> int:
    """A descriptor of the network namespace at `path`, to be closed by the caller. Raises NoSuchNamespace."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NoSuchNamespace(error.errno, f"open network namespace {path}: {error.strerror}") from error


@contextmanager
def inside(descriptor: int) -> Iterator[None]:
    """Have the calling thread inside the namespace of `descriptor`, and back afterwards. Raises NoSuchNamespace.

    A thread that cannot get back would do its further work in a pod's network, so the process is ended then.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, CLONE_NEWNET):
            code = ctypes.get_errno()
            raise NoSuchNamespace(code, f"enter network namespace: {os.strerror(code)}")
        try:
            yield
        finally:
            if _libc.setns(home, CLONE_NEWNET):
                os.abort()
    finally:
        os.close(home)
