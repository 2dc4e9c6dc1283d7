"""Who is killed first when the machine is out of memory: oom_score_adj by QoS class.

Guaranteed pods and node-critical ones go last, best-effort pods first; a burstable container is the safer the larger
the share of the machine's memory it requested (upstream's heuristic, with KEP-753 and KEP-2837).
"""

from __future__ import annotations

from api import core_v1 as core
from api.pod_resources import BEST_EFFORT, GUARANTEED, aggregate_requests, qos_class
from api.pods import AnyContainer, is_restartable_init
from api.quantity import Quantity

GUARANTEED_ADJUST = -997
BEST_EFFORT_ADJUST = 1000
_SYSTEM_NODE_CRITICAL = 2_000_001_000
_NONE = Quantity(0)


def oom_score_adjust(pod: core.Pod, container: AnyContainer, memory_bytes: int) -> int:
    """Between -997 and 1000; `memory_bytes` is the machine's memory."""
    quality = qos_class(pod)
    if (pod.spec.priority or 0) >= _SYSTEM_NODE_CRITICAL or quality == GUARANTEED:
        return GUARANTEED_ADJUST
    if quality == BEST_EFFORT or memory_bytes <= 0:
        return BEST_EFFORT_ADJUST
    adjust = 1000 - 1000 * (_request(container) + _unclaimed(pod)) // memory_bytes
    if isinstance(container, core.Container) and _is_sidecar_of(pod, container):
        # A sidecar must not be killed before the container it serves.
        least = min(_request(one) for one in pod.spec.containers)
        adjust = min(adjust, 1000 - 1000 * least // memory_bytes)
    # Stay behind guaranteed pods (3 is what one of them can score by use alone) and ahead of best-effort ones.
    return min(max(adjust, 1000 + GUARANTEED_ADJUST), BEST_EFFORT_ADJUST - 1)


def _request(container: AnyContainer) -> int:
    return container.resources.requests.get("memory", _NONE).value()


def _unclaimed(pod: core.Pod) -> int:
    """Each container's part of the pod's own memory request that no container asks for itself."""
    if pod.spec.resources is None or not pod.spec.resources.requests.get("memory"):
        return 0
    left = pod.spec.resources.requests["memory"].value() - aggregate_requests(pod.spec).get("memory", _NONE).value()
    return left // (len(pod.spec.containers) + len(pod.spec.init_containers))


def _is_sidecar_of(pod: core.Pod, container: core.Container) -> bool:
    return is_restartable_init(container) and any(one.name == container.name for one in pod.spec.init_containers)
