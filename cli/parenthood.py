"""Processes that must not outlive the one that started them."""

from __future__ import annotations

import ctypes
import signal

_PR_SET_PDEATHSIG = 1  # prctl(2)

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Be sent SIGTERM when the parent dies, however it does. Called in the child, before it becomes another program."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
