"""One module per cgroup controller: which files say what, in each version.

Each has `NAME`, and `v1` and `v2` that turn settings into (file, value) pairs in the order they are to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agent.resources.controllers import cpu, hugetlb, memory, pids
from agent.resources.settings import Settings

Writes = list[tuple[str, str]]


class Controller(NamedTuple):
    name: str
    v1: Callable[[Settings], Writes]
    v2: Callable[[Settings], Writes]


CONTROLLERS: Sequence[Controller] = (
    Controller(cpu.NAME, cpu.v1, cpu.v2),
    Controller(memory.NAME, memory.v1, memory.v2),
    Controller(pids.NAME, pids.v1, pids.v2),
    Controller(hugetlb.NAME, hugetlb.v1, hugetlb.v2),
)
