"""A container's requests and limits as the runtime is told them (CRI LinuxContainerResources)."""

from __future__ import annotations

from collections.abc import Mapping

from agent.resources.kernel import KernelFacts, size_name
from agent.resources.oom import oom_score_adjust
from agent.resources.shares import quota_of, shares_of
from api import core_v1 as core
from api.pod_resources import pod_limits, pod_requests
from api.pods import AnyContainer
from api.quantity import Quantity
from proto import cri_pb2 as cri

_NONE = Quantity(0)
_HUGE = "hugepages-"


def container_resources(pod: core.Pod, container: AnyContainer, kernel: KernelFacts) -> cri.LinuxContainerResources:
    """A limit the container does not have is the pod's own, where the pod has one (KEP-2837)."""
    resources = _basic(
        container.resources.requests.get("cpu"),
        _limit(pod, container, "cpu"),
        _limit(pod, container, "memory"),
        kernel,
    )
    resources.oom_score_adj = oom_score_adjust(pod, container, kernel.memory_bytes)
    for size in kernel.huge_page_sizes:
        limit = _huge_limit(container.resources.limits, size)
        resources.hugepage_limits.add(page_size=size_name(size), limit=limit)
    _without_swap(resources, kernel)
    return resources


def sandbox_resources(pod: core.Pod, kernel: KernelFacts) -> cri.LinuxContainerResources:
    """What the whole pod is to have, without its overhead; a runtime of virtual machines sizes them by it."""
    limits = pod_limits(pod.spec, overhead=False)
    requests = pod_requests(pod.spec, overhead=False)
    return _basic(requests.get("cpu"), limits.get("cpu", _NONE), limits.get("memory", _NONE), kernel)


def sandbox_overhead(pod: core.Pod, kernel: KernelFacts) -> cri.LinuxContainerResources | None:
    """What the sandbox itself takes on top; None where the runtime class says nothing."""
    if not pod.spec.overhead:
        return None
    overhead = pod.spec.overhead
    return _basic(overhead.get("cpu"), overhead.get("cpu", _NONE), overhead.get("memory", _NONE), kernel)


def _limit(pod: core.Pod, container: AnyContainer, name: str) -> Quantity:
    own = container.resources.limits.get(name)
    if own or pod.spec.resources is None:
        return own or _NONE
    return pod.spec.resources.limits.get(name, _NONE)


def _basic(
    request: Quantity | None, cpu_limit: Quantity, memory_limit: Quantity, kernel: KernelFacts
) -> cri.LinuxContainerResources:
    share_of = request if request is not None else cpu_limit
    resources = cri.LinuxContainerResources(
        cpu_shares=shares_of(share_of.milli()), memory_limit_in_bytes=memory_limit.value()
    )
    if kernel.cpu_quota:
        resources.cpu_period = kernel.cpu_period
        resources.cpu_quota = quota_of(cpu_limit.milli(), kernel.cpu_period)
    if kernel.cgroup_v2 and not kernel.single_process_oom_kill:
        resources.unified["memory.oom.group"] = "1"
    return resources


def _huge_limit(limits: Mapping[str, Quantity], size: int) -> int:
    for name, amount in limits.items():
        if name.startswith(_HUGE) and Quantity(name.removeprefix(_HUGE)).value() == size:
            return amount.value()
    return 0


def _without_swap(resources: cri.LinuxContainerResources, kernel: KernelFacts) -> None:
    """Containers get no swap: memory limits mean what they say."""
    if not kernel.swap_limits:
        return
    if kernel.cgroup_v2:
        resources.unified["memory.swap.max"] = "0"
    else:
        resources.memory_swap_limit_in_bytes = resources.memory_limit_in_bytes
