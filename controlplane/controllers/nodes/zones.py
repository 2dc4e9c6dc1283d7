"""How many nodes may be given up at a time.

When many nodes seem dead, it is more likely that the network, or this process, is at fault. So NoExecute taints are
rationed by failure zone: slower where a good part of a zone fails, as usual where all of it does, and none at all when
no node anywhere is ready. Figures and rules are those of upstream's node controller.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api import core_v1 as core
from client.backoff import TokenBucket

RATE = 0.1  # nodes a second
SECONDARY_RATE = 0.01
LARGE_CLUSTER = 50  # nodes; smaller zones that are partly disrupted get no eviction at all
UNHEALTHY_SHARE = 0.55

_EXCLUDED = "node.kubernetes.io/exclude-disruption"


class ZoneState(enum.Enum):
    """How a zone fares."""

    NORMAL = "Normal"
    PARTIAL_DISRUPTION = "PartialDisruption"
    FULL_DISRUPTION = "FullDisruption"


def zone_of(node: core.Node) -> str:
    """The failure zone of a node by its labels; "" for none."""
    labels = node.metadata.labels
    region = labels.get("topology.kubernetes.io/region", labels.get("failure-domain.beta.kubernetes.io/region", ""))
    zone = labels.get("topology.kubernetes.io/zone", labels.get("failure-domain.beta.kubernetes.io/zone", ""))
    return f"{region}:\x00:{zone}" if region or zone else ""


def is_counted(node: core.Node) -> bool:
    """Whether the node says something about its zone."""
    return _EXCLUDED not in node.metadata.labels


def state_of(readiness: Sequence[bool]) -> ZoneState:
    """How a zone fares, by whether each of its nodes is ready."""
    unready = readiness.count(False)
    if unready and unready == len(readiness):
        return ZoneState.FULL_DISRUPTION
    if unready > 2 and unready / len(readiness) >= UNHEALTHY_SHARE:
        return ZoneState.PARTIAL_DISRUPTION
    return ZoneState.NORMAL


def rate_of(state: ZoneState, size: int) -> float:
    """Nodes a second that may be given up in a zone of so many nodes."""
    if state is ZoneState.PARTIAL_DISRUPTION:
        return SECONDARY_RATE if size > LARGE_CLUSTER else 0.0
    return RATE


@dataclass(slots=True)
class _Zone:
    """The nodes of a zone that wait to be given up, and the ration."""

    rate: float = RATE
    bucket: TokenBucket = field(default_factory=lambda: TokenBucket(RATE, 1))
    waiting: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def ration(self, rate: float) -> None:
        if rate != self.rate:
            self.rate = rate
            self.bucket = TokenBucket(rate, 1)


class Shift(enum.Enum):
    """What a look at all zones showed anew."""

    NONE = "as before"
    ALL_DOWN = "no node anywhere is ready any more"
    RECOVERED = "some node is ready again"


class Rationing:
    """Nodes that are to be given up, zone by zone."""

    def __init__(self) -> None:
        self._zones: dict[str, _Zone] = {}
        self._all_down = False

    def assess(self, readiness: Mapping[str, Sequence[bool]]) -> Shift:
        """Set every zone's ration by the readiness of its nodes."""
        states = {zone: state_of(ready) for zone, ready in readiness.items()}
        all_down = bool(states) and all(state is ZoneState.FULL_DISRUPTION for state in states.values())
        shift = Shift.NONE
        if all_down is not self._all_down:
            shift = Shift.ALL_DOWN if all_down else Shift.RECOVERED
            self._all_down = all_down
            # Nobody's turn from before the change counts after it.
            for zone in self._zones.values():
                zone.waiting.clear()
        for name, state in states.items():
            self._zone(name).ration(0.0 if all_down else rate_of(state, len(readiness[name])))
        return shift

    def submit(self, zone: str, node: str) -> None:
        """Have a node given up when its turn comes; no news if it waits already."""
        self._zone(zone).waiting.setdefault(node, None)

    def withdraw(self, zone: str, node: str) -> None:
        """The node is well, or gone."""
        if zone in self._zones:
            self._zones[zone].waiting.pop(node, None)

    def due(self, now: float) -> list[str]:
        """The nodes whose turn it is, at a monotonic time in seconds."""
        taken = []
        for zone in self._zones.values():
            while zone.waiting and zone.rate > 0 and zone.bucket.try_take(now):
                taken.append(zone.waiting.popitem(last=False)[0])
        return taken

    def _zone(self, name: str) -> _Zone:
        return self._zones.setdefault(name, _Zone())
