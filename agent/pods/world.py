"""The neighbours of a worker in one bundle, so that each is handed in once."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.pods.killing import Killer
from agent.pods.seams import Cgroups, Probes, Recorder, Runtime, Volumes
from agent.pods.starting import Starter
from api import core_v1 as core
from client.clock import Clock


class Statuses(Protocol):
    """Where a worker leaves what it has to say (`agent.pods.reporting`). Nothing here waits."""

    def set(self, pod: core.Pod, status: core.PodStatus) -> None: ...

    def finish(self, pod: core.Pod) -> None: ...

    def forget(self, uid: str) -> None: ...


@dataclass(frozen=True, slots=True)
class World:
    """What a worker can reach."""

    clock: Clock
    rng: random.Random
    runtime: Runtime
    volumes: Volumes
    cgroups: Cgroups
    probes: Probes
    recorder: Recorder
    statuses: Statuses
    starter: Starter
    killer: Killer
    host_ips: Callable[[], tuple[str, ...]]
    recursive_read_only: bool = False
    """The runtime can make mounts read-only with all that is mounted below them."""
    network_problem: Callable[[], str] = lambda: ""
    """Why no sandbox with a network of its own can be made at present; empty when it can."""
