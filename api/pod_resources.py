"""What a pod asks of a node: requests and limits over all of its containers, and the QoS class that follows.

Init containers run one after another before the others, sidecars keep running beside both, overhead comes on top,
and pod-level resources replace the sum where they are set (KEP-753, KEP-688, KEP-2837).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from api import core_v1 as core
from api.pods import is_restartable_init
from api.quantity import Quantity
from api.resource_names import is_hugepages

Amounts = dict[str, Quantity]

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"

_COMPUTE = ("cpu", "memory")
_ZERO = Quantity("0")


def is_pod_level(name: str) -> bool:
    """Whether a resource can be set for the pod as a whole."""
    return name in _COMPUTE or is_hugepages(name)


def pod_requests(spec: core.PodSpec, *, overhead: bool = True) -> Amounts:
    """What the scheduler reserves for a pod."""
    total = aggregate_requests(spec)
    if spec.resources is not None:
        total.update((name, amount) for name, amount in spec.resources.requests.items() if is_pod_level(name))
    if overhead:
        _add(total, spec.overhead)
    return total


def pod_limits(spec: core.PodSpec, *, overhead: bool = True) -> Amounts:
    """What a pod may use at most; a resource one container leaves unlimited still counts the others' limits."""
    total = aggregate_limits(spec)
    if spec.resources is not None:
        total.update((name, amount) for name, amount in spec.resources.limits.items() if is_pod_level(name))
    if overhead:
        for name, amount in spec.overhead.items():
            if name in total:
                total[name] += amount
    return total


def aggregate_requests(spec: core.PodSpec) -> Amounts:
    """Requests of the containers together, without pod-level resources and overhead."""
    return _aggregate(spec, lambda container: container.resources.requests)


def aggregate_limits(spec: core.PodSpec) -> Amounts:
    """Limits of the containers together, without pod-level resources and overhead."""
    return _aggregate(spec, lambda container: container.resources.limits)


def _aggregate(spec: core.PodSpec, part: Callable[[core.Container], Mapping[str, Quantity]]) -> Amounts:
    total: Amounts = {}
    for container in spec.containers:
        _add(total, part(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        if is_restartable_init(container):
            _add(total, part(container))
            _add(sidecars, part(container))
            _raise(peak, sidecars)
        else:
            running = dict(sidecars)
            _add(running, part(container))
            _raise(peak, running)
    _raise(total, peak)
    return total


def _add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        known = total.get(name)
        total[name] = amount if known is None else known + amount


def _raise(total: Amounts, floor: Mapping[str, Quantity]) -> None:
    for name, amount in floor.items():
        known = total.get(name)
        if known is None or known < amount:
            total[name] = amount


def qos_class(pod: core.Pod) -> str:
    """The class the API server has written down, else the one that follows from the spec."""
    return pod.status.qos_class or compute_qos_class(pod.spec)


def compute_qos_class(spec: core.PodSpec) -> str:
    """Guaranteed: cpu and memory limited in every container and requested to the limit. BestEffort: none of it."""
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        parts = [spec.resources]
    else:
        parts = [container.resources for container in (*spec.init_containers, *spec.containers)]
    requests: Amounts = {}
    limits: Amounts = {}
    guaranteed = True
    for part in parts:
        _add(requests, _compute(part.requests))
        limited = _compute(part.limits)
        _add(limits, limited)
        guaranteed = guaranteed and len(limited) == len(_COMPUTE)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if guaranteed and requests == limits else BURSTABLE


def _compute(amounts: Mapping[str, Quantity]) -> Amounts:
    return {name: amount for name, amount in amounts.items() if name in _COMPUTE and amount > _ZERO}
