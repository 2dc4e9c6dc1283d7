"""The cpu controller: shares or weight, and the quota (kernel documents scheduler/sched-bwc and cgroup-v2)."""

from __future__ import annotations

from agent.resources.settings import UNLIMITED, Settings
from agent.resources.shares import DEFAULT_PERIOD, weight_of

NAME = "cpu"


def v1(settings: Settings) -> list[tuple[str, str]]:
    writes = []
    if settings.cpu_shares is not None:
        writes.append(("cpu.shares", str(settings.cpu_shares)))
    if settings.cpu_quota is not None:
        # The period first: the kernel checks the quota against it.
        writes.append(("cpu.cfs_period_us", str(settings.cpu_period or DEFAULT_PERIOD)))
        writes.append(("cpu.cfs_quota_us", str(settings.cpu_quota or UNLIMITED)))
    return writes


def v2(settings: Settings) -> list[tuple[str, str]]:
    writes = []
    if settings.cpu_shares is not None:
        writes.append(("cpu.weight", str(weight_of(settings.cpu_shares))))
    if settings.cpu_quota is not None:
        quota = str(settings.cpu_quota) if settings.cpu_quota > 0 else "max"
        writes.append(("cpu.max", f"{quota} {settings.cpu_period or DEFAULT_PERIOD}"))
    return writes
