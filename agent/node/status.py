"""The status of the Node object and the patch that brings the API up to date. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.node.addresses import node_addresses
from agent.node.machine import Machine
from agent.pods.seams import RuntimeInfo
from api import core_v1 as core
from api.codec import to_builtins
from api.quantity import Quantity


@dataclass(frozen=True, slots=True)
class NodeView:
    """Everything a status is made from."""

    machine: Machine
    hostname: str
    ips: tuple[str, ...]
    capacity: Mapping[str, Quantity]
    allocatable: Mapping[str, Quantity]
    conditions: Sequence[core.NodeCondition]
    version: str
    """Kubernetes version, "v1.36.3"."""
    port: int
    """Port of the agent's HTTPS API."""
    runtime: RuntimeInfo | None = None
    images: Sequence[core.ContainerImage] = field(default_factory=tuple)
    """As the status lists them: the largest, each with a few of its names."""


def node_status(view: NodeView, previous: core.NodeStatus) -> core.NodeStatus:
    """The whole status; what others wrote into the previous one (attached volumes, foreign conditions) is kept."""
    machine = view.machine
    made = {one.type for one in view.conditions}
    # Extended resources are announced by others; only what the machine has is ours.
    foreign = {name: amount for name, amount in previous.capacity.items() if "/" in name}
    foreign_allocatable = {name: amount for name, amount in previous.allocatable.items() if "/" in name}
    runtime = view.runtime
    if runtime is not None:
        runtime_version = f"{runtime.name}://{runtime.version}"
    else:
        runtime_version = previous.node_info.container_runtime_version
    info = core.NodeSystemInfo(
        machine_id=machine.machine_id,
        system_uuid=machine.system_uuid,
        boot_id=machine.boot_id,
        kernel_version=machine.kernel_version,
        os_image=machine.os_image,
        container_runtime_version=runtime_version,
        kubelet_version=view.version,
        operating_system="linux",
        architecture=machine.architecture,
    )
    if machine.swap_bytes:
        info.swap = core.NodeSwapStatus(capacity=machine.swap_bytes)
    return core.NodeStatus(
        capacity={**foreign, **view.capacity},
        allocatable={**foreign_allocatable, **view.allocatable},
        conditions=[*(one for one in previous.conditions if one.type not in made), *view.conditions],
        addresses=node_addresses(view.ips, view.hostname),
        daemon_endpoints=core.NodeDaemonEndpoints(kubelet_endpoint=core.DaemonEndpoint(port=view.port)),
        node_info=info,
        images=list(view.images),
        volumes_in_use=previous.volumes_in_use,
        volumes_attached=previous.volumes_attached,
        config=previous.config,
        runtime_handlers=previous.runtime_handlers,
        features=previous.features,
        declared_features=previous.declared_features,
    )


def changed(old: core.NodeStatus, new: core.NodeStatus) -> bool:
    """Whether the status says anything new, heartbeats aside."""
    return _timeless(old) != _timeless(new)


def _timeless(status: core.NodeStatus) -> dict[str, Any]:
    plain: dict[str, Any] = dict(to_builtins(status))
    plain["conditions"] = {one["type"]: {**one, "lastHeartbeatTime": None} for one in plain.get("conditions", [])}
    return plain


def status_patch(old: core.NodeStatus, new: core.NodeStatus) -> dict[str, Any]:
    """A strategic merge patch for nodes/status."""
    before, after = to_builtins(old), to_builtins(new)
    changes: dict[str, Any] = {}
    for key in sorted({*before, *after}):
        if before.get(key) == after.get(key):
            continue
        value = after.get(key)
        if key == "conditions":
            known = {one["type"]: one for one in before.get(key, [])}
            value = [one for one in value or [] if known.get(one["type"]) != one]
        elif key == "addresses":
            # Merged by type, two addresses of one type would become one.
            value = [*(value or []), {"$patch": "replace"}]
        elif isinstance(value, dict) and isinstance(before.get(key), dict):
            gone = {name: None for name in before[key] if name not in value}
            value = {**value, **gone}
        changes[key] = value
    return {"status": changes}
