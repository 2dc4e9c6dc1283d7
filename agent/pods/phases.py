"""The phase of a pod: Pending, Running, Succeeded or Failed, from its containers' statuses alone.

A phase is never taken back once it is Succeeded or Failed; that rule lives in `agent.pods.status`, which knows what
was told before.
"""

from __future__ import annotations

from api import core_v1 as core
from api.pod_restarts import init_restarts_after, restarts_after
from api.pods import is_restartable_init, is_static

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TERMINAL = frozenset({SUCCEEDED, FAILED})

RESTARTING_ALL = "RestartingAllContainers"


class _Tally:
    """How many containers are in which state."""

    def __init__(self) -> None:
        self.pending_init = 0
        self.pending_sidecars = 0
        self.init_failed = 0
        self.unknown = 0
        self.running = 0
        self.waiting = 0
        self.stopped = 0
        self.for_good = 0
        self.succeeded = 0


def phase(
    pod: core.Pod,
    init_statuses: list[core.ContainerStatus],
    statuses: list[core.ContainerStatus],
    *,
    terminal: bool,
    initialized: bool,
) -> str:
    """The phase these statuses amount to.

    `terminal`: nothing of the pod will start again, whatever its policy. `initialized`: an app container was created
    in the present sandbox.
    """
    tally = _Tally()
    by_name = {one.name: one for one in [*init_statuses, *statuses]}
    for container in pod.spec.init_containers:
        if is_restartable_init(container):
            _count_sidecar(tally, by_name.get(container.name))
        else:
            _count_init(tally, pod, container, by_name.get(container.name))
    for container in pod.spec.containers:
        _count_app(tally, pod, container, by_name.get(container.name))

    if tally.init_failed:
        return FAILED
    if tally.pending_init or (tally.pending_sidecars and not initialized) or tally.waiting:
        return PENDING
    if tally.unknown:
        return PENDING
    if tally.running:
        return RUNNING
    if not tally.stopped:
        return PENDING
    if terminal and not is_static(pod):
        return SUCCEEDED if tally.stopped == tally.succeeded else FAILED
    if tally.stopped != tally.for_good:
        return RUNNING
    return SUCCEEDED if tally.stopped == tally.succeeded else FAILED


def _ended(status: core.ContainerStatus) -> core.ContainerStateTerminated | None:
    """How a container that does not run ended, be it now or, while it waits to start again, last time."""
    if status.state.terminated is not None:
        return status.state.terminated
    return status.last_state.terminated if status.state.waiting is not None else None


def _runs(status: core.ContainerStatus) -> bool:
    return status.state.running is not None


def _count_init(tally: _Tally, pod: core.Pod, container: core.Container, status: core.ContainerStatus | None) -> None:
    ended = _ended(status) if status is not None and not _runs(status) else None
    if ended is None:
        tally.pending_init += 1
    elif ended.exit_code != 0:
        again = init_restarts_after(pod, container, ended.exit_code) or ended.reason == RESTARTING_ALL
        if not again:
            tally.init_failed += 1


def _count_sidecar(tally: _Tally, status: core.ContainerStatus | None) -> None:
    if status is None:
        tally.unknown += 1
    elif status.state.running is not None:
        tally.running += 1
        if not status.started:
            tally.pending_sidecars += 1
    elif status.state.waiting is not None and _ended(status) is None:
        tally.pending_sidecars += 1
        tally.waiting += 1


def _count_app(tally: _Tally, pod: core.Pod, container: core.Container, status: core.ContainerStatus | None) -> None:
    if status is None:
        tally.unknown += 1
        return
    if _runs(status):
        tally.running += 1
        return
    ended = _ended(status)
    if ended is None:
        tally.waiting += 1
        return
    tally.stopped += 1
    if status.state.terminated is not None and ended.exit_code == 0:
        tally.succeeded += 1
    if not restarts_after(pod, container, ended.exit_code) and ended.reason != RESTARTING_ALL:
        tally.for_good += 1
