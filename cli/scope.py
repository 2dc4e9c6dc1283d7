"""Leaving the login session from which a node was started in the background.

Where systemd is the first process, whatever a login starts lives in the cgroup of that session. With KillUserProcesses
(logind.conf(5)) it is killed when the session ends, and in any case it counts against the limits of the user. A node
started by hand is no part of a session, so its supervisor asks for a scope of its own among the system's
(systemd.scope(5)), in which its children and containerd's shims are born too. The pods' cgroups are elsewhere.

Knows nothing of the node.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

SYSTEMD = Path("/run/systemd/system")  # there if and only if systemd is the first process (sd_booted(3))
OWN_CGROUP = Path("/proc/self/cgroup")
DEADLINE = 20.0
UNLIMITED = (1 << 64) - 1


class ScopeError(Exception):
    """This process is still where it was; the text says why."""


def leave_session(name: str) -> None:
    """Move this process into the scope `name` of systemd; without systemd there is no session to leave.

    Raises ScopeError.
    """
    if not SYSTEMD.is_dir():
        return
    unit = f"{name}.scope"
    try:
        done = subprocess.run(request(unit, os.getpid()), capture_output=True, text=True, timeout=DEADLINE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ScopeError(f"start {unit}: {error}") from error
    if done.returncode:
        raise ScopeError(f"start {unit}: {done.stderr.strip() or done.returncode}")
    _wait_for_move(unit)


def request(unit: str, pid: int) -> list[str]:
    """The call of systemd's StartTransientUnit (org.freedesktop.systemd1(5)) for a scope with process `pid` in it."""
    properties = [
        "Description", "s", "Orlop, a Kubernetes node",
        "PIDs", "au", "1", str(pid),
        "Slice", "s", "system.slice",
        "TasksMax", "t", str(UNLIMITED),  # every pod has a shim of a dozen threads in it
    ]  # fmt: skip
    return [
        "busctl", "call", "--quiet", f"--timeout={DEADLINE:g}",
        "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
        "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", "4", *properties, "0",
    ]  # fmt: skip


def _wait_for_move(unit: str) -> None:
    """The answer only says that systemd will do it."""
    until = time.monotonic() + DEADLINE
    while unit not in OWN_CGROUP.read_text(encoding="utf-8"):
        if time.monotonic() > until:
            raise ScopeError(f"start {unit}: still in {OWN_CGROUP.read_text(encoding='utf-8').strip()}")
        time.sleep(0.01)
