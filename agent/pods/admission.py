"""Whether this node lets a pod in: the last word, after the scheduler's, which may have been spoken on old news. Pure.

A pod is judged once, when it first comes. What has been let in stays, whatever becomes of the node's labels and room.
Reasons and messages are upstream's; they end up in the pod's status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.pods.matching import node_suits
from agent.pods.status import Failure
from agent.pods.sysctls import forbidden_sysctl
from api import core_v1 as core
from api.pod_resources import pod_requests
from api.pods import host_ports, is_static, untolerated_taint
from api.quantity import Quantity

OS_LABEL = "kubernetes.io/os"
OS = "linux"
_MILLI = frozenset({"cpu"})
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def admit(
    pod: core.Pod, node: core.Node, allocatable: Mapping[str, Quantity], others: Iterable[core.Pod]
) -> Failure | None:
    """Why the node refuses the pod, None when it does not.

    `node` is the API's Node for labels and taints, `allocatable` what the machine really has, `others` the pods that
    hold room here.
    """
    present = list(others)
    return (
        forbidden_sysctl(pod)
        or _operating_system(pod, node)
        or _room(pod, allocatable, present)
        or _place(pod, node)
        or _ports(pod, present)
        or _taints(pod, node)
    )


def _operating_system(pod: core.Pod, node: core.Node) -> Failure | None:
    wanted = pod.metadata.labels.get(OS_LABEL)
    if wanted is not None and wanted != OS:
        return Failure(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if pod.spec.os is not None and pod.spec.os.name != OS:
        return Failure("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    context = pod.spec.security_context
    if context is not None and context.supplemental_groups_policy == "Strict":
        features = node.status.features
        if features is None or not features.supplemental_groups_policy:
            return Failure(
                "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"
            )
    return None


def _room(pod: core.Pod, allocatable: Mapping[str, Quantity], others: list[core.Pod]) -> Failure | None:
    if (limit := allocatable.get("pods")) is not None and len(others) + 1 > limit.value():
        return _short("pods", 1, len(others), limit.value())
    used: dict[str, Quantity] = {}
    for other in others:
        for name, amount in pod_requests(other.spec).items():
            used[name] = used[name] + amount if name in used else amount
    for name, amount in pod_requests(pod.spec).items():
        if name not in allocatable and name not in _NATIVE and not name.startswith("hugepages-"):
            # A resource of the cluster, not of the node: the scheduler has counted it.
            continue
        capacity = allocatable.get(name, Quantity("0"))
        taken = used.get(name, Quantity("0"))
        if amount and amount + taken > capacity:
            return _short(name, _figure(name, amount), _figure(name, taken), _figure(name, capacity))
    return None


def _figure(name: str, amount: Quantity) -> int:
    return amount.milli() if name in _MILLI else amount.value()


def _short(name: str, requested: int, used: int, capacity: int) -> Failure:
    return Failure(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}",
    )


def _place(pod: core.Pod, node: core.Node) -> Failure | None:
    if not node_suits(pod, node):
        return _refusal("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if pod.spec.node_name and pod.spec.node_name != node.metadata.name:
        return _refusal("NodeName", "node(s) didn't match the requested node name")
    return None


def _ports(pod: core.Pod, others: list[core.Pod]) -> Failure | None:
    wanted = host_ports(pod.spec)
    if not wanted:
        return None
    for other in others:
        for protocol, address, port in host_ports(other.spec):
            for one in wanted:
                overlap = one[1] == address or "0.0.0.0" in (one[1], address)
                if (one[0], one[2]) == (protocol, port) and overlap:
                    return _refusal("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    return None


def _taints(pod: core.Pod, node: core.Node) -> Failure | None:
    if is_static(pod):
        return None
    if untolerated_taint(node.spec.taints, pod.spec.tolerations, {"NoExecute"}) is not None:
        return _refusal("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _refusal(predicate: str, text: str) -> Failure:
    return Failure(predicate, f"Predicate {predicate} failed: {text}")
