"""Where one Orlop installation keeps its things, derived from three folders.

Every path of the node is named here once, so that two installations with different folders never meet and `orlop down`
knows what to leave behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of an installation: `data` survives a reboot, `config` is the operator's, `run` is volatile."""

    data: Path = Path("/var/lib/orlop")
    config: Path = Path("/etc/orlop")
    run: Path = Path("/run/orlop")

    @property
    def lock(self) -> Path:
        """Held by the running supervisor; contains its process id."""
        return self.run / "supervisor.pid"

    @property
    def logs(self) -> Path:
        return self.data / "log"

    @property
    def store(self) -> Path:
        return self.data / "store" / "state.db"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.config / "admin.kubeconfig"

    @property
    def manifests(self) -> Path:
        """Static pod manifests."""
        return self.config / "manifests"

    @property
    def cni_config(self) -> Path:
        return self.config / "cni" / "net.d"

    @property
    def cni_plugins(self) -> Path:
        return self.data / "cni" / "bin"

    @property
    def cni_state(self) -> Path:
        """Address leases of our plugin: in memory, since no pod's network outlives a boot."""
        return self.run / "cni"

    @property
    def cni_socket(self) -> Path:
        return self.run / "cni.sock"

    @property
    def agent_root(self) -> Path:
        return self.data / "agent"

    @property
    def pod_logs(self) -> Path:
        return self.logs / "pods"

    @property
    def containerd_root(self) -> Path:
        return self.data / "containerd"

    @property
    def containerd_state(self) -> Path:
        return self.run / "containerd"

    @property
    def containerd_socket(self) -> Path:
        return self.run / "containerd.sock"

    @property
    def containerd_config(self) -> Path:
        return self.run / "containerd.toml"

    @property
    def system_images(self) -> Path:
        """The archive with the images that the node brings along."""
        return self.data / "images" / "system.tar"
