"""The table of pods: one word for what state a pod is in.

STATUS is a summary over phase, reason, conditions and containers, in upstream's order of precedence: what holds the
pod up comes before what it is supposed to be. Users and scripts read these words, so the order is copied in effect
though not in form.
"""

from __future__ import annotations

from dataclasses import dataclass

from api import core_v1 as core
from api import meta_v1 as meta
from api.times import Time
from controlplane.apiserver.tables.ages import since
from controlplane.apiserver.tables.columns import AGE, NAME, NONE, Cell, Printer, column, or_none

_COLUMNS = (
    NAME,
    column("Ready", "Containers that are ready, of all that keep running."),
    column("Status", "What state the pod's containers are in, as one word."),
    column("Restarts", "How often containers of the pod were restarted, and how long ago the last time was."),
    AGE,
    column("IP", "First address of the pod.", wide=True),
    column("Node", "Node the pod is bound to.", wide=True),
    column("Nominated Node", "Node on which others are being preempted for the pod.", wide=True),
    column("Readiness Gates", "Extra conditions that are true, of those the pod waits for.", wide=True),
)

_COMPLETED = {
    "Succeeded": meta.TableRowCondition(
        type="Completed", status="True", reason="Succeeded", message="The pod has completed successfully."
    ),
    "Failed": meta.TableRowCondition(type="Completed", status="True", reason="Failed", message="The pod failed."),
}


@dataclass(slots=True)
class _Restarts:
    """A count, and the end of the newest of the runs before the present one."""

    count: int = 0
    last: Time | None = None

    def add(self, status: core.ContainerStatus) -> None:
        self.count += status.restart_count
        before = status.last_state.terminated
        if before is not None and before.finished_at is not None:
            self.last = before.finished_at if self.last is None else max(self.last, before.finished_at)

    def show(self, now: float) -> str:
        if not self.count or self.last is None:
            return str(self.count)
        return f"{self.count} ({since(self.last, now)} ago)"


@dataclass(slots=True)
class _Summary:
    status: str
    restarts: _Restarts
    ready: int = 0


def _cells(pod: core.Pod, now: float) -> list[Cell]:
    summary = _summary(pod)
    total = len(pod.spec.containers) + sum(1 for item in pod.spec.init_containers if _is_sidecar(item))
    return [
        pod.metadata.name,
        f"{summary.ready}/{total}",
        _deletion_status(pod) or summary.status,
        summary.restarts.show(now),
        since(pod.metadata.creation_timestamp, now),
        or_none(pod.status.pod_ips[0].ip if pod.status.pod_ips else ""),
        or_none(pod.spec.node_name),
        or_none(pod.status.nominated_node_name),
        _readiness_gates(pod),
    ]


def _summary(pod: core.Pod) -> _Summary:
    summary = _initial(pod)
    if summary is not None and not _condition(pod, "Initialized"):
        return summary
    sidecars = {item.name for item in pod.spec.init_containers if _is_sidecar(item)}
    restarts, ready = _Restarts(), 0
    for status in pod.status.init_container_statuses:
        if status.name in sidecars:
            restarts.add(status)
    if summary is None:
        summary = _Summary(_basic_status(pod), restarts)
        for status in pod.status.init_container_statuses:
            if status.name in sidecars and _is_started(status) and status.ready:
                ready += 1
    else:
        ready = summary.ready
    word, running = summary.status, False
    for status in reversed(pod.status.container_statuses):
        restarts.add(status)
        stopped = _stopped(status)
        if stopped:
            word = stopped
        elif status.ready and status.state.running is not None:
            running = True
            ready += 1
    if word == "Completed" and running:
        word = "Running" if _condition(pod, "Ready") else "NotReady"
    return _Summary(word, restarts, ready)


def _basic_status(pod: core.Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.reason == "SchedulingGated":
            return "SchedulingGated"
    return pod.status.reason or pod.status.phase


def _initial(pod: core.Pod) -> _Summary | None:
    """The state of initialization while it lasts, None when it is done."""
    sidecars = {item.name for item in pod.spec.init_containers if _is_sidecar(item)}
    restarts, ready = _Restarts(), 0
    for index, status in enumerate(pod.status.init_container_statuses):
        restarts.add(status)
        ended = status.state.terminated
        if ended is not None and ended.exit_code == 0:
            continue
        if status.name in sidecars and _is_started(status):
            ready += status.ready
            continue
        waiting = status.state.waiting
        if ended is not None:
            word = ended.reason or _exit(ended)
        elif waiting is not None and waiting.reason not in ("", "PodInitializing"):
            word = waiting.reason
        else:
            word = f"{index}/{len(pod.spec.init_containers)}"
        return _Summary(f"Init:{word}", restarts, ready)
    return None


def _stopped(status: core.ContainerStatus) -> str:
    """Why an application container does not run, "" if it does."""
    if status.state.waiting is not None and status.state.waiting.reason:
        return status.state.waiting.reason
    ended = status.state.terminated
    if ended is None:
        return ""
    return ended.reason or _exit(ended)


def _exit(ended: core.ContainerStateTerminated) -> str:
    return f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}"


def _deletion_status(pod: core.Pod) -> str:
    if pod.metadata.deletion_timestamp is None:
        return ""
    if pod.status.reason == "NodeLost":
        return "Unknown"
    return "" if pod.status.phase in _COMPLETED else "Terminating"


def _readiness_gates(pod: core.Pod) -> str:
    gates = pod.spec.readiness_gates
    if not gates:
        return NONE
    met = sum(1 for gate in gates if _condition(pod, gate.condition_type))
    return f"{met}/{len(gates)}"


def _condition(pod: core.Pod, type_: str) -> bool:
    return any(item.type == type_ and item.status == "True" for item in pod.status.conditions)


def _is_sidecar(container: core.Container) -> bool:
    return container.restart_policy == "Always"


def _is_started(status: core.ContainerStatus) -> bool:
    return status.started is True


def _conditions(pod: core.Pod) -> list[meta.TableRowCondition]:
    completed = _COMPLETED.get(pod.status.phase)
    return [] if completed is None else [completed]


PODS = Printer(_COLUMNS, _cells, _conditions)
