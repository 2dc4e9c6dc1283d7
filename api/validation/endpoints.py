"""Endpoints and EndpointSlices: addresses traffic may go to, and the ports there."""

from __future__ import annotations

from collections.abc import Callable

from api import core_v1 as core
from api import discovery_v1 as discovery
from api import names
from api.fields import FieldErrors, duplicate, invalid, required, too_many
from api.validation.addresses import parse_address, validate_address, validate_not_special
from api.validation.checks import (
    complain,
    dns_label,
    dns_subdomain,
    immutable,
    qualified,
    required_one_of,
)
from api.validation.containers import PROTOCOLS
from api.validation.metadata import validate_labels
from api.validation.rules import Rules

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_ADDRESSES = 100
_PORTS = 100
_ENDPOINTS = 1000
_TOPOLOGY_LABELS = 16
_HINTS = 8


def validate_endpoints(endpoints: core.Endpoints, out: FieldErrors) -> None:
    for index, subset in enumerate(endpoints.subsets):
        where = f"subsets[{index}]"
        if not subset.addresses and not subset.not_ready_addresses:
            out.append(required(where, "must specify `addresses` or `notReadyAddresses`"))
        for position, address in enumerate(subset.addresses):
            _validate_endpoint_address(address, f"{where}.addresses[{position}]", out)
        for position, address in enumerate(subset.not_ready_addresses):
            _validate_endpoint_address(address, f"{where}.notReadyAddresses[{position}]", out)
        for position, port in enumerate(subset.ports):
            _validate_endpoint_port(port, f"{where}.ports[{position}]", out, several=len(subset.ports) > 1)


def _validate_endpoint_address(address: core.EndpointAddress, path: str, out: FieldErrors) -> None:
    validate_address(address.ip, f"{path}.ip", out)
    if address.hostname:
        dns_label(address.hostname, f"{path}.hostname", out)
    if address.node_name is not None:
        dns_subdomain(address.node_name, f"{path}.nodeName", out)
    validate_not_special(address.ip, f"{path}.ip", out)


def _validate_endpoint_port(port: core.EndpointPort, path: str, out: FieldErrors, *, several: bool) -> None:
    if port.name:
        dns_label(port.name, f"{path}.name", out)
    elif several:
        out.append(required(f"{path}.name"))
    if bad := names.port_number(port.port):
        complain(out, f"{path}.port", port.port, bad)
    required_one_of(port.protocol, PROTOCOLS, f"{path}.protocol", out)
    if port.app_protocol is not None:
        qualified(port.app_protocol, f"{path}.appProtocol", out)


def validate_slice(piece: discovery.EndpointSlice, out: FieldErrors) -> None:
    required_one_of(piece.address_type, _ADDRESS_TYPES, "addressType", out)
    _validate_slice_endpoints(piece, out)
    if len(piece.ports) > _PORTS:
        out.append(too_many("ports", len(piece.ports), _PORTS))
        return
    seen: set[str] = set()
    for index, port in enumerate(piece.ports):
        where, name = f"ports[{index}]", port.name or ""
        if name:
            dns_label(name, f"{where}.name", out)
        if name in seen:
            out.append(duplicate(f"{where}.name", name))
        seen.add(name)
        required_one_of(port.protocol or "", PROTOCOLS, f"{where}.protocol", out)
        if port.app_protocol is not None:
            qualified(port.app_protocol, f"{where}.appProtocol", out)


def _validate_slice_endpoints(piece: discovery.EndpointSlice, out: FieldErrors) -> None:
    if len(piece.endpoints) > _ENDPOINTS:
        out.append(too_many("endpoints", len(piece.endpoints), _ENDPOINTS))
        return
    for index, endpoint in enumerate(piece.endpoints):
        where = f"endpoints[{index}]"
        if not endpoint.addresses:
            out.append(required(f"{where}.addresses", "must contain at least 1 address"))
        elif len(endpoint.addresses) > _ADDRESSES:
            out.append(too_many(f"{where}.addresses", len(endpoint.addresses), _ADDRESSES))
        for position, address in enumerate(endpoint.addresses):
            _validate_slice_address(address, piece.address_type, f"{where}.addresses[{position}]", out)
        topology = endpoint.deprecated_topology
        if topology:
            if len(topology) > _TOPOLOGY_LABELS:
                out.append(too_many(f"{where}.deprecatedTopology", len(topology), _TOPOLOGY_LABELS))
            validate_labels(topology, f"{where}.deprecatedTopology", out)
        if endpoint.node_name is not None:
            dns_subdomain(endpoint.node_name, f"{where}.nodeName", out)
        if endpoint.hostname is not None:
            dns_label(endpoint.hostname, f"{where}.hostname", out)
        if endpoint.hints is not None:
            zones = [zone.name for zone in endpoint.hints.for_zones]
            _validate_hints(zones, f"{where}.hints.forZones", names.label_value, out)
            nodes = [node.name for node in endpoint.hints.for_nodes]
            _validate_hints(nodes, f"{where}.hints.forNodes", names.dns1123_subdomain, out)


def _validate_hints(hinted: list[str], path: str, rule: Callable[[str], names.Messages], out: FieldErrors) -> None:
    if len(hinted) > _HINTS:
        out.append(too_many(path, len(hinted), _HINTS))
        return
    seen: set[str] = set()
    for index, name in enumerate(hinted):
        where = f"{path}[{index}].name"
        if name in seen:
            out.append(duplicate(where, name))
        seen.add(name)
        complain(out, where, name, rule(name))


def _validate_slice_address(address: str, type_: str, path: str, out: FieldErrors) -> None:
    if type_ in ("IPv4", "IPv6"):
        if validate_address(address, path, out):
            parsed = parse_address(address)
            if parsed is not None and f"IPv{parsed.version}" != type_:
                out.append(invalid(path, address, f"must be an {type_} address"))
        validate_not_special(address, path, out)
    elif type_ == "FQDN":
        domain = address.removesuffix(".")
        if not address:
            out.append(required(path))
        elif bad := names.dns1123_subdomain(domain):
            out.append(invalid(path, domain, ",".join(bad)))
        elif "." not in domain:
            detail = "should be a domain with at least two segments separated by dots"
            out.append(invalid(path, domain, detail))


def validate_slice_update(new: discovery.EndpointSlice, old: discovery.EndpointSlice, out: FieldErrors) -> None:
    validate_slice(new, out)
    immutable(new.address_type, old.address_type, "addressType", out)


RULES = {"EndpointSlice": Rules(create=validate_slice, update=validate_slice_update)}
