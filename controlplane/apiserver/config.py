"""What the API server must be told to run."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Where services get their addresses if nobody says otherwise.
SERVICE_NETWORK: IPNetwork = ipaddress.ip_network("10.43.0.0/16")


@dataclass(frozen=True)
class ServerConfig:
    """Where the server listens, what it keeps and whom it trusts.

    Keys and certificates lie in `data_dir`/pki and are made at first start (see :mod:`controlplane.pki`).
    """

    data_dir: Path
    #: Where the operator's kubeconfig is written.
    config_dir: Path
    #: Addresses to bind; clients on this machine use the loopback one.
    bind_addresses: tuple[str, ...] = ("127.0.0.1",)
    port: int = 6443
    #: Addresses of this node that the serving certificate must name; the first is told to clients as the server's.
    node_ips: tuple[str, ...] = ("127.0.0.1",)
    node_name: str = "localhost"
    service_network: IPNetwork = SERVICE_NETWORK
    node_ports: tuple[int, int] = (30000, 32767)
    cluster_domain: str = "cluster.local"
    #: Where the store lies; None for its place in `data_dir`.
    store_path: Path | None = None
    #: The URL written into kubeconfigs; "" for the first node address and the port.
    server_url: str = ""
    #: Seconds running requests are given when the server stops.
    shutdown_grace: float = 10.0

    @property
    def store_file(self) -> Path:
        """The file of the embedded store."""
        return self.store_path or self.data_dir / "store" / "state.db"

    @property
    def kubernetes_service_ip(self) -> str:
        """The address of the service `kubernetes`: the first of the service network."""
        return str(self.service_network[1])
