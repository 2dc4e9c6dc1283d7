"""The conditions of a pod that belong to its node, from its containers' statuses. Pure; the texts are upstream's.

What others put into a pod's conditions (readiness gates, disruption targets) passes through untouched.
"""

from __future__ import annotations

from agent.pods.go_text import listed
from agent.pods.phases import FAILED, SUCCEEDED
from api import core_v1 as core
from api.pods import is_restartable_init
from api.times import Time

READY_TO_START = "PodReadyToStartContainers"
INITIALIZED = "Initialized"
READY = "Ready"
CONTAINERS_READY = "ContainersReady"
SCHEDULED = "PodScheduled"
RESTARTING = "AllContainersRestarting"

OWNED = frozenset({READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED, RESTARTING})

TRUE = "True"
FALSE = "False"


def conditions(
    pod: core.Pod,
    phase: str,
    init_statuses: list[core.ContainerStatus],
    statuses: list[core.ContainerStatus],
    *,
    sandbox_ready: bool,
    restarting: bool | None,
    previous: list[core.PodCondition],
    now: float,
) -> list[core.PodCondition]:
    """All conditions of the pod.

    `restarting` is whether all its containers are being started anew, None for a pod that never asks for that.
    `previous` are those told last: a condition keeps its transition time while it holds.
    """
    known = [*init_statuses, *statuses]
    result = [one for one in pod.status.conditions if one.type not in OWNED]
    containers_ready = _containers_ready(pod, phase, known)
    ready = _ready(pod, containers_ready, result)
    made = [
        _condition(READY_TO_START, sandbox_ready),
        _initialized(pod, phase, known, statuses),
        ready,
        containers_ready,
        _condition(SCHEDULED, True),
    ]
    if restarting is not None:
        made.append(_condition(RESTARTING, restarting))
    before = {one.type: one for one in previous}
    for one in made:
        old = before.get(one.type)
        held = old is not None and old.status == one.status and old.last_transition_time
        one.last_transition_time = old.last_transition_time if old and held else Time.from_timestamp(now)
        one.observed_generation = pod.metadata.generation
    return [*result, *made]


def _condition(kind: str, status: bool, reason: str = "", message: str = "") -> core.PodCondition:
    return core.PodCondition(type=kind, status=TRUE if status else FALSE, reason=reason, message=message)


def _containers_ready(pod: core.Pod, phase: str, known: list[core.ContainerStatus]) -> core.PodCondition:
    by_name = {one.name: one for one in known}
    expected = [one.name for one in pod.spec.init_containers if is_restartable_init(one)]
    expected += [one.name for one in pod.spec.containers]
    unknown = [name for name in expected if name not in by_name]
    unready = [name for name in expected if name in by_name and not by_name[name].ready]
    if phase == SUCCEEDED and not unknown:
        return _condition(CONTAINERS_READY, False, "PodCompleted")
    if phase == FAILED:
        return _condition(CONTAINERS_READY, False, "PodFailed")
    parts = []
    if unknown:
        parts.append(f"containers with unknown status: {listed(unknown)}")
    if unready:
        parts.append(f"containers with unready status: {listed(unready)}")
    if parts:
        return _condition(CONTAINERS_READY, False, "ContainersNotReady", ", ".join(parts))
    return _condition(CONTAINERS_READY, True)


def _ready(pod: core.Pod, containers_ready: core.PodCondition, foreign: list[core.PodCondition]) -> core.PodCondition:
    if containers_ready.status != TRUE:
        return _condition(READY, False, containers_ready.reason, containers_ready.message)
    by_type = {one.type: one for one in foreign}
    parts = []
    for gate in pod.spec.readiness_gates:
        found = by_type.get(gate.condition_type)
        if found is None:
            parts.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif found.status != TRUE:
            parts.append(f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {found.status}')
    if parts:
        return _condition(READY, False, "ReadinessGatesNotReady", ", ".join(parts))
    return _condition(READY, True)


def _initialized(
    pod: core.Pod, phase: str, known: list[core.ContainerStatus], statuses: list[core.ContainerStatus]
) -> core.PodCondition:
    by_name = {one.name: one for one in known}
    unknown = []
    incomplete = []
    for container in pod.spec.init_containers:
        status = by_name.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not (status.started if is_restartable_init(container) else status.ready):
            incomplete.append(container.name)
    if phase == SUCCEEDED and not unknown:
        return _condition(INITIALIZED, True, "PodCompleted")
    if any(_has_started(one) for one in statuses):
        return _condition(INITIALIZED, True)
    parts = []
    if unknown:
        parts.append(f"containers with unknown status: {listed(unknown)}")
    if incomplete:
        parts.append(f"containers with incomplete status: {listed(incomplete)}")
    if parts:
        return _condition(INITIALIZED, False, "ContainersNotInitialized", ", ".join(parts))
    return _condition(INITIALIZED, True)


def _has_started(status: core.ContainerStatus) -> bool:
    """Whether an app container runs, ran, or ran before: then initialization lies behind the pod."""
    if status.state.running is not None or status.state.terminated is not None:
        return True
    return status.last_state.terminated is not None
