"""What the agent is told when it is started."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from agent.network import NetworkSettings
from api.release import KUBERNETES_VERSION


def default_node_name() -> str:
    """The machine's name, as a Kubernetes name."""
    return socket.gethostname().lower()


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """All settings, with the defaults of a node that `orlop up` makes."""

    node_name: str = field(default_factory=default_node_name)
    node_ip: str = ""
    """Empty: the address of the interface that leads to the API server."""
    kubeconfig: str = "/var/lib/orlop/kubeconfigs/agent.kubeconfig"
    root: str = "/var/lib/orlop/agent"
    """The agent's own folder: pods' volumes and files."""
    pod_logs: str = "/var/lib/orlop/log/pods"
    manifests: str = "/etc/orlop/manifests"
    """Folder of static pods' manifests; empty for none."""
    runtime_endpoint: str = "unix:///run/orlop/containerd.sock"
    cni_config_dir: str = "/etc/orlop/cni/net.d"
    """Where the runtime looks for its network configuration: named in the node's condition while there is none."""
    cluster_dns: tuple[str, ...] = ("10.43.0.10",)
    cluster_domain: str = "cluster.local"
    resolv_conf: str = ""
    """The node's resolver configuration for pods; empty: found by itself."""
    pod_cidr: str = "10.42.0.0/24"
    """Addresses of pods here, until the control plane assigns the node a range of its own."""
    max_pods: int = 110
    port: int = 10250
    labels: dict[str, str] = field(default_factory=dict)
    cgroup_root: str = "kubepods"
    """The cgroup that all pods' cgroups are below."""
    serving_certificate: str = "/var/lib/orlop/pki/kubelet.crt"
    """Certificate and key of the agent's HTTPS API; empty: it is not served."""
    serving_key: str = "/var/lib/orlop/pki/kubelet.key"
    client_ca: str = "/var/lib/orlop/pki/ca.crt"
    network: NetworkSettings | None = None
    """The pod network that the agent looks after; None: somebody else does."""
    version: str = KUBERNETES_VERSION
