"""Which certificates a node has, and who each makes its holder.

Names and groups are what RBAC's bootstrap bindings expect ("PKI certificates and requirements" in the Kubernetes
documentation): the common name is the user, the organization the group.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """What one certificate must say. Addresses are in canonical text form."""

    name: str
    common_name: str
    organization: str = ""
    client: bool = False
    server: bool = False
    dns_names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


def profiles(
    node_name: str, node_ips: Iterable[str], service_cidr: str, cluster_domain: str = "cluster.local"
) -> tuple[Profile, ...]:
    """All certificates below the CA. Raises ValueError for a malformed address or range."""
    addresses = _addresses("127.0.0.1", "::1", *node_ips)
    service = str(next(iter(ipaddress.ip_network(service_cidr).hosts())))
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{cluster_domain}")
    node = f"system:node:{node_name}"
    return (
        Profile(
            "apiserver",
            "kube-apiserver",
            server=True,
            dns_names=(*names, "localhost", node_name),
            addresses=_addresses(*addresses, service),
        ),
        Profile("apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters", client=True),
        Profile("admin", "kubernetes-admin", "system:masters", client=True),
        Profile("controller", "system:kube-controller-manager", client=True),
        Profile("scheduler", "system:kube-scheduler", client=True),
        Profile("kubelet-client", node, "system:nodes", client=True),
        Profile("kubelet", node, "system:nodes", server=True, dns_names=(node_name, "localhost"), addresses=addresses),
    )


def _addresses(*texts: str) -> tuple[str, ...]:
    """Canonical, each once, in the order given."""
    return tuple(dict.fromkeys(str(ipaddress.ip_address(text)) for text in texts))
