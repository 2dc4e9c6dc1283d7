"""What must be true of a host before a node is started on it; each complaint says what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cli.settings import Settings

PROGRAMS = {
    "containerd": "containerd",
    "runc": "runc",
    "ctr": "containerd",
    "busybox": "busybox-static",
    "catatonit": "catatonit",
}
HOSTS = Path("/etc/hosts")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def complaints(settings: Settings) -> list[str]:
    """Why a node cannot be started here; empty when it can."""
    found = []
    if os.geteuid() != 0:
        found.append("not root: run it with sudo")
    if not settings.runtime_endpoint:
        for program, package in PROGRAMS.items():
            if shutil.which(program, path=PATH) is None:
                found.append(f"{program} not found: install the package {package}")
        if not HOSTS.exists():
            found.append(f"no {HOSTS}, which containerd wants to copy for each pod: write one")
    if not _cgroups():
        found.append("no cgroup file system under /sys/fs/cgroup: mount one")
    if not Path("/proc/sys/net/ipv4/ip_forward").exists():
        found.append("the kernel has no IPv4 forwarding")
    return found


def _cgroups() -> bool:
    root = Path("/sys/fs/cgroup")
    return (root / "cgroup.controllers").exists() or (root / "memory").is_dir()
