"""Tables of services and what leads traffic to pods."""

from __future__ import annotations

from collections.abc import Iterable

from api import core_v1 as core
from api import discovery_v1 as discovery
from api import networking_v1 as networking
from controlplane.apiserver.tables.ages import since
from controlplane.apiserver.tables.columns import (
    AGE,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Cell,
    Printer,
    column,
    first_few,
    label_map,
    label_selector,
)


def _service(item: core.Service, now: float) -> list[Cell]:
    spec = item.spec
    return [
        item.metadata.name,
        spec.type,
        spec.cluster_ips[0] if spec.cluster_ips else NONE,
        _external(item),
        ",".join(_port(port) for port in spec.ports) or NONE,
        since(item.metadata.creation_timestamp, now),
        label_map(spec.selector),
    ]


def _port(port: core.ServicePort) -> str:
    number = f"{port.port}:{port.node_port}" if port.node_port > 0 else str(port.port)
    return f"{number}/{port.protocol}"


def _external(item: core.Service) -> str:
    spec = item.spec
    if spec.type in ("ClusterIP", "NodePort"):
        return ",".join(spec.external_ips) or NONE
    if spec.type == "LoadBalancer":
        ingress = _points((entry.ip, entry.hostname) for entry in item.status.load_balancer.ingress)
        return ",".join([*ingress, *spec.external_ips]) or "<pending>"
    if spec.type == "ExternalName":
        return spec.external_name
    return "<unknown>"


def _points(points: Iterable[tuple[str, str]]) -> list[str]:
    """Addresses, or host names where there is no address, sorted."""
    return sorted({address or host for address, host in points if address or host})


def _endpoints(item: core.Endpoints, now: float) -> list[Cell]:
    found: list[str] = []
    for subset in item.subsets:
        if not subset.ports:
            found.extend(address.ip for address in subset.addresses)
        for port in subset.ports:
            found.extend(_joined(address.ip, port.port) for address in subset.addresses)
    shown = first_few(found) if item.subsets else NONE
    return [item.metadata.name, shown, since(item.metadata.creation_timestamp, now)]


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoint_slice(item: discovery.EndpointSlice, now: float) -> list[Cell]:
    ports = [
        str(port.port) if port.port is not None else port.name if port.name is not None else "*" for port in item.ports
    ]
    addresses = [address for endpoint in item.endpoints for address in endpoint.addresses]
    return [
        item.metadata.name,
        item.address_type,
        first_few(ports) or UNSET,
        first_few(addresses) or UNSET,
        since(item.metadata.creation_timestamp, now),
    ]


def _ingress(item: networking.Ingress, now: float) -> list[Cell]:
    rules = item.spec.rules
    hosts = [rule.host for rule in rules[:3] if rule.host]
    shown = ",".join(hosts) or "*"
    if hosts and len(rules) > 3:
        shown += f" + {len(rules) - 3} more..."
    points = _points((entry.ip, entry.hostname) for entry in item.status.load_balancer.ingress)
    return [
        item.metadata.name,
        NONE if item.spec.ingress_class_name is None else item.spec.ingress_class_name,
        shown,
        ",".join(points),
        "80, 443" if item.spec.tls else "80",
        since(item.metadata.creation_timestamp, now),
    ]


def _ingress_class(item: networking.IngressClass, now: float) -> list[Cell]:
    parameters, shown = item.spec.parameters, NONE
    if parameters is not None:
        kind = f"{parameters.kind}.{parameters.api_group}" if parameters.api_group is not None else parameters.kind
        shown = f"{kind}/{parameters.name}"
    return [item.metadata.name, item.spec.controller, shown, since(item.metadata.creation_timestamp, now)]


def _network_policy(item: networking.NetworkPolicy, now: float) -> list[Cell]:
    return [
        item.metadata.name,
        label_selector(item.spec.pod_selector),
        since(item.metadata.creation_timestamp, now),
    ]


def _service_cidr(item: networking.ServiceCIDR, now: float) -> list[Cell]:
    return [item.metadata.name, ",".join(item.spec.cidrs), since(item.metadata.creation_timestamp, now)]


def _ip_address(item: networking.IPAddress, _now: float) -> list[Cell]:
    parent, shown = item.spec.parent_ref, NONE
    if parent is not None:
        resource = f"{parent.resource}.{parent.group}" if parent.group else parent.resource
        shown = "/".join(filter(None, (resource.lower(), parent.namespace, parent.name)))
    return [item.metadata.name, shown]


SERVICES = Printer(
    (
        NAME,
        column("Type", "How the service is offered."),
        column("Cluster-IP", "Address of the service within the cluster."),
        column("External-IP", "Addresses under which the service is reached from outside."),
        column("Port(s)", "Ports of the service, with their node ports."),
        AGE,
        SELECTOR,
    ),
    _service,
)
ENDPOINTS = Printer((NAME, column("Endpoints", "Addresses and ports behind the service."), AGE), _endpoints)
ENDPOINT_SLICES = Printer(
    (
        NAME,
        column("AddressType", "Family of the addresses."),
        column("Ports", "Ports of each endpoint."),
        column("Endpoints", "Addresses of the endpoints."),
        AGE,
    ),
    _endpoint_slice,
)
INGRESSES = Printer(
    (
        NAME,
        column("Class", "Ingress class that serves it."),
        column("Hosts", "Host names it answers to."),
        column("Address", "Addresses of the load balancer."),
        column("Ports", "Ports that are open."),
        AGE,
    ),
    _ingress,
)
INGRESS_CLASSES = Printer(
    (
        NAME,
        column("Controller", "Controller that serves ingresses of the class."),
        column("Parameters", "Object with more parameters for the controller."),
        AGE,
    ),
    _ingress_class,
)
NETWORK_POLICIES = Printer((NAME, column("Pod-Selector", "Labels that choose the pods."), AGE), _network_policy)
SERVICE_CIDRS = Printer((NAME, column("CIDRs", "Ranges that cluster addresses are taken from."), AGE), _service_cidr)
IP_ADDRESSES = Printer((NAME, column("ParentRef", "Object that holds the address.")), _ip_address)
