"""The status of a pod, from its spec, what is seen of it, and what was told of it before. Pure."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace

import msgspec

from agent.pods import restarts
from agent.pods.conditions import RESTARTING, conditions
from agent.pods.containers import (
    LOST_WHEN_TERMINATED,
    STATUS_UNKNOWN,
    ContainerFacts,
    container_statuses,
    lost_state,
)
from agent.pods.observed import ObservedPod
from agent.pods.phases import FAILED, TERMINAL, phase
from agent.pods.planner import initialized, sandbox_verdict
from agent.pods.plans import Kind
from api import core_v1 as core
from api.codec import deepcopy
from api.pod_resources import compute_qos_class
from api.pod_restarts import may_restart_all
from api.pods import condition_is_true, is_static
from api.times import Time

MOST_MESSAGE_BYTES = 12 * 1024
"""Of all termination messages of a pod (API documentation of `terminationMessagePath`)."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The node itself ends the pod: reason and message of its status (Evicted, DeadlineExceeded, OutOfcpu …)."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What a status needs beside the spec and the runtime's view."""

    containers: ContainerFacts
    now: float
    """Wall seconds, for stamps."""
    host_ips: tuple[str, ...] = ()
    terminal: bool = False
    """Nothing of the pod will start again: it is being, or has been, taken down."""
    failure: Failure | None = None


def pod_status(
    pod: core.Pod, runtime: ObservedPod, previous: core.PodStatus | None, facts: StatusFacts
) -> core.PodStatus:
    """The whole status. `previous` is the last one made here; None when this agent has made none yet."""
    before = previous if previous is not None else pod.status
    in_place = initialized(pod, runtime)
    status = core.PodStatus()
    status.observed_generation = pod.metadata.generation
    status.qos_class = pod.status.qos_class or compute_qos_class(pod.spec)
    restarting = _restarting(pod, runtime, before)
    args = runtime, replace(facts.containers, restarting=bool(restarting))
    status.init_container_statuses = _statuses(pod, Kind.INIT, before, *args)
    status.container_statuses = _statuses(pod, Kind.APP, before, *args)
    status.ephemeral_container_statuses = _statuses(pod, Kind.EPHEMERAL, before, *args)

    if facts.terminal and in_place:
        _account_for_all(status.container_statuses)
    _limit_messages(status)
    _decide_phase(pod, status, before, facts, in_place)
    fresh, _, _ = sandbox_verdict(pod, runtime)
    status.conditions = conditions(
        pod,
        status.phase,
        status.init_container_statuses,
        status.container_statuses,
        sandbox_ready=not fresh,
        restarting=restarting,
        previous=before.conditions,
        now=facts.now,
    )
    _addresses(pod, status, runtime, before, facts)
    status.start_time = before.start_time or pod.status.start_time or Time.from_timestamp(facts.now)
    # Others own these: the scheduler and whoever allocates devices and resources.
    status.nominated_node_name = pod.status.nominated_node_name
    status.resource_claim_statuses = pod.status.resource_claim_statuses
    status.extended_resource_claim_status = pod.status.extended_resource_claim_status
    return status


def rejected(pod: core.Pod, failure: Failure, now: float) -> core.PodStatus:
    """The status of a pod that this node does not admit: it fails at once, none of its containers having begun."""
    status = deepcopy(pod.status)
    status.phase = FAILED
    status.reason = failure.reason
    status.message = f"Pod was rejected: {failure.message}"
    status.qos_class = pod.status.qos_class or compute_qos_class(pod.spec)
    status.observed_generation = pod.metadata.generation
    status.start_time = pod.status.start_time or Time.from_timestamp(now)
    return status


def _statuses(
    pod: core.Pod, kind: Kind, before: core.PodStatus, runtime: ObservedPod, facts: ContainerFacts
) -> list[core.ContainerStatus]:
    if kind is Kind.INIT:
        return container_statuses(pod, kind, pod.spec.init_containers, runtime, before.init_container_statuses, facts)
    if kind is Kind.APP:
        return container_statuses(pod, kind, pod.spec.containers, runtime, before.container_statuses, facts)
    return container_statuses(
        pod, kind, pod.spec.ephemeral_containers, runtime, before.ephemeral_container_statuses, facts
    )


def _decide_phase(
    pod: core.Pod, status: core.PodStatus, before: core.PodStatus, facts: StatusFacts, in_place: bool
) -> None:
    status.phase = phase(
        pod,
        status.init_container_statuses,
        status.container_statuses,
        terminal=facts.terminal,
        initialized=in_place,
    )
    if facts.terminal and status.phase not in TERMINAL and not is_static(pod):
        # Taken down before it could come up: others wait for a pod that has ended to say so.
        status.phase = FAILED
    # Succeeded and Failed are for ever: first what this agent said, then what the API says.
    if status.phase not in TERMINAL and before.phase in TERMINAL:
        status.phase = before.phase
    if pod.status.phase in TERMINAL:
        status.phase = pod.status.phase
    if facts.failure is not None:
        if pod.status.phase not in TERMINAL:
            status.phase = FAILED
        status.reason, status.message = facts.failure.reason, facts.failure.message
    elif status.phase == before.phase:
        status.reason = before.reason or pod.status.reason
        status.message = before.message or pod.status.message


def _restarting(pod: core.Pod, runtime: ObservedPod, before: core.PodStatus) -> bool | None:
    """Whether all containers are being started anew: from the end that asks for it until all are there again."""
    if not may_restart_all(pod):
        return None
    if restarts.restart_of_all_due(pod, runtime):
        return True
    missing = any(runtime.container(one.name) is None for one in pod.spec.containers)
    return missing and condition_is_true(before.conditions, RESTARTING)


def _account_for_all(statuses: list[core.ContainerStatus]) -> None:
    """Once a pod has run and been taken down, a container of which nobody knows the end has ended nonetheless."""
    for status in statuses:
        if status.state.terminated is None:
            status.state = lost_state(STATUS_UNKNOWN, LOST_WHEN_TERMINATED)
            status.started = status.ready = False


def _limit_messages(status: core.PodStatus) -> None:
    """A pod's containers share the room for their termination messages, in equal parts."""
    every = [*status.init_container_statuses, *status.container_statuses, *status.ephemeral_container_statuses]
    most = MOST_MESSAGE_BYTES // len(every) if every else 0
    for one in every:
        for state in (one.state, one.last_state):
            ended = state.terminated
            if ended is not None and len(data := ended.message.encode()) > most:
                state.terminated = msgspec.structs.replace(ended, message=data[:most].decode(errors="ignore"))


def _addresses(
    pod: core.Pod, status: core.PodStatus, runtime: ObservedPod, before: core.PodStatus, facts: StatusFacts
) -> None:
    if facts.host_ips:
        status.host_ip = facts.host_ips[0]
        status.host_ips = [core.HostIP(ip=one) for one in facts.host_ips[:2]]
    ips = _ordered(runtime.ips, facts.host_ips)
    if pod.spec.host_network and not ips:
        ips = [one.ip for one in before.pod_ips] or list(facts.host_ips[:2])
    elif not ips and not runtime.ready_sandboxes:
        # The address of a pod whose network is gone stays in its record, as its exit codes do.
        ips = [one.ip for one in before.pod_ips]
    status.pod_ips = [core.PodIP(ip=one) for one in ips]
    status.pod_ip = ips[0] if ips else ""


def _ordered(ips: tuple[str, ...], host_ips: tuple[str, ...]) -> list[str]:
    """One address per family, the host's first family first."""
    first = ipaddress.ip_address(host_ips[0]).version if host_ips else 4
    by_family: dict[int, str] = {}
    for one in ips:
        by_family.setdefault(ipaddress.ip_address(one).version, one)
    return [by_family[family] for family in (first, 10 - first) if family in by_family]
