"""Nodes: taints, pod CIDRs, capacities, and what never changes once it is known."""

from __future__ import annotations

from api import core_v1 as core
from api.fields import FieldErrors, duplicate, forbidden, invalid
from api.validation.addresses import families, validate_cidr
from api.validation.resources import validate_amount
from api.validation.scheduling import validate_taints

_FIXED_CIDR = 'node updates may not change podCIDR except from "" to valid'
_FIXED_PROVIDER = 'node updates may not change providerID except from "" to valid'


def validate_node(node: core.Node, out: FieldErrors) -> None:
    if node.spec.taints:
        validate_taints(node.spec.taints, "metadata.taints", out)
    _validate_amounts(node.status, out)
    cidrs = node.spec.pod_cidrs
    for index, cidr in enumerate(cidrs):
        validate_cidr(cidr, f"spec.podCIDRs[{index}]", out)
    if len(cidrs) > 1:
        if len(cidrs) > 2 or len(families(cidrs)) != 2:
            detail = "may specify no more than one CIDR for each IP family"
            out.append(invalid("spec.podCIDRs", cidrs, detail))
        for index, cidr in enumerate(cidrs):
            if cidr in cidrs[:index]:
                out.append(duplicate(f"spec.podCIDRs[{index}]", cidr))


def _validate_amounts(status: core.NodeStatus, out: FieldErrors) -> None:
    for name, amount in status.capacity.items():
        validate_amount(name, amount, f"status.capacity.{name}", out)
    for name, amount in status.allocatable.items():
        validate_amount(name, amount, f"status.allocatable.{name}", out)


def validate_node_update(new: core.Node, old: core.Node, out: FieldErrors) -> None:
    """On changes of the node and of its status alike."""
    _validate_amounts(new.status, out)
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(new.status.addresses):
        if (address.type, address.address) in seen:
            out.append(duplicate(f"status.addresses[{index}]", address))
        seen.add((address.type, address.address))
    if old.spec.pod_cidrs and new.spec.pod_cidrs != old.spec.pod_cidrs:
        out.append(forbidden("spec.podCIDRs", _FIXED_CIDR))
    if old.spec.provider_id and new.spec.provider_id != old.spec.provider_id:
        out.append(forbidden("spec.providerID", _FIXED_PROVIDER))
    if new.spec.taints:
        validate_taints(new.spec.taints, "metadata.taints", out)
    if new.spec.external_id != old.spec.external_id:
        out.append(forbidden("spec.externalID", "may not be updated"))
