"""NetworkPolicies, Ingresses and IngressClasses."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from api import names
from api import networking_v1 as networking
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.validation.address_ranges import (
    address_name,
    validate_ip_address,
    validate_ip_address_update,
    validate_service_cidr,
    validate_service_cidr_update,
)
from api.validation.addresses import parse_address, validate_address, validate_cidr
from api.validation.checks import (
    complain,
    dns_label,
    dns_subdomain,
    domain_prefixed_path,
    immutable,
    one_of,
    port_or_name,
    required_segment,
    required_text,
)
from api.validation.containers import PROTOCOLS
from api.validation.metadata import validate_label_selector
from api.validation.rules import Rules

_POLICY_TYPES = ("Egress", "Ingress")
_SCOPES = ("Cluster", "Namespace")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_SUFFIXES = ("/..", "/.")
_CONTROLLER_LIMIT = 250
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def validate_network_policy(policy: networking.NetworkPolicy, out: FieldErrors) -> None:
    spec = policy.spec
    validate_label_selector(spec.pod_selector, "spec.podSelector", out)
    for index, ingress in enumerate(spec.ingress):
        where = f"spec.ingress[{index}]"
        _validate_policy_ports(ingress.ports, f"{where}.ports", out)
        _validate_peers(ingress.from_, f"{where}.from", out)
    for index, egress in enumerate(spec.egress):
        where = f"spec.egress[{index}]"
        _validate_policy_ports(egress.ports, f"{where}.ports", out)
        _validate_peers(egress.to, f"{where}.to", out)
    if len(spec.policy_types) > len(_POLICY_TYPES):
        detail = "may not specify more than two policyTypes"
        out.append(invalid("spec.policyTypes", spec.policy_types, detail))
        return
    for index, type_ in enumerate(spec.policy_types):
        one_of(type_, _POLICY_TYPES, f"spec.policyTypes[{index}]", out)


def _validate_policy_ports(ports: Sequence[networking.NetworkPolicyPort], path: str, out: FieldErrors) -> None:
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        if port.protocol is not None:
            one_of(port.protocol, PROTOCOLS, f"{where}.protocol", out)
        if port.port is not None:
            port_or_name(port.port, f"{where}.port", out)
        if port.end_port is None:
            continue
        if port.port is None:
            out.append(required(f"{where}.port", "must be specified when endPort is specified"))
        elif isinstance(port.port, str):
            detail = "may not be specified when `port` is non-numeric"
            out.append(forbidden(f"{where}.endPort", detail))
        elif port.end_port < port.port:
            out.append(invalid(f"{where}.endPort", port.port, "must be greater than or equal to `port`"))
        if bad := names.port_number(port.end_port):
            complain(out, f"{where}.endPort", port.end_port, bad)


def _validate_peers(peers: Sequence[networking.NetworkPolicyPeer], path: str, out: FieldErrors) -> None:
    for index, peer in enumerate(peers):
        where = f"{path}[{index}]"
        validate_label_selector(peer.pod_selector, f"{where}.podSelector", out)
        validate_label_selector(peer.namespace_selector, f"{where}.namespaceSelector", out)
        selects = peer.pod_selector is not None or peer.namespace_selector is not None
        if peer.ip_block is not None:
            _validate_block(peer.ip_block, f"{where}.ipBlock", out)
        if not selects and peer.ip_block is None:
            out.append(required(where, "must specify a peer"))
        elif selects and peer.ip_block is not None:
            detail = "may not specify both ipBlock and another peer"
            out.append(forbidden(where, detail))


def _validate_block(block: networking.IPBlock, path: str, out: FieldErrors) -> None:
    if not block.cidr:
        out.append(required(f"{path}.cidr"))
        return
    if not validate_cidr(block.cidr, f"{path}.cidr", out):
        return
    network = ipaddress.ip_network(block.cidr)
    for index, text in enumerate(block.except_):
        where = f"{path}.except[{index}]"
        if not validate_cidr(text, where, out):
            continue
        hole = ipaddress.ip_network(text)
        inside = hole.version == network.version and hole.subnet_of(network)  # type: ignore[arg-type] # of one version
        if not inside or hole == network:
            detail = f"must be a strict subset of `{network}`"
            out.append(invalid(where, text, detail))


def validate_ingress(ingress: networking.Ingress, out: FieldErrors) -> None:
    spec = ingress.spec
    if not spec.rules and spec.default_backend is None:
        out.append(invalid("spec", spec.rules, "either `defaultBackend` or `rules` must be specified"))
    if spec.default_backend is not None:
        _validate_backend(spec.default_backend, "spec.defaultBackend", out)
    for index, rule in enumerate(spec.rules):
        _validate_ingress_rule(rule, f"spec.rules[{index}]", out)
    for index, tls in enumerate(spec.tls):
        where = f"spec.tls[{index}]"
        for position, host in enumerate(tls.hosts):
            _validate_host(host, f"{where}.hosts[{position}]", out)
        if tls.secret_name:
            dns_subdomain(tls.secret_name, f"{where}.secretName", out)
    if spec.ingress_class_name is not None:
        dns_subdomain(spec.ingress_class_name, "spec.ingressClassName", out)


def validate_new_ingress(ingress: networking.Ingress, out: FieldErrors) -> None:
    named, annotated = ingress.spec.ingress_class_name, ingress.metadata.annotations.get(_CLASS_ANNOTATION)
    if named is not None and annotated is not None and named != annotated:
        detail = "must match `ingressClassName` when both are specified"
        out.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, detail))
    validate_ingress(ingress, out)


def validate_ingress_update(new: networking.Ingress, _: networking.Ingress, out: FieldErrors) -> None:
    validate_ingress(new, out)


def validate_ingress_status(new: networking.Ingress, old: networking.Ingress, out: FieldErrors) -> None:
    known = [point.ip for point in old.status.load_balancer.ingress]
    for index, point in enumerate(new.status.load_balancer.ingress):
        where = f"status.loadBalancer.ingress[{index}]"
        if point.ip:
            validate_address(point.ip, f"{where}.ip", out, known=known)
        if point.hostname:
            dns_subdomain(point.hostname, f"{where}.hostname", out)
            if parse_address(point.hostname) is not None:
                out.append(invalid(f"{where}.hostname", point.hostname, "must be a DNS name, not an IP address"))


def _validate_host(host: str, path: str, out: FieldErrors) -> None:
    bad = names.wildcard_dns1123_subdomain(host) if "*" in host else names.dns1123_subdomain(host)
    if bad:
        complain(out, path, host, bad)


def _validate_ingress_rule(rule: networking.IngressRule, path: str, out: FieldErrors) -> None:
    if rule.host:
        _validate_host(rule.host, f"{path}.host", out)
        if parse_address(rule.host) is not None:
            out.append(invalid(f"{path}.host", rule.host, "must be a DNS name, not an IP address"))
    if rule.http is None:
        return
    if not rule.http.paths:
        out.append(required(f"{path}.http.paths"))
    for index, item in enumerate(rule.http.paths):
        where = f"{path}.http.paths[{index}]"
        if item.path_type is None:
            out.append(required(f"{where}.pathType", "pathType must be specified"))
        elif item.path_type not in _PATH_TYPES:
            out.append(not_supported(f"{where}.pathType", item.path_type, _PATH_TYPES))
        elif item.path_type != "ImplementationSpecific" or item.path:
            _validate_http_path(item.path, item.path_type, f"{where}.path", out)
        _validate_backend(item.backend, f"{where}.backend", out)


def _validate_http_path(value: str, type_: str, path: str, out: FieldErrors) -> None:
    if not value.startswith("/"):
        out.append(invalid(path, value, "must be an absolute path"))
    if type_ == "ImplementationSpecific":
        return
    for sequence in _BAD_SEQUENCES:
        if sequence in value:
            out.append(invalid(path, value, f"must not contain '{sequence}'"))
    for suffix in _BAD_SUFFIXES:
        if value.endswith(suffix):
            out.append(invalid(path, value, f"cannot end with '{suffix}'"))


def _validate_backend(backend: networking.IngressBackend, path: str, out: FieldErrors) -> None:
    if backend.service is not None and backend.resource is not None:
        out.append(invalid(path, "", "cannot set both resource and service backends"))
    elif backend.resource is not None:
        required_text(backend.resource.name, f"{path}.resource.name", out)
        required_text(backend.resource.kind, f"{path}.resource.kind", out)
    elif backend.service is None:
        out.append(required(path, "resource or service backend is required"))
    else:
        service, where = backend.service, f"{path}.service"
        if not service.name:
            out.append(required(f"{where}.name"))
        elif bad := names.dns1035_label(service.name):
            complain(out, f"{where}.name", service.name, bad)
        if service.port.name and service.port.number:
            out.append(invalid(path, "", "cannot set both port name & port number"))
        elif service.port.name:
            if bad := names.port_name(service.port.name):
                complain(out, f"{where}.port.name", service.port.name, bad)
        elif service.port.number:
            if bad := names.port_number(service.port.number):
                complain(out, f"{where}.port.number", service.port.number, bad)
        else:
            out.append(required(path, "port name or number is required"))


def validate_ingress_class(ingress_class: networking.IngressClass, out: FieldErrors) -> None:
    controller, where = ingress_class.spec.controller, "spec.controller"
    if len(controller) > _CONTROLLER_LIMIT:
        out.append(invalid(where, controller, names.max_length_error(_CONTROLLER_LIMIT)))
    domain_prefixed_path(controller, where, out)
    if ingress_class.spec.parameters is not None:
        _validate_parameters(ingress_class.spec.parameters, "spec.parameters", out)


def _validate_parameters(parameters: networking.IngressClassParametersReference, path: str, out: FieldErrors) -> None:
    if parameters.api_group is not None:
        dns_subdomain(parameters.api_group, f"{path}.aPIGroup", out)
    required_segment(parameters.kind, f"{path}.kind", out)
    required_segment(parameters.name, f"{path}.name", out)
    if parameters.scope is None:
        out.append(required(f"{path}.scope"))
        return
    one_of(parameters.scope, _SCOPES, f"{path}.scope", out)
    if parameters.scope == "Namespace":
        if parameters.namespace is None:
            out.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
        else:
            dns_label(parameters.namespace, f"{path}.namespace", out)
    elif parameters.scope == "Cluster" and parameters.namespace is not None:
        out.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))


def validate_ingress_class_update(new: networking.IngressClass, old: networking.IngressClass, out: FieldErrors) -> None:
    immutable(new.spec.controller, old.spec.controller, "spec.controller", out)
    validate_ingress_class(new, out)


RULES = {
    "NetworkPolicy": Rules(create=validate_network_policy),
    "Ingress": Rules(create=validate_new_ingress, update=validate_ingress_update, status=validate_ingress_status),
    "IngressClass": Rules(create=validate_ingress_class, update=validate_ingress_class_update),
    "IPAddress": Rules(name=address_name, create=validate_ip_address, update=validate_ip_address_update),
    "ServiceCIDR": Rules(create=validate_service_cidr, update=validate_service_cidr_update),
}
