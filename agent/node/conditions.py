"""The conditions of a node, as the machine and its runtime are. Pure; the texts are upstream's.

Pressure is never reported yet: no part of this agent evicts pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.pods.seams import RuntimeInfo
from api import core_v1 as core
from api.times import Time

READY = "Ready"
_NO_PRESSURE = (
    (
        "MemoryPressure",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
        "NodeHasSufficientMemory",
    ),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
)


def network_problem(runtime: RuntimeInfo, hint: str = "") -> str:
    """Why the runtime's network is not ready, empty when it is. `hint` tells where its configuration is looked for."""
    if runtime.network_ready:
        return ""
    text = (
        f"container runtime network not ready: NetworkReady=false reason:{runtime.network_reason} "
        f"message:{runtime.network_message}"
    )
    return f"{text} ({hint})" if hint else text


def problems(runtime: RuntimeInfo | None, relist: str, hint: str = "") -> list[str]:
    """Everything that keeps the node from being ready. `runtime` is None while it does not answer."""
    if runtime is None:
        return ["container runtime is down", *([relist] if relist else [])]
    result = []
    if not runtime.ready:
        result.append(
            f"container runtime is down: {runtime.message}" if runtime.message else "container runtime is down"
        )
    if relist:
        result.append(relist)
    if network := network_problem(runtime, hint):
        result.append(network)
    return result


def conditions(
    reasons: Sequence[str], previous: Sequence[core.NodeCondition], now: float
) -> tuple[list[core.NodeCondition], list[str]]:
    """The node's conditions, and the events that tell of those that changed. `reasons` is what keeps it from being
    ready.
    """
    made = [
        core.NodeCondition(type=kind, status="False", reason=reason, message=message)
        for kind, reason, message, _ in _NO_PRESSURE
    ]
    if reasons:
        ready = core.NodeCondition(type=READY, status="False", reason="KubeletNotReady", message=",".join(reasons))
    else:
        message = "kubelet is posting ready status"
        ready = core.NodeCondition(type=READY, status="True", reason="KubeletReady", message=message)
    told = {kind: event for kind, _, _, event in _NO_PRESSURE}
    told[READY] = "NodeNotReady" if reasons else "NodeReady"
    before = {one.type: one for one in previous}
    stamp = Time.from_timestamp(now)
    events = []
    for one in [*made, ready]:
        old = before.get(one.type)
        held = old is not None and old.status == one.status
        one.last_heartbeat_time = stamp
        one.last_transition_time = (old.last_transition_time or stamp) if old is not None and held else stamp
        if not held and (old is not None or one.type != READY):
            events.append(told[one.type])
    return [*made, ready], events
