"""Which pods to do without first, when there are too many.

The order is upstream's (`ActivePodsWithRanks`): pods that have hardly begun go before pods that serve. Times count by
the power of two of their age only, and among equals the UID decides, so that no age group is always the victim
(KEP-2185).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import cmp_to_key

from api import core_v1 as core
from api.pods import get_condition, is_active, is_ready, is_restartable_init
from api.times import Time

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def in_order_of_deletion(pods: Iterable[core.Pod], related: Iterable[core.Pod], now: float) -> list[core.Pod]:
    """Pods, the most dispensable first. `related` are all pods of the same kind of service (those of all replica sets
    of a deployment): a node that runs several of them can spare one. `now` is wall time in seconds.
    """
    crowd = Counter(pod.spec.node_name for pod in related if is_active(pod))

    def order(one: core.Pod, other: core.Pod) -> int:
        return _compare(one, other, crowd, now)

    return sorted(pods, key=cmp_to_key(order))


def _compare(one: core.Pod, other: core.Pod, crowd: Counter[str], now: float) -> int:
    """Negative when the first goes first."""
    first, second = _traits(one, crowd), _traits(other, crowd)
    if first != second:
        return -1 if first < second else 1
    # Equal traits: both are ready, or neither is.
    if is_ready(one) and (order := _younger_first(_ready_since(one), _ready_since(other), one, other, now)):
        return order
    if (restarts := _restarts(one)) != (others := _restarts(other)):
        return -1 if restarts > others else 1
    created, others_created = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    order = _younger_first(created, others_created, one, other, now)
    return order or (-1 if one.metadata.uid < other.metadata.uid else 1)


def _traits(pod: core.Pod, crowd: Counter[str]) -> tuple[bool, int, bool, int, int]:
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        is_ready(pod),
        deletion_cost(pod),
        -crowd[pod.spec.node_name],
    )


def deletion_cost(pod: core.Pod) -> int:
    """What the user says the loss of a pod costs, 0 if nothing that can be understood."""
    text = pod.metadata.annotations.get(DELETION_COST, "")
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (len(digits) > 1 and digits[0] == "0") or text == "-0":
        return 0
    cost = int(text)
    return cost if -(2**31) <= cost < 2**31 else 0


def _younger_first(one: Time | None, other: Time | None, pod: core.Pod, other_pod: core.Pod, now: float) -> int:
    """0 only when the times are equal: ages of one magnitude leave it to the UIDs."""
    if one == other:
        return 0
    if one is None or other is None:
        return -1 if one is None else 1
    difference = _magnitude(one, now) - _magnitude(other, now)
    if difference:
        return difference
    return -1 if pod.metadata.uid < other_pod.metadata.uid else 1


def _magnitude(since: Time, now: float) -> int:
    """The power of two of an age in nanoseconds; -1 for one that has not begun."""
    age = now - since.timestamp()
    return int(math.log2(age * 1e9)) if age > 0 else -1


def _ready_since(pod: core.Pod) -> Time | None:
    condition = get_condition(pod.status.conditions, "Ready")
    return condition.last_transition_time if condition is not None else None


def _restarts(pod: core.Pod) -> tuple[int, int]:
    """The most restarts of any container, and of any sidecar."""
    sidecars = {container.name for container in pod.spec.init_containers if is_restartable_init(container)}
    regular = max((status.restart_count for status in pod.status.container_statuses), default=0)
    beside = (status.restart_count for status in pod.status.init_container_statuses if status.name in sidecars)
    return regular, max(beside, default=0)
