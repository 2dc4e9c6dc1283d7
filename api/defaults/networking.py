"""Defaults of networking and discovery."""

from __future__ import annotations

from api import discovery_v1 as discovery
from api import networking_v1 as networking


def default_network_policy(policy: networking.NetworkPolicy) -> None:
    """A policy applies to ingress always, and to egress if it has such rules."""
    spec = policy.spec
    ports = [port for ingress in spec.ingress for port in ingress.ports]
    ports += [port for egress in spec.egress for port in egress.ports]
    for port in ports:
        if port.protocol is None:
            port.protocol = "TCP"
    if not spec.policy_types:
        spec.policy_types = ["Ingress", "Egress"] if spec.egress else ["Ingress"]


def default_ingress_class(ingress_class: networking.IngressClass) -> None:
    parameters = ingress_class.spec.parameters
    if parameters is not None and parameters.scope is None:
        parameters.scope = "Cluster"


def default_endpoint_slice(piece: discovery.EndpointSlice) -> None:
    for port in piece.ports:
        if port.name is None:
            port.name = ""
        if port.protocol is None:
            port.protocol = "TCP"


DEFAULTS = {
    ("networking.k8s.io/v1", "NetworkPolicy"): default_network_policy,
    ("networking.k8s.io/v1", "IngressClass"): default_ingress_class,
    ("discovery.k8s.io/v1", "EndpointSlice"): default_endpoint_slice,
}
