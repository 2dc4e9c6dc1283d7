"""What a pod may learn about itself: the fields and amounts of the downward API.

Shared by environment variables (`fieldRef`, `resourceFieldRef`) and downwardAPI volumes. Field paths and rounding are
those of the API documentation of ObjectFieldSelector and ResourceFieldSelector.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent.pods.go_text import quoted
from agent.runtime.errors import ConfigError
from api import core_v1 as core
from api.pods import AnyContainer, find_container
from api.quantity import Quantity

_SUBSCRIPT = re.compile(r"(metadata\.(?:labels|annotations))\['(.*)'\]")


def field_value(pod: core.Pod, path: str, *, pod_ips: Sequence[str], host_ips: Sequence[str]) -> str:
    """The value of a field of the pod; missing labels and annotations are empty. Raises ConfigError."""
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is not None:
        held = pod.metadata.labels if subscript[1] == "metadata.labels" else pod.metadata.annotations
        return held.get(subscript[2], "")
    values = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": host_ips[0] if host_ips else "",
        "status.hostIPs": ",".join(host_ips),
        "status.podIP": pod_ips[0] if pod_ips else "",
        "status.podIPs": ",".join(pod_ips),
    }
    if path in values:
        return values[path]
    if path == "metadata.labels":
        return format_map(pod.metadata.labels)
    if path == "metadata.annotations":
        return format_map(pod.metadata.annotations)
    raise ConfigError(f"unsupported fieldPath: {path}")


def format_map(values: Mapping[str, str]) -> str:
    """Labels or annotations as a file shows them: `key="escaped value"`, one a line, sorted."""
    return "\n".join(f"{key}={quoted(values[key])}" for key in sorted(values))


def resource_value(
    pod: core.Pod,
    container: AnyContainer,
    selector: core.ResourceFieldSelector,
    allocatable: Mapping[str, Quantity],
) -> str:
    """An amount of a container in units of the divisor, rounded up. Raises ConfigError.

    A limit that is not set is the pod's, else what the node has to give.
    """
    if selector.container_name:
        named = find_container(pod.spec, selector.container_name)
        if named is None:
            raise ConfigError(f"container {selector.container_name} not found")
        container = named
    kind, _, name = selector.resource.partition(".")
    if kind not in ("limits", "requests") or not _known(name):
        raise ConfigError(f"Unsupported container resource : {selector.resource}")
    amount = container.resources.requests.get(name) if kind == "requests" else _limit(pod, container, name, allocatable)
    return _in_units(amount or Quantity(0), selector.divisor, name)


def _known(name: str) -> bool:
    return name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")


def _limit(pod: core.Pod, container: AnyContainer, name: str, allocatable: Mapping[str, Quantity]) -> Quantity | None:
    own = container.resources.limits.get(name)
    if own:
        return own
    shared = pod.spec.resources.limits.get(name) if pod.spec.resources is not None else None
    if shared:
        return shared
    return own if name.startswith("hugepages-") else allocatable.get(name)


def _in_units(amount: Quantity, divisor: Quantity, name: str) -> str:
    unit = divisor or Quantity(1)
    if name == "cpu":
        return str(-(-amount.milli() // unit.milli()))
    return str(-(-amount.value() // unit.value()))
