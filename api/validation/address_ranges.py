"""The ranges services have their addresses from, and the addresses taken from them."""

from __future__ import annotations

from api import names
from api import networking_v1 as networking
from api.fields import FieldErrors, invalid, required
from api.validation.addresses import families, validate_address, validate_cidr
from api.validation.checks import IMMUTABLE, complain, dns_subdomain, immutable, required_segment


def address_name(name: str, _: bool) -> names.Messages:
    """An IPAddress is named by the address itself, in the one form that all write alike."""
    found: FieldErrors = []
    validate_address(name, "", found, canonical=True)
    return tuple(error.detail for error in found)


def validate_ip_address(item: networking.IPAddress, out: FieldErrors) -> None:
    parent, where = item.spec.parent_ref, "spec.parentRef"
    if parent is None:
        out.append(required(where))
        return
    if parent.group:
        dns_subdomain(parent.group, f"{where}.group", out)
    required_segment(parent.resource, f"{where}.resource", out)
    required_segment(parent.name, f"{where}.name", out)
    if parent.namespace:
        complain(out, f"{where}.namespace", parent.namespace, names.path_segment(parent.namespace))


def validate_ip_address_update(new: networking.IPAddress, old: networking.IPAddress, out: FieldErrors) -> None:
    immutable(new.spec.parent_ref, old.spec.parent_ref, "spec.parentRef", out)


def validate_service_cidr(item: networking.ServiceCIDR, out: FieldErrors) -> None:
    cidrs, where = item.spec.cidrs, "spec.cidrs"
    if not cidrs:
        out.append(required(where, "at least one CIDR required"))
        return
    if len(cidrs) > 2:
        out.append(invalid(where, item.spec, "may only hold up to 2 values"))
        return
    for index, cidr in enumerate(cidrs):
        validate_cidr(cidr, f"{where}[{index}]", out, canonical=True)
    if len(cidrs) == 2 and families(cidrs[:1]) & families(cidrs[1:]):
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        out.append(invalid(where, cidrs, detail))


def validate_service_cidr_update(new: networking.ServiceCIDR, old: networking.ServiceCIDR, out: FieldErrors) -> None:
    """Ranges stay; one of the other family may be added."""
    after, before = new.spec.cidrs, old.spec.cidrs
    growing = len(before) == 1 and len(after) == 2
    if not growing and len(after) != len(before):
        out.append(invalid("spec.cidrs", after, IMMUTABLE))
        return
    for index, cidr in enumerate(before):
        immutable(after[index], cidr, f"spec.cidrs[{index}]", out)
    if growing:
        validate_service_cidr(new, out)
