"""What an update of a service may leave out, and what goes with its old type.

`kubectl replace` and `kubectl edit` send services without what the server added, or change the type alone; both must
do what is meant (source: pkg/registry/core/service/storage, patchAllocatedValues and dropTypeDependentFields).
"""

from __future__ import annotations

from api import core_v1 as core

EXTERNAL_NAME = "ExternalName"
WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def carry_over(new: core.Service, old: core.Service) -> None:
    """Keep what an update leaves out and drop what its new type has no use for, so that `kubectl replace` works."""
    spec, before = new.spec, old.spec
    if spec.type == EXTERNAL_NAME:
        if (
            before.type != EXTERNAL_NAME
            and spec.cluster_ip == before.cluster_ip
            and spec.cluster_ips == before.cluster_ips
        ):
            spec.cluster_ip, spec.cluster_ips = "", []
            spec.ip_families, spec.ip_family_policy = [], None
        return
    if before.type == EXTERNAL_NAME:
        return
    if not spec.cluster_ip and not spec.cluster_ips:
        spec.cluster_ip, spec.cluster_ips = before.cluster_ip, list(before.cluster_ips)
    elif spec.cluster_ip and not spec.cluster_ips:
        spec.cluster_ips = list(before.cluster_ips) if spec.cluster_ip == before.cluster_ip else [spec.cluster_ip]
    elif spec.cluster_ip != before.cluster_ip and spec.cluster_ips == before.cluster_ips:
        # The older field alone was changed: it speaks for the first of the newer one.
        spec.cluster_ips = [spec.cluster_ip, *spec.cluster_ips[1:]] if spec.cluster_ip else []
    elif spec.cluster_ip == before.cluster_ip and spec.cluster_ips and spec.cluster_ips != before.cluster_ips:
        spec.cluster_ip = spec.cluster_ips[0]
    if not spec.ip_families:
        spec.ip_families = list(before.ip_families)
    if spec.ip_family_policy is None:
        spec.ip_family_policy = before.ip_family_policy
    if spec.type in WITH_NODE_PORTS and before.type in WITH_NODE_PORTS:
        known = {(port.protocol, port.port): port.node_port for port in before.ports}
        for port in spec.ports:
            if not port.node_port:
                port.node_port = known.get((port.protocol, port.port), 0)
    elif before.type in WITH_NODE_PORTS and spec.type == "ClusterIP":
        # kubectl edit changes the type alone; the node ports of the old type go with it.
        known_ports = set(held_ports(old))
        for port in spec.ports:
            if port.node_port in known_ports:
                port.node_port = 0
    if needs_health_check(before) and not needs_health_check(spec):
        if spec.health_check_node_port == before.health_check_node_port:
            spec.health_check_node_port = 0
    elif needs_health_check(before) and not spec.health_check_node_port:
        spec.health_check_node_port = before.health_check_node_port
    if before.type == "LoadBalancer" and spec.type != "LoadBalancer":
        if spec.allocate_load_balancer_node_ports == before.allocate_load_balancer_node_ports:
            spec.allocate_load_balancer_node_ports = None
        if spec.load_balancer_class == before.load_balancer_class:
            spec.load_balancer_class = None
    outside = before.type in WITH_NODE_PORTS and spec.type == "ClusterIP" and not spec.external_ips
    if outside and spec.external_traffic_policy == before.external_traffic_policy:
        spec.external_traffic_policy = ""


def held_ports(service: core.Service) -> list[int]:
    """The node ports a service holds, sorted."""
    ports = {port.node_port for port in service.spec.ports if port.node_port}
    if service.spec.health_check_node_port:
        ports.add(service.spec.health_check_node_port)
    return sorted(ports)


def needs_health_check(spec: core.ServiceSpec) -> bool:
    """Whether load balancers ask each node for endpoints of the service, which takes a port of its own."""
    return spec.type == "LoadBalancer" and spec.external_traffic_policy == "Local"
