"""Taints that follow from a node's conditions.

Two sorts. NoSchedule taints mirror the conditions at once and keep new pods away (KEP-382). NoExecute taints drive
pods off a node that is not ready; they are put on with restraint (`zones`) and taken away at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from api import core_v1 as core
from api.times import Time

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"

_BY_CONDITION: Final[Mapping[tuple[str, str], str]] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_OURS: Final = frozenset({UNSCHEDULABLE, *_BY_CONDITION.values()})
# The stable label decides what the old one says.
_LABELS: Final = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}


def due_no_schedule(node: core.Node, wall: float) -> list[core.Taint] | None:
    """All taints of the node, with the NoSchedule ones as its conditions call for; None when they do already."""
    wanted = {
        key
        for condition in node.status.conditions
        if (key := _BY_CONDITION.get((condition.type, condition.status))) is not None
    }
    if node.spec.unschedulable:
        wanted.add(UNSCHEDULABLE)
    present = {taint.key for taint in node.spec.taints if taint.effect == NO_SCHEDULE and taint.key in _OURS}
    if wanted == present:
        return None
    return _swapped(node.spec.taints, sorted(wanted - present), present - wanted, NO_SCHEDULE, wall)


def due_no_execute(node: core.Node, ready: str, wall: float) -> list[core.Taint] | None:
    """All taints of the node, with the NoExecute one that its readiness calls for; None when it has that already."""
    wanted = {"False": {NOT_READY}, "Unknown": {UNREACHABLE}}.get(ready, set())
    present = no_execute_keys(node.spec.taints) & {NOT_READY, UNREACHABLE}
    if wanted == present:
        return None
    return _swapped(node.spec.taints, sorted(wanted - present), present - wanted, NO_EXECUTE, wall)


def no_execute_keys(taints: Iterable[core.Taint]) -> set[str]:
    """The keys of taints that drive pods away."""
    return {taint.key for taint in taints if taint.effect == NO_EXECUTE}


def due_labels(node: core.Node) -> dict[str, str]:
    """Labels that must be added or put right."""
    labels = node.metadata.labels
    return {
        old: labels[stable] for stable, old in _LABELS.items() if stable in labels and labels.get(old) != labels[stable]
    }


def _swapped(
    taints: Sequence[core.Taint], add: Iterable[str], remove: set[str], effect: str, wall: float
) -> list[core.Taint]:
    kept = [taint for taint in taints if not (taint.effect == effect and taint.key in remove)]
    since = Time.from_timestamp(wall)
    return [*kept, *(core.Taint(key=key, effect=effect, time_added=since) for key in add)]
