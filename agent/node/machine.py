"""What this machine is and has, read from /proc, /sys and /etc.

Read once at start, apart from what can change under a running agent. Every reader takes a root folder, so that tests
can give it another machine.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from api.quantity import Quantity

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm", "armv6l": "arm"}
"""Kernel's word → Go's, which is what images and node selectors use. Others are the same in both."""

MEMORY_RESERVE = Quantity("100Mi")
"""Kept back from allocatable memory: upstream's default hard eviction threshold."""
STORAGE_RESERVE_PERCENT = 10


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts that do not change while the machine runs."""

    cpus: int
    memory_kib: int
    swap_bytes: int
    huge_pages: Mapping[int, int] = field(default_factory=dict)
    """Page size in KiB → number of pages reserved."""
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel_version: str = ""
    os_image: str = "Unknown"
    architecture: str = "amd64"


def read_machine(root: str = "/") -> Machine:
    """Raises OSError when /proc is not what it should be."""
    memory = _meminfo(root)
    machine_id = _line(root, "etc/machine-id") or _line(root, "var/lib/dbus/machine-id")
    return Machine(
        cpus=_cpus(root),
        memory_kib=memory["MemTotal"],
        swap_bytes=memory.get("SwapTotal", 0) * 1024,
        huge_pages=_huge_pages(root),
        machine_id=machine_id,
        # Machines without firmware tables (containers, some boards) are told apart by their machine id.
        system_uuid=_line(root, "sys/class/dmi/id/product_uuid") or machine_id,
        boot_id=_line(root, "proc/sys/kernel/random/boot_id"),
        kernel_version=_line(root, "proc/sys/kernel/osrelease"),
        os_image=_os_image(root),
        architecture=ARCHITECTURES.get(platform.machine(), platform.machine()),
    )


def storage_kib(path: str) -> int:
    """Size in KiB of the file system that `path` is on."""
    stat = os.statvfs(path)
    return stat.f_blocks * stat.f_frsize // 1024


def capacity(machine: Machine, storage: int, max_pods: int) -> dict[str, Quantity]:
    """What the node has; `storage` in KiB."""
    result = {
        "cpu": Quantity(str(machine.cpus)),
        "memory": Quantity(f"{machine.memory_kib}Ki"),
        "ephemeral-storage": Quantity(f"{storage}Ki"),
        "pods": Quantity(str(max_pods)),
    }
    for size, pages in machine.huge_pages.items():
        result[f"hugepages-{_page_size(size)}"] = Quantity(f"{pages * size}Ki") if pages else Quantity("0")
    return result


def allocatable(machine: Machine, storage: int, max_pods: int) -> dict[str, Quantity]:
    """What of it pods may ask for: all but what is kept back, and memory set aside for huge pages counts as such."""
    result = capacity(machine, storage, max_pods)
    memory = result["memory"] - MEMORY_RESERVE
    for size, pages in machine.huge_pages.items():
        if pages:
            memory = memory - Quantity(f"{pages * size}Ki")
    result["memory"] = memory if memory > Quantity("0") else Quantity("0")
    usable = storage * 1024 * (100 - STORAGE_RESERVE_PERCENT) // 100
    result["ephemeral-storage"] = Quantity(str(usable))
    return result


def _page_size(kib: int) -> str:
    if kib % (1024 * 1024) == 0:
        return f"{kib // (1024 * 1024)}Gi"
    return f"{kib // 1024}Mi" if kib % 1024 == 0 else f"{kib}Ki"


def _line(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def _meminfo(root: str) -> dict[str, int]:
    result = {}
    with open(os.path.join(root, "proc/meminfo"), encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            amount = rest.split()
            if amount and amount[0].isdigit():
                result[name] = int(amount[0])
    return result


def _cpus(root: str) -> int:
    with open(os.path.join(root, "proc/cpuinfo"), encoding="utf-8", errors="replace") as file:
        count = sum(1 for line in file if line.startswith("processor"))
    return count or os.cpu_count() or 1


def _huge_pages(root: str) -> dict[int, int]:
    folder = os.path.join(root, "sys/kernel/mm/hugepages")
    result: dict[int, int] = {}
    try:
        names = os.listdir(folder)
    except OSError:
        return result
    for name in sorted(names):
        size = name.removeprefix("hugepages-").removesuffix("kB")
        pages = _line(folder, f"{name}/nr_hugepages")
        if size.isdigit() and pages.isdigit():
            result[int(size)] = int(pages)
    return result


def _os_image(root: str) -> str:
    for path in ("etc/os-release", "usr/lib/os-release"):
        try:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                for line in file:
                    name, _, value = line.strip().partition("=")
                    if name == "PRETTY_NAME":
                        return value.strip("\"'")
        except OSError:
            continue
    return "Unknown"
