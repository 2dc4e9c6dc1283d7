"""What `orlop up` was asked for, and what each process of the node is told because of it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cli.host import LOOPBACK, default_node_ip, default_node_name
from cli.layout import Layout

if TYPE_CHECKING:  # each process imports its own part after the fork, and no other
    from agent.config import AgentConfig
    from controlplane.apiserver.config import ServerConfig
    from controlplane.manager import ManagerConfig


@dataclass(frozen=True, slots=True)
class Settings:
    """One node. `runtime_endpoint` is "" for a containerd of our own."""

    layout: Layout = field(default_factory=Layout)
    node_name: str = field(default_factory=default_node_name)
    node_ip: str = field(default_factory=default_node_ip)
    runtime_endpoint: str = ""
    api_port: int = 6443
    agent_port: int = 10250
    pod_cidr: str = "10.42.0.0/24"
    cluster_cidr: str = "10.42.0.0/16"
    service_cidr: str = "10.43.0.0/16"
    cluster_domain: str = "cluster.local"
    bridge: str = "orlop0"
    cgroup_root: str = "kubepods"
    max_pods: int = 110
    own_network: bool = True

    @property
    def cluster_dns(self) -> str:
        """The address of the cluster's DNS service: the tenth of the service range."""
        return str(ipaddress.ip_network(self.service_cidr)[10])

    @property
    def server_url(self) -> str:
        """Where this node's own processes, and its operator, find the API server."""
        return f"https://{LOOPBACK}:{self.api_port}"

    @property
    def endpoint(self) -> str:
        return self.runtime_endpoint or f"unix://{self.layout.containerd_socket}"

    def server(self) -> ServerConfig:
        from controlplane.apiserver.config import ServerConfig

        return ServerConfig(
            data_dir=self.layout.data,
            config_dir=self.layout.config,
            bind_addresses=tuple(dict.fromkeys((LOOPBACK, self.node_ip))),
            port=self.api_port,
            node_ips=(self.node_ip,),
            node_name=self.node_name,
            service_network=ipaddress.ip_network(self.service_cidr),
            cluster_domain=self.cluster_domain,
            store_path=self.layout.store,
            server_url=self.server_url,
        )

    def manager(self) -> ManagerConfig:
        from controlplane.manager import ManagerConfig
        from controlplane.pki import Pki

        pki = Pki(self.layout.data, self.layout.config)
        return ManagerConfig(pki.controller_kubeconfig, pki.scheduler_kubeconfig)

    def agent(self) -> AgentConfig:
        from agent.config import AgentConfig
        from agent.network import NetworkSettings
        from controlplane.pki import Pki

        layout = self.layout
        pki = Pki(layout.data, layout.config)
        return AgentConfig(
            node_name=self.node_name,
            node_ip=self.node_ip,
            kubeconfig=str(pki.agent_kubeconfig),
            root=str(layout.agent_root),
            pod_logs=str(layout.pod_logs),
            manifests=str(layout.manifests),
            runtime_endpoint=self.endpoint,
            cni_config_dir=str(layout.cni_config),
            cluster_dns=(self.cluster_dns,),
            cluster_domain=self.cluster_domain,
            pod_cidr=self.pod_cidr,
            max_pods=self.max_pods,
            port=self.agent_port,
            cgroup_root=self.cgroup_root,
            serving_certificate=str(pki.kubelet.certificate),
            serving_key=str(pki.kubelet.key),
            client_ca=str(pki.ca.certificate),
            network=NetworkSettings(
                config_dir=str(layout.cni_config),
                plugin_dir=str(layout.cni_plugins),
                state_dir=str(layout.cni_state),
                socket=str(layout.cni_socket),
                bridge=self.bridge,
                unmasqueraded=(self.cluster_cidr,),
                plugin=self.own_network,
            ),
        )


def folders(settings: Settings) -> list[Path]:
    """The folders that must be there before anything starts."""
    layout = settings.layout
    return [
        layout.data,
        layout.config,
        layout.run,
        layout.logs,
        layout.manifests,
        layout.cni_config,
        layout.cni_plugins,
    ]
