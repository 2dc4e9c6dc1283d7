"""Facts about pods that scheduler, controllers, agent and API server must agree on.

Everything here is a pure function of a pod: who its containers are, whether it is ready or done, which host ports it
takes, which taints it bears. What it asks of a node is in `api.pod_resources`. Nothing here knows the time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from api import core_v1 as core
from api.times import Time

AnyContainer = core.Container | core.EphemeralContainer

PENDING: Final = "Pending"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
UNKNOWN: Final = "Unknown"

CONFIG_SOURCE: Final = "kubernetes.io/config.source"
CONFIG_MIRROR: Final = "kubernetes.io/config.mirror"
CONFIG_HASH: Final = "kubernetes.io/config.hash"
CONFIG_SEEN: Final = "kubernetes.io/config.seen"
SYSTEM_CRITICAL_PRIORITY: Final = 2 * 10**9


# Containers


def is_restartable_init(container: core.Container) -> bool:
    """A sidecar: an init container that keeps running beside the others (KEP-753)."""
    return container.restart_policy == "Always"


def containers_of(spec: core.PodSpec) -> Iterator[AnyContainer]:
    """Every container of a pod: init containers, regular ones, ephemeral ones."""
    yield from spec.init_containers
    yield from spec.containers
    yield from spec.ephemeral_containers


def find_container(spec: core.PodSpec, name: str) -> AnyContainer | None:
    return next((container for container in containers_of(spec) if container.name == name), None)


def container_statuses(status: core.PodStatus) -> Iterator[core.ContainerStatus]:
    """Every container's status: init containers, regular ones, ephemeral ones."""
    yield from status.init_container_statuses
    yield from status.container_statuses
    yield from status.ephemeral_container_statuses


def find_status(statuses: Iterable[core.ContainerStatus], name: str) -> core.ContainerStatus | None:
    return next((status for status in statuses if status.name == name), None)


def host_ports(spec: core.PodSpec) -> list[tuple[str, str, int]]:
    """(protocol, host IP, port) taken on the node, by regular containers and sidecars; an empty IP reads 0.0.0.0."""
    running = [*(item for item in spec.init_containers if is_restartable_init(item)), *spec.containers]
    return [
        (port.protocol or "TCP", port.host_ip or "0.0.0.0", port.host_port)
        for container in running
        for port in container.ports
        if port.host_port
    ]


# Phase and conditions


class Condition(Protocol):
    """What conditions of all kinds have in common."""

    type: str
    status: str


ConditionType = TypeVar("ConditionType", bound=Condition)


def get_condition(conditions: Iterable[ConditionType], type_: str) -> ConditionType | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def condition_is_true(conditions: Iterable[Condition], type_: str) -> bool:
    return any(condition.type == type_ and condition.status == "True" for condition in conditions)


def set_condition(conditions: list[ConditionType], condition: ConditionType) -> bool:
    """Puts a condition in its place. Returns whether anything but the times changed.

    While the status stays, the old `last_transition_time` is kept, and an equal condition is not touched at all.
    """
    for index, old in enumerate(conditions):
        if old.type != condition.type:
            continue
        if old.status == condition.status:
            if hasattr(condition, "last_transition_time"):
                condition.last_transition_time = getattr(old, "last_transition_time", None)
            if all(
                getattr(old, name) == getattr(condition, name)
                for name in old.__struct_fields__  # type: ignore[attr-defined] # conditions are structs
                if name not in _OBSERVATION_TIMES
            ):
                return False
        conditions[index] = condition
        return True
    conditions.append(condition)
    return True


_OBSERVATION_TIMES = frozenset({"last_probe_time", "last_heartbeat_time", "last_update_time"})


def is_terminal(pod: core.Pod) -> bool:
    """All of its containers are done and none will start again."""
    return pod.status.phase in (SUCCEEDED, FAILED)


def is_active(pod: core.Pod) -> bool:
    """Counts as a replica: neither done nor being deleted."""
    return not is_terminal(pod) and pod.metadata.deletion_timestamp is None


def is_ready(pod: core.Pod) -> bool:
    return condition_is_true(pod.status.conditions, "Ready")


def is_available(pod: core.Pod, min_ready_seconds: int, now: float) -> bool:
    """Ready for at least so long; `now` is wall time in seconds since the epoch."""
    ready = get_condition(pod.status.conditions, "Ready")
    if ready is None or ready.status != "True":
        return False
    since: Time | None = ready.last_transition_time
    return min_ready_seconds == 0 or (since is not None and since.timestamp() + min_ready_seconds <= now)


def is_scheduled(pod: core.Pod) -> bool:
    return bool(pod.spec.node_name)


def is_gated(pod: core.Pod) -> bool:
    """Held back from scheduling (KEP-3521)."""
    return bool(pod.spec.scheduling_gates)


# Origin


def is_mirror(pod: core.Pod) -> bool:
    """The API's image of a static pod."""
    return CONFIG_MIRROR in pod.metadata.annotations


def is_static(pod: core.Pod) -> bool:
    """Given to the agent by a file or URL rather than by the API server."""
    return pod.metadata.annotations.get(CONFIG_SOURCE, "api") != "api"


def is_critical(pod: core.Pod) -> bool:
    """Not to be evicted for lack of resources: static, mirror, or of a system-critical priority."""
    priority = pod.spec.priority
    return is_static(pod) or is_mirror(pod) or (priority is not None and priority >= SYSTEM_CRITICAL_PRIORITY)


def grace_period(pod: core.Pod) -> int:
    """Seconds a pod may take to stop: as deleted, else as specified, else 30."""
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    if pod.spec.termination_grace_period_seconds is not None:
        return pod.spec.termination_grace_period_seconds
    return 30


# Taints


def tolerates(toleration: core.Toleration, taint: core.Taint) -> bool:
    """Whether one toleration bears one taint: empty effect and empty key stand for all."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def untolerated_taint(
    taints: Iterable[core.Taint], tolerations: Sequence[core.Toleration], effects: Collection[str]
) -> core.Taint | None:
    """The first taint with one of the effects that no toleration bears."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None
