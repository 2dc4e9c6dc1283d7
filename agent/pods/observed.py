"""What the runtime says of a pod: its sandboxes and containers, as plain values.

The planner and the status code read these and nothing else of the runtime, so that neither knows CRI. Order is by
attempt, newest first, never by the wall clock: a machine that boots in 1970 and is then corrected must not take an
old sandbox for the newest.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field


class ContainerState(enum.Enum):
    """The four states of CRI; the value is how events spell them."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ObservedUser:
    """Who the first process of a container is (CRI `LinuxContainerUser`)."""

    uid: int
    gid: int
    supplemental_groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedContainer:
    """One attempt at one container. Times are wall seconds since the epoch, 0 when it has not happened; for stamps
    only.
    """

    id: str
    name: str
    sandbox_id: str
    state: ContainerState
    attempt: int = 0
    """How often the container had been started before: the restart count of the API."""
    created_at: float = 0.0
    started_at: float = 0.0
    finished_at: float = 0.0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    """What the runtime says of the end, and the termination message if the container wrote one."""
    image: str = ""
    image_ref: str = ""
    """What the API calls imageID."""
    hash: str = ""
    """`agent.pods.identity.container_hash` at the time of creation; empty when it was not recorded."""
    user: ObservedUser | None = None
    image_missing: bool = False
    """The runtime no longer has the image; the container is there nonetheless."""


@dataclass(frozen=True, slots=True)
class ObservedSandbox:
    """One attempt at the pod's sandbox."""

    id: str
    ready: bool
    attempt: int = 0
    created_at: float = 0.0
    ips: tuple[str, ...] = ()
    host_network: bool = False


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """All that the runtime has of one pod, newest attempt first."""

    uid: str
    name: str = ""
    namespace: str = ""
    sandboxes: tuple[ObservedSandbox, ...] = ()
    containers: tuple[ObservedContainer, ...] = ()
    grace: float | None = None
    """The termination grace period noted on the containers, in seconds: all that is left of the spec when the pod is
    known to the runtime alone."""
    incomplete: str = ""
    """Why details of some container are missing: enough is known to end the pod, not to go on with it."""
    lagging: bool = False
    """Something is shown alive whose end the runtime has told already: look again soon, no event will say when."""
    _newest: dict[str, ObservedContainer] = field(default_factory=dict, repr=False, compare=False)
    _ids: set[str] = field(default_factory=set, repr=False, compare=False)

    def container(self, name: str) -> ObservedContainer | None:
        """The newest attempt at the named container."""
        if not self._newest:
            for one in self.containers:
                self._newest.setdefault(one.name, one)
        return self._newest.get(name)

    def attempts(self, name: str) -> list[ObservedContainer]:
        """Every attempt at the named container, newest first."""
        return [one for one in self.containers if one.name == name]

    def has(self, identity: str) -> bool:
        """Whether a sandbox or container of the pod has this id."""
        if not self._ids:
            self._ids.update(one.id for one in self.sandboxes)
            self._ids.update(one.id for one in self.containers)
        return identity in self._ids

    @property
    def outline(self) -> frozenset[tuple[str, str]]:
        """Ids with their states: what two looks at the pod are compared by."""
        sandboxes = [(one.id, "ready" if one.ready else "not ready") for one in self.sandboxes]
        return frozenset([*sandboxes, *((one.id, one.state.value) for one in self.containers)])

    @property
    def running(self) -> list[ObservedContainer]:
        """Containers that run, or of which the runtime cannot say that they do not."""
        return [one for one in self.containers if one.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)]

    @property
    def ready_sandboxes(self) -> list[ObservedSandbox]:
        return [one for one in self.sandboxes if one.ready]

    @property
    def ips(self) -> tuple[str, ...]:
        """Addresses of the newest sandbox, if it is alive."""
        return self.sandboxes[0].ips if self.sandboxes and self.sandboxes[0].ready else ()

    @property
    def empty(self) -> bool:
        return not self.sandboxes and not self.containers


def observed_pod(
    uid: str,
    name: str,
    namespace: str,
    sandboxes: Iterable[ObservedSandbox],
    containers: Iterable[ObservedContainer],
    grace: float | None = None,
    incomplete: str = "",
) -> ObservedPod:
    """Build an ObservedPod from parts in any order."""
    return ObservedPod(
        uid=uid,
        name=name,
        namespace=namespace,
        sandboxes=tuple(sorted(sandboxes, key=lambda one: (one.attempt, one.created_at, one.id), reverse=True)),
        containers=tuple(sorted(containers, key=lambda one: (one.attempt, one.created_at, one.id), reverse=True)),
        grace=grace,
        incomplete=incomplete,
    )
