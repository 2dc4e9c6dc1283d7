"""The plugin without the agent: the executable imports this when nobody answers at the socket."""

from __future__ import annotations

import os

from cni.bridge.plugin import Plugin
from cni.kernel.linux import LinuxKernel


def serve(name: str, stdin: bytes) -> tuple[int, bytes]:
    """Do what this process was called for; returns exit code and standard output.

    The agent may have taken the call and died over it. Both an ADD and a DEL then find what it left, by the lease, and
    start afresh.
    """
    return Plugin(LinuxKernel()).serve(name, dict(os.environ), stdin)
