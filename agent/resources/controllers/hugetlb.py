"""The hugetlb controller: bytes of huge pages by page size (kernel document cgroup-v1/hugetlb)."""

from __future__ import annotations

from agent.resources.kernel import size_name
from agent.resources.settings import Settings

NAME = "hugetlb"


def v1(settings: Settings) -> list[tuple[str, str]]:
    limits = settings.huge_page_limits or {}
    return [(f"hugetlb.{size_name(size)}.limit_in_bytes", str(limit)) for size, limit in sorted(limits.items())]


def v2(settings: Settings) -> list[tuple[str, str]]:
    limits = settings.huge_page_limits or {}
    return [(f"hugetlb.{size_name(size)}.max", str(limit)) for size, limit in sorted(limits.items())]
