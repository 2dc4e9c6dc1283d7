"""What an update of a service may leave out, and what goes with its old type.

`kubectl replace` and `kubectl edit` send services without what the server added, or change the type alone; both must
do what is meant (source: pkg/registry/core/service, patchAllocatedValues, normalizeClusterIPs and
dropTypeDependentFields).
"""

from __future__ import annotations

from api import core_v1 as core

EXTERNAL_NAME = "ExternalName"
WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def carry_over(new: core.Service, old: core.Service) -> None:
    """Keep of what the service was given whatever an update leaves out, so that `kubectl replace` works."""
    spec, before = new.spec, old.spec
    if has_address(spec) and has_address(before):
        if not spec.cluster_ip:
            spec.cluster_ip = before.cluster_ip
        if not spec.cluster_ips and spec.cluster_ip == before.cluster_ip:
            spec.cluster_ips = list(before.cluster_ips)
        elif spec.cluster_ip != before.cluster_ip and spec.cluster_ips == before.cluster_ips:
            # The older field alone was changed: it speaks for the first of the newer one.
            spec.cluster_ips = [spec.cluster_ip, *spec.cluster_ips[1:]]
        if not spec.ip_families:
            spec.ip_families = list(before.ip_families)
        if spec.ip_family_policy is None:
            spec.ip_family_policy = before.ip_family_policy
    if has_node_ports(spec) and has_node_ports(before):
        _keep_node_ports(spec, before)
    if needs_health_check(spec) and needs_health_check(before) and not spec.health_check_node_port:
        spec.health_check_node_port = before.health_check_node_port


def _keep_node_ports(spec: core.ServiceSpec, before: core.ServiceSpec) -> None:
    """Ports are known again by name, whatever else of them changed; a node port that moved to another stays there."""
    known = {port.name: port.node_port for port in before.ports}
    used = {port.node_port for port in before.ports} & {port.node_port for port in spec.ports}
    for port in spec.ports:
        number = known.get(port.name, 0)
        if not port.node_port and number not in used:
            port.node_port = number
            used.add(number)


def let_go(new: core.Service, old: core.Service) -> None:
    """Drop what only the old type had use for, unless the update says something else of it.

    What is left of the old type is refused by validation.
    """
    spec, before = new.spec, old.spec
    if has_address(before) and not has_address(spec):
        if spec.cluster_ip == before.cluster_ip and spec.cluster_ips == before.cluster_ips:
            spec.cluster_ip, spec.cluster_ips = "", []
        if spec.ip_families == before.ip_families:
            spec.ip_families = []
        if spec.ip_family_policy == before.ip_family_policy:
            spec.ip_family_policy = None
    # A balancer's node ports stay when it is told to allocate none: whoever wants them gone takes them out.
    closing = before.type in WITH_NODE_PORTS and spec.type not in WITH_NODE_PORTS
    if closing and _node_ports(spec) == _node_ports(before):
        for port in spec.ports:
            port.node_port = 0
    unchecked = needs_health_check(before) and not needs_health_check(spec)
    if unchecked and spec.health_check_node_port == before.health_check_node_port:
        spec.health_check_node_port = 0
    if before.type == "LoadBalancer" and spec.type != "LoadBalancer":
        if spec.allocate_load_balancer_node_ports == before.allocate_load_balancer_node_ports:
            spec.allocate_load_balancer_node_ports = None
        if spec.load_balancer_class == before.load_balancer_class:
            spec.load_balancer_class = None
    closed = takes_outside_traffic(before) and not takes_outside_traffic(spec)
    if closed and spec.external_traffic_policy == before.external_traffic_policy:
        spec.external_traffic_policy = ""
    if spec.type != "LoadBalancer" and new.status.load_balancer.ingress:
        new.status = core.ServiceStatus(conditions=new.status.conditions)


def held_ports(service: core.Service) -> list[int]:
    """The node ports a service holds, sorted."""
    ports = _node_ports(service.spec)
    if service.spec.health_check_node_port:
        ports.add(service.spec.health_check_node_port)
    return sorted(ports)


def _node_ports(spec: core.ServiceSpec) -> set[int]:
    return {port.node_port for port in spec.ports if port.node_port}


def has_address(spec: core.ServiceSpec) -> bool:
    """Whether services of this type have a cluster address ("None" counts as one)."""
    return spec.type != EXTERNAL_NAME


def has_node_ports(spec: core.ServiceSpec) -> bool:
    """Whether each port of the service is given a node port."""
    if spec.type == "LoadBalancer":
        return spec.allocate_load_balancer_node_ports is not False
    return spec.type == "NodePort"


def needs_health_check(spec: core.ServiceSpec) -> bool:
    """Whether load balancers ask each node for endpoints of the service, which takes a port of its own."""
    return spec.type == "LoadBalancer" and spec.external_traffic_policy == "Local"


def takes_outside_traffic(spec: core.ServiceSpec) -> bool:
    """Whether there is a way in from outside of the cluster, for which a traffic policy is needed."""
    return spec.type in WITH_NODE_PORTS or (spec.type == "ClusterIP" and bool(spec.external_ips))
