"""Where the keys, certificates and kubeconfigs lie. File names are kubeadm's where it has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM; the key is readable by its owner only."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Pki:
    """All paths, derived from the data folder and the folder of the operator's configuration."""

    data_dir: Path
    config_dir: Path

    @property
    def directory(self) -> Path:
        return self.data_dir / "pki"

    def pair(self, name: str) -> KeyPair:
        """The certificate and key of one profile."""
        return KeyPair(self.directory / f"{name}.crt", self.directory / f"{name}.key")

    @property
    def ca(self) -> KeyPair:
        """The cluster's certificate authority."""
        return self.pair("ca")

    @property
    def apiserver(self) -> KeyPair:
        """What the API server serves with."""
        return self.pair("apiserver")

    @property
    def apiserver_kubelet_client(self) -> KeyPair:
        """Who the API server is to the kubelet."""
        return self.pair("apiserver-kubelet-client")

    @property
    def admin(self) -> KeyPair:
        return self.pair("admin")

    @property
    def controller(self) -> KeyPair:
        return self.pair("controller")

    @property
    def scheduler(self) -> KeyPair:
        return self.pair("scheduler")

    @property
    def kubelet_client(self) -> KeyPair:
        """Who the node agent is to the API server."""
        return self.pair("kubelet-client")

    @property
    def kubelet(self) -> KeyPair:
        """What the node agent serves with."""
        return self.pair("kubelet")

    @property
    def service_account_key(self) -> Path:
        """Signs service-account tokens: EC P-256, so they are ES256."""
        return self.directory / "sa.key"

    @property
    def service_account_public_key(self) -> Path:
        return self.directory / "sa.pub"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.config_dir / "admin.kubeconfig"

    @property
    def controller_kubeconfig(self) -> Path:
        return self.data_dir / "kubeconfigs" / "controller.kubeconfig"

    @property
    def scheduler_kubeconfig(self) -> Path:
        return self.data_dir / "kubeconfigs" / "scheduler.kubeconfig"

    @property
    def agent_kubeconfig(self) -> Path:
        return self.data_dir / "kubeconfigs" / "agent.kubeconfig"
