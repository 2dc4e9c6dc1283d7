"""What the builders must know of the node, as plain values.

They are asked for anew for each sandbox and container, since addresses and allocatable amounts change while the agent
runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.resources.kernel import KernelFacts
from api.quantity import Quantity


@dataclass(frozen=True, slots=True)
class NodeFacts:
    name: str
    ips: tuple[str, ...] = ()
    """The node's addresses, the primary one first."""
    allocatable: Mapping[str, Quantity] = field(default_factory=dict)
    kernel: KernelFacts = field(default_factory=KernelFacts)
    user_namespaces: bool = False
    """The runtime supports pods with user namespaces of their own."""
    recursive_read_only: bool = False
    """The runtime supports recursive read-only mounts."""
    extra_masked_paths: tuple[str, ...] = ()
    """Paths of this machine to hide besides the fixed ones (thermal throttling counters of each CPU)."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the agent keeps what containers mount and write."""

    root: Path
    """The agent's folder; a pod's own is `root/pods/<uid>`."""
    pod_logs: Path
    """Below it `<namespace>_<name>_<uid>/<container>/<attempt>.log`."""

    @property
    def seccomp(self) -> Path:
        """Where Localhost seccomp profiles are looked up."""
        return self.root / "seccomp"

    def pod(self, uid: str) -> Path:
        return self.root / "pods" / uid

    def log_folder(self, namespace: str, name: str, uid: str) -> Path:
        return self.pod_logs / f"{namespace}_{name}_{uid}"


def log_path(container: str, attempt: int) -> str:
    """Where a container's log lies below its pod's log folder."""
    return f"{container}/{attempt}.log"


def pod_hosts_file(places: Places, uid: str) -> Path:
    """The /etc/hosts that the agent keeps for a pod."""
    return places.pod(uid) / "etc-hosts"


def termination_file(places: Places, uid: str, container: str, attempt: int) -> Path:
    """The file a container writes its last words to."""
    return places.pod(uid) / "containers" / container / f"termination-{attempt}"
