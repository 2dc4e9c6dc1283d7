"""What the agent itself remembers of a pod while it runs: back-offs, when containers ended, why one does not start.

None of it is on disk. After a restart of the agent back-offs begin anew and ends are dated by the runtime's stamps;
both only change how long something waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.pods.containers import Waiting
from agent.pods.observed import ContainerState, ObservedPod
from agent.pods.recording import Record
from agent.pods.restarts import Backoff
from api import core_v1 as core


@dataclass(slots=True)
class Memory:
    """One pod's."""

    record: Record = field(default_factory=Record)
    backoffs: dict[str, Backoff] = field(default_factory=dict)
    """By `container_hash`."""
    exited_at: dict[str, float] = field(default_factory=dict)
    """By container id, monotonic seconds."""
    waiting: dict[str, Waiting] = field(default_factory=dict)
    """By container name: why its last start failed, or what it waits for."""
    runtime: ObservedPod | None = None
    """What was last seen of the pod."""
    status: core.PodStatus | None = None
    """The status last made."""
    in_backoff: frozenset[str] = frozenset()
    """Containers of which it was said that they are held back."""

    def see(self, runtime: ObservedPod, monotonic: float, wall: float) -> None:
        """Take in a fresh look at the runtime."""
        self.runtime = runtime
        present = set()
        for one in runtime.containers:
            if one.state is not ContainerState.EXITED:
                continue
            present.add(one.id)
            if one.id not in self.exited_at:
                # The stamp dates an end that nobody watched. It may lie in the future if the clock was set back.
                ago = max(0.0, wall - one.finished_at) if one.finished_at else 0.0
                self.exited_at[one.id] = monotonic - ago
        for gone in self.exited_at.keys() - present:
            del self.exited_at[gone]

    def next_attempts(self, pod: core.Pod) -> Mapping[str, int]:
        """The least number each container's next attempt may have, by what the API was told of earlier ones."""
        status = self.status if self.status is not None else pod.status
        result = {}
        for one in [*status.init_container_statuses, *status.container_statuses]:
            ran = one.container_id or one.last_state.terminated is not None
            if ran:
                result[one.name] = one.restart_count + 1 if one.container_id else one.restart_count
        return result
