"""What the machine's kernel offers, looked up once at start."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.resources.shares import DEFAULT_PERIOD

_KIB = 1024


@dataclass(frozen=True, slots=True)
class KernelFacts:
    memory_bytes: int = 0
    """Memory of the machine."""
    huge_page_sizes: tuple[int, ...] = ()
    """Bytes, ascending."""
    cgroup_v2: bool = True
    swap_limits: bool = False
    """Swap can be limited per cgroup."""
    cpu_quota: bool = True
    """CPU limits are enforced (setting, cpuCFSQuota)."""
    cpu_period: int = DEFAULT_PERIOD
    """Microseconds (setting, cpuCFSQuotaPeriod)."""
    single_process_oom_kill: bool = False
    """On cgroup v2: out of memory, one process is killed and not the whole container (setting)."""


def look_up(root: Path = Path("/")) -> KernelFacts:
    """The facts of this machine. Raises OSError when /proc or /sys is not there."""
    cgroups = root / "sys/fs/cgroup"
    v2 = (cgroups / "cgroup.controllers").exists()
    return KernelFacts(
        memory_bytes=_memory((root / "proc/meminfo").read_text().splitlines()),
        huge_page_sizes=_huge_pages(root / "sys/kernel/mm/hugepages"),
        cgroup_v2=v2,
        swap_limits=_swap_limits(root, v2),
    )


def size_name(size: int) -> str:
    """A huge page size as the hugetlb controller and runtimes write it: "64KB", "2MB", "1GB"."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size}B"


def _memory(lines: Iterable[str]) -> int:
    for line in lines:
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * _KIB
    return 0


def _huge_pages(folder: Path) -> tuple[int, ...]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return ()
    sizes = [name.removeprefix("hugepages-").removesuffix("kB") for name in names]
    return tuple(sorted(int(size) * _KIB for size in sizes if size.isdigit()))


def _swap_limits(root: Path, v2: bool) -> bool:
    if not v2:
        return (root / "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes").exists()
    # The files are in child cgroups only; our own is one, unless the agent runs in the root.
    own = (root / "proc/self/cgroup").read_text().strip().rpartition(":")[2].lstrip("/")
    return (root / "sys/fs/cgroup" / own / "memory.swap.max").exists()
