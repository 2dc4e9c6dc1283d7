"""Is a node alive? Told by its heartbeats: the renewal of its Lease, and the reports of its status.

Clocks of nodes are not trusted: what counts is when a heartbeat was seen to change, by our own monotonic clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from api import codec
from api import core_v1 as core
from api.coordination_v1 import Lease
from api.pods import get_condition
from api.times import MicroTime, Time

GRACE = 50.0  # seconds of silence until a node counts as unreachable
STARTUP_GRACE = 60.0  # the same for one that has never reported

READY = "Ready"
# NetworkUnavailable is missing on purpose: it is set by the control plane, not by the node.
_REPORTED = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class Health:
    """The last heartbeat of a node, and when it was seen (monotonic seconds)."""

    seen: float
    reported: Time | None = None
    renewed: MicroTime | None = None
    has_reported: bool = False


def heard(before: Health | None, node: core.Node, lease: Lease | None, wall: float, now: float) -> Health:
    """What is known of a node's heartbeats after a look at it; `wall` and `now` are the times of the two clocks."""
    ready = get_condition(node.status.conditions, READY)
    reported = ready.last_heartbeat_time if ready is not None else None
    renewed = lease.spec.renew_time if lease is not None else None
    if before is None:
        if ready is not None:
            return Health(now, reported, renewed, True)
        # It has been silent since it was made.
        created = node.metadata.creation_timestamp
        age = max(0.0, wall - created.timestamp()) if created is not None else 0.0
        before = Health(now - age)
    seen = before.seen
    if (ready is not None) != before.has_reported or (ready is not None and reported != before.reported):
        seen = now
    if renewed is not None and (before.renewed is None or renewed > before.renewed):
        seen = now
    else:
        renewed = before.renewed
    return Health(seen, reported, renewed, ready is not None)


def refreshed(health: Health, now: float) -> Health:
    """As if a heartbeat had just come: after it was ourselves who could hear nobody."""
    return replace(health, seen=now)


def is_silent(health: Health, now: float) -> bool:
    return now - health.seen > (GRACE if health.has_reported else STARTUP_GRACE)


def silent_conditions(node: core.Node, wall: float) -> list[core.NodeCondition] | None:
    """The conditions of a node that has fallen silent: all it reported is unknown now. None if they say so already."""
    conditions = [codec.deepcopy(condition) for condition in node.status.conditions]
    changed = False
    for type_ in _REPORTED:
        condition = get_condition(conditions, type_)
        if condition is None:
            changed = True
            conditions.append(
                core.NodeCondition(
                    type=type_,
                    status="Unknown",
                    last_heartbeat_time=node.metadata.creation_timestamp,
                    last_transition_time=Time.from_timestamp(wall),
                    reason="NodeStatusNeverUpdated",
                    message="Kubelet never posted node status.",
                )
            )
        elif condition.status != "Unknown":
            changed = True
            condition.status = "Unknown"
            condition.reason = "NodeStatusUnknown"
            condition.message = "Kubelet stopped posting node status."
            condition.last_transition_time = Time.from_timestamp(wall)
    return conditions if changed else None


def ready_status(conditions: Sequence[core.NodeCondition]) -> str:
    """True, False or Unknown; Unknown as well when nothing is said."""
    ready = get_condition(conditions, READY)
    return ready.status if ready is not None else "Unknown"
