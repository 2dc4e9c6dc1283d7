"""The statuses of a pod's containers, as the API shows them. Pure.

What the runtime has is the base. What it has no longer is filled in from what was told before, so that an exit is never
lost: a container that was running and is gone has terminated, though nobody can say how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.pods import restarts
from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod
from agent.pods.phases import RESTARTING_ALL
from agent.pods.plans import Kind
from api import core_v1 as core
from api.codec import deepcopy
from api.pods import AnyContainer
from api.times import Time

CONTAINER_CREATING = "ContainerCreating"
POD_INITIALIZING = "PodInitializing"
CRASH_LOOP = "CrashLoopBackOff"
STATUS_UNKNOWN = "ContainerStatusUnknown"
LOST_EXIT_CODE = 137
LOST_WHEN_TERMINATED = "The container could not be located when the pod was terminated"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container that is due does not run: reason and message of its waiting state."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What the statuses need beside the runtime's view."""

    runtime_name: str
    started: frozenset[str] = frozenset()
    """Ids of running containers that have started."""
    ready: frozenset[str] = frozenset()
    """Ids of running containers that are ready."""
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    """By container name: why the last attempt to start it came to nothing, or what it waits for."""
    initialized: bool = False
    """An app container was created in the present sandbox."""
    restarting: bool = False
    """All containers of the pod are being removed, to start anew in its sandbox."""
    recursive_read_only: bool = False
    """The runtime can make what is mounted below a read-only mount read-only too."""


def container_statuses(
    pod: core.Pod,
    kind: Kind,
    containers: Sequence[AnyContainer],
    runtime: ObservedPod,
    previous: Sequence[core.ContainerStatus],
    facts: ContainerFacts,
) -> list[core.ContainerStatus]:
    """One status for each of `containers`, in their order for init containers, else by name."""
    before = {one.name: one for one in previous}
    result = [_status(pod, kind, one, runtime, before.get(one.name), facts) for one in containers]
    return result if kind is Kind.INIT else sorted(result, key=lambda one: one.name)


def _status(
    pod: core.Pod,
    kind: Kind,
    container: AnyContainer,
    runtime: ObservedPod,
    old: core.ContainerStatus | None,
    facts: ContainerFacts,
) -> core.ContainerStatus:
    attempts = runtime.attempts(container.name)
    if attempts:
        status = _from_runtime(container, attempts, old, facts)
    else:
        status = _from_memory(pod, kind, container, old, facts)
    status.volume_mounts = _volume_mounts(container, facts)
    _hold_up(pod, kind, container, runtime, status, facts)
    if kind is not Kind.EPHEMERAL:
        _readiness(kind, container, attempts, status, facts)
    return status


def _from_runtime(
    container: AnyContainer, attempts: list[ObservedContainer], old: core.ContainerStatus | None, facts: ContainerFacts
) -> core.ContainerStatus:
    newest = attempts[0]
    identity = f"{facts.runtime_name}://{newest.id}"
    status = core.ContainerStatus(
        name=container.name,
        image=newest.image or container.image,
        image_id=newest.image_ref,
        container_id=identity,
        restart_count=newest.attempt,
        state=_state(newest, facts, old),
    )
    if newest.user is not None:
        status.user = core.ContainerUser(
            linux=core.LinuxContainerUser(
                uid=newest.user.uid, gid=newest.user.gid, supplemental_groups=list(newest.user.supplemental_groups)
            )
        )
    resources = getattr(container, "resources", None)
    status.resources = deepcopy(resources) if resources is not None else core.ResourceRequirements()
    status.allocated_resources = dict(status.resources.requests)
    if len(attempts) > 1:
        status.last_state = _state(attempts[1], facts, None)
    elif old is not None:
        # The runtime keeps one dead attempt or none; the API remembers the last.
        if old.container_id != identity and old.state.terminated is not None:
            status.last_state = core.ContainerState(terminated=old.state.terminated)
        elif old.last_state.terminated is not None:
            status.last_state = old.last_state
    return status


def _state(one: ObservedContainer, facts: ContainerFacts, old: core.ContainerStatus | None) -> core.ContainerState:
    if one.state is ContainerState.RUNNING:
        return core.ContainerState(running=core.ContainerStateRunning(started_at=_stamp(one.started_at)))
    if one.state is ContainerState.EXITED:
        terminated = core.ContainerStateTerminated(
            exit_code=one.exit_code,
            reason=one.reason or ("Completed" if one.exit_code == 0 else "Error"),
            message=one.message,
            # The epoch for one that could not even be started.
            started_at=Time.from_timestamp(one.started_at),
            finished_at=Time.from_timestamp(one.finished_at),
            container_id=f"{facts.runtime_name}://{one.id}",
        )
        return core.ContainerState(terminated=terminated)
    was_running = old is not None and old.state.running is not None
    if one.state is ContainerState.UNKNOWN and was_running:
        return lost_state(STATUS_UNKNOWN, LOST_WHEN_TERMINATED)
    return core.ContainerState(waiting=core.ContainerStateWaiting())


def _from_memory(
    pod: core.Pod, kind: Kind, container: AnyContainer, old: core.ContainerStatus | None, facts: ContainerFacts
) -> core.ContainerStatus:
    """The runtime knows nothing of the container: it has not begun, or what it did is remembered by the API alone."""
    if old is not None and facts.restarting and old.state.waiting is None:
        return _removed_to_restart(container, old)
    if old is not None and old.state.terminated is not None:
        return deepcopy(old)
    status = core.ContainerStatus(
        name=container.name, image=container.image, restart_count=old.restart_count if old else 0
    )
    if kind is Kind.INIT and facts.initialized and not _is_sidecar(kind, container):
        text = "Unable to get init container status from container runtime and pod has been initialized, "
        completed = core.ContainerStateTerminated(reason="Completed", message=f"{text}treat it as exited normally")
        status.state = core.ContainerState(terminated=completed)
        return status
    reason = POD_INITIALIZING if pod.spec.init_containers else CONTAINER_CREATING
    status.state = core.ContainerState(waiting=core.ContainerStateWaiting(reason=reason))
    if old is None:
        return status
    status.last_state = old.last_state
    if old.state.running is not None and old.last_state.terminated is None:
        text = "The container could not be located when the pod was deleted.  The container used to be Running"
        status.last_state = lost_state(STATUS_UNKNOWN, text)
        if pod.metadata.deletion_timestamp is None:
            status.restart_count += 1
    return status


def _removed_to_restart(container: AnyContainer, old: core.ContainerStatus) -> core.ContainerStatus:
    """KEP-5532: all containers were removed together, to start anew."""
    text = "The container is removed because RestartAllContainers in place"
    return core.ContainerStatus(
        name=container.name,
        image=container.image,
        restart_count=old.restart_count + 1,
        state=core.ContainerState(waiting=core.ContainerStateWaiting(reason=RESTARTING_ALL, message=text)),
        last_state=lost_state(RESTARTING_ALL, text),
    )


def lost_state(reason: str, message: str) -> core.ContainerState:
    """How a container ended whose end nobody saw."""
    return core.ContainerState(
        terminated=core.ContainerStateTerminated(exit_code=LOST_EXIT_CODE, reason=reason, message=message)
    )


def _hold_up(
    pod: core.Pod,
    kind: Kind,
    container: AnyContainer,
    runtime: ObservedPod,
    status: core.ContainerStatus,
    facts: ContainerFacts,
) -> None:
    """A container that is due to start again and cannot is waiting, and says why."""
    reason = facts.waiting.get(container.name)
    if reason is None or not restarts.due_to_start(pod, container, runtime):
        return
    newest = runtime.container(container.name)
    ended_well = newest is not None and newest.state is ContainerState.EXITED and newest.exit_code == 0
    if kind is Kind.INIT and ended_well and not _is_sidecar(kind, container):
        return
    if status.state.terminated is not None:
        status.last_state = status.state
    status.state = core.ContainerState(waiting=core.ContainerStateWaiting(reason=reason.reason, message=reason.message))


def _readiness(
    kind: Kind,
    container: AnyContainer,
    attempts: list[ObservedContainer],
    status: core.ContainerStatus,
    facts: ContainerFacts,
) -> None:
    running = status.state.running is not None
    identity = attempts[0].id if attempts else ""
    status.started = running and identity in facts.started
    if kind is Kind.INIT and not _is_sidecar(kind, container):
        terminated = status.state.terminated
        status.ready = terminated is not None and terminated.exit_code == 0
        return
    status.ready = status.started and identity in facts.ready


def _is_sidecar(kind: Kind, container: AnyContainer) -> bool:
    return kind is Kind.INIT and container.restart_policy == "Always"


def _volume_mounts(container: AnyContainer, facts: ContainerFacts) -> list[core.VolumeMountStatus]:
    result = []
    for mount in container.volume_mounts:
        one = core.VolumeMountStatus(name=mount.name, mount_path=mount.mount_path, read_only=mount.read_only)
        if mount.read_only:
            # Who insists on it where it cannot be had is refused when the container is made.
            wanted = mount.recursive_read_only in ("Enabled", "IfPossible")
            one.recursive_read_only = "Enabled" if wanted and facts.recursive_read_only else "Disabled"
        result.append(one)
    return result


def _stamp(seconds: float) -> Time | None:
    return Time.from_timestamp(seconds) if seconds else None
