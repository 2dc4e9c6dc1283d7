"""The settings of a pod's own cgroup: what all of its containers may use together."""

from __future__ import annotations

from agent.resources.kernel import KernelFacts
from agent.resources.settings import UNLIMITED, Settings
from agent.resources.shares import LEAST_SHARES, quota_of, shares_of
from api import core_v1 as core
from api.pod_resources import BURSTABLE, GUARANTEED, pod_limits, pod_requests, qos_class
from api.quantity import Quantity

_NONE = Quantity(0)
_HUGE = "hugepages-"


def pod_settings(pod: core.Pod, kernel: KernelFacts, pids_limit: int = UNLIMITED) -> Settings:
    """A burstable pod is limited only in what every container (or the pod itself) has a limit of."""
    requests, limits = pod_requests(pod.spec), pod_limits(pod.spec)
    quality = qos_class(pod)
    quota = quota_of(limits.get("cpu", _NONE).milli(), kernel.cpu_period) if kernel.cpu_quota else UNLIMITED
    cpu_limited = quality == GUARANTEED or (quality == BURSTABLE and _limited(pod, "cpu"))
    memory_limited = quality == GUARANTEED or (quality == BURSTABLE and _limited(pod, "memory"))
    known = quality in (GUARANTEED, BURSTABLE)
    return Settings(
        cpu_shares=shares_of(requests.get("cpu", _NONE).milli()) if known else LEAST_SHARES,
        cpu_quota=quota if cpu_limited else UNLIMITED,
        cpu_period=kernel.cpu_period,
        memory_limit=limits.get("memory", _NONE).value() if memory_limited else UNLIMITED,
        pids_limit=pids_limit,
        huge_page_limits={size: _huge_limit(requests, size) for size in kernel.huge_page_sizes},
    )


def _limited(pod: core.Pod, name: str) -> bool:
    if pod.spec.resources is not None and pod.spec.resources.limits.get(name):
        return True
    return all(bool(one.resources.limits.get(name)) for one in (*pod.spec.init_containers, *pod.spec.containers))


def _huge_limit(requests: dict[str, Quantity], size: int) -> int:
    for name, amount in requests.items():
        if name.startswith(_HUGE) and Quantity(name.removeprefix(_HUGE)).value() == size:
            return amount.value()
    return 0
