"""What a pod is called: its host name, and the domain its subdomain puts it in."""

from __future__ import annotations

from agent.runtime.errors import ConfigError
from api import core_v1 as core

MOST_HOSTNAME = 63
"""Characters of a host name (a DNS label); a longer pod name is cut."""
MOST_KERNEL = 64
"""Characters the kernel keeps for a host name (HOST_NAME_MAX, sethostname(2))."""


def hostname_and_domain(pod: core.Pod, cluster_domain: str) -> tuple[str, str]:
    """(host name, domain); the domain is empty without a subdomain."""
    if pod.spec.hostname_override:
        return pod.spec.hostname_override, ""
    hostname = pod.spec.hostname or pod.metadata.name[:MOST_HOSTNAME].rstrip("-.")
    if not pod.spec.subdomain:
        return hostname, ""
    return hostname, f"{pod.spec.subdomain}.{pod.metadata.namespace}.svc.{cluster_domain}"


def kernel_hostname(pod: core.Pod, cluster_domain: str) -> str:
    """What `hostname` prints in the pod. Raises ConfigError when the full name is wanted and too long."""
    hostname, domain = hostname_and_domain(pod, cluster_domain)
    if not pod.spec.set_hostname_as_fqdn or not domain:
        return hostname
    full = f"{hostname}.{domain}"
    if len(full) > MOST_KERNEL:
        raise ConfigError(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {full} is too long "
            f"({MOST_KERNEL} characters is the max, {len(full)} characters requested)"
        )
    return full
