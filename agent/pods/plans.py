"""What a plan for a pod says, and what it is made from: plain values, so that plans can be compared, recorded and told.

The order of a plan's actions is the order of their execution. An action may rest on the one before it (containers on
their sandbox), so that a new pod needs one plan and not four rounds.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.pods.observed import ObservedPod
from agent.pods.restarts import Backoff


class Kind(enum.Enum):
    INIT = "init container"
    APP = "container"
    EPHEMERAL = "ephemeral container"


class KillReason(enum.Enum):
    """Why one container is killed, where its grace period depends on it."""

    LIVENESS = "liveness"
    STARTUP = "startup"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    RESTART_ALL = "restart all"


@dataclass(frozen=True, slots=True)
class StopPod:
    """Stop every container, then every sandbox. `done` when nothing is to follow: the pod has run its course."""

    done: bool


@dataclass(frozen=True, slots=True)
class StopContainer:
    container_id: str
    name: str
    reason: KillReason
    message: str


@dataclass(frozen=True, slots=True)
class RemoveContainer:
    container_id: str
    name: str


@dataclass(frozen=True, slots=True)
class CreateSandbox:
    attempt: int
    replaces: str = ""
    """Id of the sandbox that is no longer good, if there was one."""


@dataclass(frozen=True, slots=True)
class StartContainer:
    name: str
    kind: Kind
    attempt: int
    backoff: Backoff | None = None
    """What to remember for the container's next start."""


Action: TypeAlias = StopPod | StopContainer | RemoveContainer | CreateSandbox | StartContainer


@dataclass(frozen=True, slots=True)
class BackingOff:
    """A container that is due but has to wait."""

    name: str
    delay: float
    """The whole delay in seconds, as the message tells it."""
    until: float
    """Monotonic seconds."""


@dataclass(frozen=True, slots=True)
class Plan:
    actions: tuple[Action, ...] = ()
    backing_off: tuple[BackingOff, ...] = ()
    sandbox_id: str = ""
    """The sandbox that the containers go into, unless one is created first."""
    sandbox_attempt: int = 0

    @property
    def retry_at(self) -> float | None:
        """When to plan again though nothing happens (monotonic seconds)."""
        return min((one.until for one in self.backing_off), default=None)

    @property
    def finished(self) -> bool:
        """Nothing of the pod runs any more, nor will it."""
        return any(isinstance(one, StopPod) and one.done for one in self.actions)


@dataclass(frozen=True, slots=True)
class View:
    """All that a plan is made from, the pod itself apart."""

    runtime: ObservedPod
    started: frozenset[str] = frozenset()
    """Ids of running containers that have started, as their startup probes see it."""
    failed: Mapping[str, KillReason] = field(default_factory=dict)
    """Ids of running containers that a probe condemned."""
    backoffs: Mapping[str, Backoff] = field(default_factory=dict)
    """By `container_hash`: a container that is given another image begins anew."""
    exited_at: Mapping[str, float] = field(default_factory=dict)
    """By container id, monotonic seconds."""
    next_attempts: Mapping[str, int] = field(default_factory=dict)
    """By container name: the least number its next attempt may have, for what the runtime has forgotten and the API
    has not.
    """
