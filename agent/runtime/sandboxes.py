"""A pod's sandbox as the runtime is told it."""

from __future__ import annotations

from collections.abc import Iterable

from agent.pods.identity import describe
from agent.resources.containers import sandbox_overhead, sandbox_resources
from agent.runtime.errors import ConfigError, SandboxConfigError
from agent.runtime.facts import NodeFacts, Places
from agent.runtime.hostnames import kernel_hostname
from agent.runtime.labels import sandbox_labels
from agent.runtime.security import sandbox_security
from api import core_v1 as core
from api.pods import is_restartable_init
from proto import cri_pb2 as cri

_PROTOCOLS = {"TCP": cri.TCP, "UDP": cri.UDP, "SCTP": cri.SCTP}


def build_sandbox_config(
    pod: core.Pod,
    attempt: int,
    *,
    facts: NodeFacts,
    places: Places,
    dns: cri.DNSConfig,
    cluster_domain: str,
    cgroup_parent: str,
    handler: str = "",
    extra_groups: Iterable[int] = (),
) -> cri.PodSandboxConfig:
    """`attempt` counts the pod's sandboxes and, with name, namespace and UID, makes this one unique in the runtime.

    Raises SandboxConfigError.
    """
    meta = pod.metadata
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=meta.name, namespace=meta.namespace, uid=meta.uid, attempt=attempt),
        log_directory=str(places.log_folder(meta.namespace, meta.name, meta.uid)),
        dns_config=dns,
        port_mappings=_port_mappings(pod),
        labels=sandbox_labels(pod),
        annotations=meta.annotations,
    )
    try:
        if not pod.spec.host_network:
            config.hostname = kernel_hostname(pod, cluster_domain)
        security = sandbox_security(pod, facts, extra_groups=tuple(extra_groups), handler=handler)
    except ConfigError as error:
        raise SandboxConfigError(describe(pod), str(error)) from error
    config.linux.cgroup_parent = cgroup_parent
    config.linux.security_context.CopyFrom(security)
    config.linux.resources.CopyFrom(sandbox_resources(pod, facts.kernel))
    overhead = sandbox_overhead(pod, facts.kernel)
    if overhead is not None:
        config.linux.overhead.CopyFrom(overhead)
    if pod.spec.security_context is not None:
        for sysctl in pod.spec.security_context.sysctls:
            config.linux.sysctls[sysctl.name] = sysctl.value
    return config


def _port_mappings(pod: core.Pod) -> list[cri.PortMapping]:
    """Host ports of all containers that stay; without a network of its own a pod has nothing to map."""
    if pod.spec.host_network:
        return []
    containers = [*(one for one in pod.spec.init_containers if is_restartable_init(one)), *pod.spec.containers]
    return [
        cri.PortMapping(
            protocol=_PROTOCOLS.get(port.protocol or "TCP", cri.TCP),
            container_port=port.container_port,
            host_port=port.host_port,
            host_ip=port.host_ip,
        )
        for container in containers
        for port in container.ports
        if port.host_port
    ]
