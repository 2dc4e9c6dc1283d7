"""Services: ports, cluster IPs and their families, traffic policies. Allocating addresses is the API server's task."""

from __future__ import annotations

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, duplicate, forbidden, invalid, not_supported, required
from api.validation.addresses import families, parse_address, validate_address, validate_cidr, validate_not_special
from api.validation.checks import (
    IMMUTABLE,
    complain,
    dns_label,
    dns_subdomain,
    one_of,
    port_or_name,
    qualified,
    required_one_of,
)
from api.validation.containers import PROTOCOLS
from api.validation.metadata import validate_labels

HEADLESS = "None"
MAX_AFFINITY_SECONDS = 86400
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TRAFFIC_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_NOT_EXTERNAL_NAME = "may not be set for ExternalName services"


def is_headless(service: core.Service) -> bool:
    return service.spec.cluster_ips == [HEADLESS]


def is_externally_accessible(service: core.Service) -> bool:
    spec = service.spec
    return spec.type in ("LoadBalancer", "NodePort") or (spec.type == "ClusterIP" and bool(spec.external_ips))


def needs_health_check(service: core.Service) -> bool:
    return service.spec.type == "LoadBalancer" and service.spec.external_traffic_policy == "Local"


def validate_service(service: core.Service, out: FieldErrors) -> None:
    spec = service.spec
    annotations = service.metadata.annotations
    if _MODE in annotations and _HINTS in annotations and annotations[_MODE] != annotations[_HINTS]:
        detail = f"must match annotations[{_HINTS}] when both are specified"
        out.append(invalid(f"metadata.annotations[{_MODE}]", annotations[_MODE], detail))
    headless = is_headless(service)
    if not spec.ports and not headless and spec.type != "ExternalName":
        out.append(required("spec.ports"))
    if headless and spec.type in ("LoadBalancer", "NodePort"):
        detail = f"may not be set to 'None' for {spec.type} services"
        out.append(invalid("spec.clusterIPs[0]", HEADLESS, detail))
    elif spec.type == "ExternalName":
        _validate_external_name(spec, out)
    _validate_ports(spec, out)
    if spec.selector:
        validate_labels(spec.selector, "spec.selector", out)
    _validate_affinity(spec, out)
    validate_cluster_ips(service, out)
    for index, address in enumerate(spec.external_ips):
        where = f"spec.externalIPs[{index}]"
        if validate_address(address, where, out):
            validate_not_special(address, where, out)
    required_one_of(spec.type, _TYPES, "spec.type", out)
    _validate_unique_ports(spec, out)
    _validate_balancer(service, out)
    _validate_traffic(service, out)


def _validate_external_name(spec: core.ServiceSpec, out: FieldErrors) -> None:
    if spec.cluster_ips:
        out.append(forbidden("spec.clusterIPs", _NOT_EXTERNAL_NAME))
    if spec.ip_families:
        out.append(forbidden("spec.ipFamilies", _NOT_EXTERNAL_NAME))
    if spec.ip_family_policy is not None:
        out.append(forbidden("spec.ipFamilyPolicy", _NOT_EXTERNAL_NAME))
    target = spec.external_name.removesuffix(".")
    if target:
        dns_subdomain(target, "spec.externalName", out)
    else:
        out.append(required("spec.externalName"))


def _validate_ports(spec: core.ServiceSpec, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, port in enumerate(spec.ports):
        where = f"spec.ports[{index}]"
        if port.name:
            dns_label(port.name, f"{where}.name", out)
            if port.name in seen:
                out.append(duplicate(f"{where}.name", port.name))
            seen.add(port.name)
        elif len(spec.ports) > 1:
            out.append(required(f"{where}.name"))
        if bad := names.port_number(port.port):
            complain(out, f"{where}.port", port.port, bad)
        required_one_of(port.protocol, PROTOCOLS, f"{where}.protocol", out)
        port_or_name(port.target_port, f"{where}.targetPort", out)
        if port.app_protocol is not None:
            qualified(port.app_protocol, f"{where}.appProtocol", out)


def _validate_affinity(spec: core.ServiceSpec, out: FieldErrors) -> None:
    required_one_of(spec.session_affinity, _AFFINITIES, "spec.sessionAffinity", out)
    config, where = spec.session_affinity_config, "spec.sessionAffinityConfig"
    if spec.session_affinity == "None":
        if config is not None:
            out.append(forbidden(where, "must not be set when session affinity is None"))
    elif spec.session_affinity == "ClientIP":
        detail = "when session affinity type is ClientIP"
        if config is None:
            out.append(required(where, detail))
        elif config.client_ip is None:
            out.append(required(f"{where}.clientIP", detail))
        elif config.client_ip.timeout_seconds is None:
            out.append(required(f"{where}.clientIP.timeoutSeconds", detail))
        elif not 0 < config.client_ip.timeout_seconds <= MAX_AFFINITY_SECONDS:
            detail = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
            out.append(invalid(f"{where}.clientIP.timeoutSeconds", config.client_ip.timeout_seconds, detail))


def validate_cluster_ips(service: core.Service, out: FieldErrors) -> None:
    """`clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` among themselves (KEP-563)."""
    spec = service.spec
    if spec.type == "ExternalName":
        return
    addresses, where = spec.cluster_ips, "spec.clusterIPs"
    if spec.cluster_ip:
        if not addresses:
            out.append(required(where))
        elif addresses[0] != spec.cluster_ip:
            out.append(invalid(where, addresses, "first value must match `clusterIP`"))
    elif addresses:
        out.append(invalid(where, addresses, "must be empty when `clusterIP` is not specified"))
    for index, family in enumerate(spec.ip_families):
        one_of(family, _FAMILIES, f"spec.ipFamilies[{index}]", out)
        if family in spec.ip_families[:index]:
            out.append(duplicate(f"spec.ipFamilies[{index}]", family))
    if spec.ip_family_policy is not None:
        one_of(spec.ip_family_policy, _FAMILY_POLICIES, "spec.ipFamilyPolicy", out)
    sound = True
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                sound = False
                out.append(invalid(where, addresses, "'None' must be the first and only value"))
            continue
        sound = validate_address(address, f"{where}[{index}]", out) and sound
    if len(addresses) > 2:
        out.append(invalid(where, addresses, "may only hold up to 2 values"))
    if not sound:
        return
    if len(addresses) > 1 and len(families(addresses)) != 2:
        out.append(invalid(where, addresses, "may specify no more than one IP for each IP family"))
    if is_headless(service):
        return
    for index, (address, family) in enumerate(zip(addresses, spec.ip_families, strict=False)):
        parsed = parse_address(address)
        if parsed is not None and family in _FAMILIES and family != f"IPv{parsed.version}":
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            out.append(invalid(f"{where}[{index}]", address, detail))


def _validate_unique_ports(spec: core.ServiceSpec, out: FieldErrors) -> None:
    node_ports: set[tuple[str, int]] = set()
    ports: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.ports):
        if port.node_port:
            where = f"spec.ports[{index}].nodePort"
            if spec.type == "ClusterIP":
                out.append(forbidden(where, "may not be used when `type` is 'ClusterIP'"))
            if (port.protocol, port.node_port) in node_ports:
                out.append(duplicate(where, port.node_port))
            node_ports.add((port.protocol, port.node_port))
        if (port.protocol, port.port) in ports:
            shown = core.ServicePort(protocol=port.protocol, port=port.port)
            out.append(duplicate(f"spec.ports[{index}]", shown))
        ports.add((port.protocol, port.port))


def _validate_balancer(service: core.Service, out: FieldErrors) -> None:
    spec = service.spec
    balanced = spec.type == "LoadBalancer"
    annotation = service.metadata.annotations.get(_SOURCE_RANGES)
    if spec.load_balancer_source_ranges:
        where = "spec.LoadBalancerSourceRanges"
        if not balanced:
            out.append(forbidden(where, _ONLY_BALANCED))
        for index, value in enumerate(spec.load_balancer_source_ranges):
            validate_cidr(value.strip(), f"{where}[{index}]", out)
    elif annotation is not None:
        where = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not balanced:
            out.append(forbidden(where, _ONLY_BALANCED))
        for value in annotation.split(",") if annotation.strip() else ():
            validate_cidr(value.strip(), where, out)
    if spec.allocate_load_balancer_node_ports is not None and not balanced:
        out.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED))
    if spec.allocate_load_balancer_node_ports is None and balanced:
        out.append(required("allocateLoadBalancerNodePorts"))
    if spec.load_balancer_class is not None:
        if balanced:
            qualified(spec.load_balancer_class, "spec.loadBalancerClass", out)
        else:
            out.append(forbidden("spec.loadBalancerClass", _ONLY_BALANCED))


def _validate_traffic(service: core.Service, out: FieldErrors) -> None:
    spec = service.spec
    where = "spec.externalTrafficPolicy"
    if is_externally_accessible(service):
        required_one_of(spec.external_traffic_policy, _TRAFFIC_POLICIES, where, out)
    elif spec.external_traffic_policy:
        detail = "may only be set for externally-accessible services"
        out.append(invalid(where, spec.external_traffic_policy, detail))
    port, where = spec.health_check_node_port, "spec.healthCheckNodePort"
    if needs_health_check(service):
        if not port:
            out.append(required(where))
        elif bad := names.port_number(port):
            complain(out, where, port, bad)
    elif port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        out.append(invalid(where, port, detail))
    if spec.internal_traffic_policy is None:
        if spec.type in ("NodePort", "LoadBalancer", "ClusterIP"):
            out.append(required("spec.internalTrafficPolicy"))
    else:
        one_of(spec.internal_traffic_policy, _TRAFFIC_POLICIES, "spec.internalTrafficPolicy", out)
    distribution = spec.traffic_distribution
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        out.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))


def validate_service_update(new: core.Service, old: core.Service, out: FieldErrors) -> None:
    """Addresses and families of a service stay, unless it comes from or goes to ExternalName."""
    if new.spec.type != "ExternalName" and old.spec.type != "ExternalName":
        if not (is_headless(new) and is_headless(old)):
            _validate_kept(new.spec.cluster_ips, old.spec.cluster_ips, new, "clusterIPs", "clusterIP", out, every=True)
        if not is_headless(new) and not is_headless(old):
            _validate_kept(new.spec.ip_families, old.spec.ip_families, new, "ipFamilies", "ipFamily", out, every=False)
    balanced = new.spec.type == old.spec.type == "LoadBalancer"
    if balanced and new.spec.load_balancer_class != old.spec.load_balancer_class:
        out.append(invalid("spec.loadBalancerClass", new.spec.load_balancer_class, "may not change once set"))
    checked = needs_health_check(new) and needs_health_check(old)
    if checked and new.spec.health_check_node_port != old.spec.health_check_node_port:
        out.append(forbidden("spec.healthCheckNodePort", IMMUTABLE))
    validate_service(new, out)


def _validate_kept(
    new: list[str],
    old: list[str],
    service: core.Service,
    wire: str,
    singular: str,
    out: FieldErrors,
    *,
    every: bool,
) -> None:
    """The primary value never changes; a secondary may be added, or released along with the policy."""
    where = f"spec.{wire}"
    if len(new) == len(old):
        for index, (after, before) in enumerate(zip(new, old, strict=True)):
            if after != before:
                out.append(invalid(f"{where}[{index if every else 0}]", new, "may not change once set"))
        return
    if not new:
        out.append(invalid(f"{where}[0]", new, f"primary {singular} can not be unset"))
    elif old and new[0] != old[0]:
        out.append(invalid(f"{where}[0]", new, "may not change once set"))
    if len(new) < len(old) and len(new) == 1 and service.spec.ip_family_policy != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {singular}"
        out.append(invalid("spec.ipFamilyPolicy", service.spec.ip_family_policy, detail))


def validate_service_status_update(new: core.Service, old: core.Service, out: FieldErrors) -> None:
    validate_balancer_status(new.status.load_balancer, new.spec.type, out)


def validate_balancer_status(status: core.LoadBalancerStatus, type_: str, out: FieldErrors) -> None:
    where = "status.loadBalancer.ingress"
    if type_ != "LoadBalancer" and status.ingress:
        out.append(forbidden(where, "may only be used when `spec.type` is 'LoadBalancer'"))
        return
    for index, ingress in enumerate(status.ingress):
        at = f"{where}[{index}]"
        if ingress.ip:
            validate_address(ingress.ip, f"{at}.ip", out)
            if ingress.ip_mode is None:
                out.append(required(f"{at}.ipMode", "must be specified when `ip` is set"))
            else:
                one_of(ingress.ip_mode, ("Proxy", "VIP"), f"{at}.ipMode", out)
        elif ingress.ip_mode is not None:
            out.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
        if ingress.hostname:
            dns_subdomain(ingress.hostname, f"{at}.hostname", out)
            if parse_address(ingress.hostname) is not None:
                detail = "must be a DNS name, not an IP address"
                out.append(invalid(f"{at}.hostname", ingress.hostname, detail))
