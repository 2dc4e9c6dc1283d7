"""The /etc/hosts of a pod: who it is, and the aliases its definition adds."""

from __future__ import annotations

from collections.abc import Sequence

from agent.runtime.hostnames import hostname_and_domain
from api import core_v1 as core

HOSTS_PATH = "/etc/hosts"

_FIXED = (
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)


def hosts_file(pod: core.Pod, cluster_domain: str, pod_ips: Sequence[str], host_file: str) -> str:
    """The content for a pod; one on the host's network gets the host's own (`host_file`) with its aliases added."""
    if pod.spec.host_network:
        own = f"# Kubernetes-managed hosts file (host network).\n{host_file}"
        return own + _aliases(pod)
    hostname, domain = hostname_and_domain(pod, cluster_domain)
    names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
    lines = [*_FIXED, *(f"{address}\t{names}" for address in pod_ips)]
    return "\n".join(lines) + "\n" + _aliases(pod)


def _aliases(pod: core.Pod) -> str:
    if not pod.spec.host_aliases:
        return ""
    lines = ["\t".join([alias.ip, *alias.hostnames]) for alias in pod.spec.host_aliases]
    return "\n# Entries added by HostAliases.\n" + "\n".join(lines) + "\n"
