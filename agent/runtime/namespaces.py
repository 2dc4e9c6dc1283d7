"""Which of the kernel's namespaces a pod's containers share, and with whom."""

from __future__ import annotations

from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts
from api import core_v1 as core
from proto import cri_pb2 as cri


def namespace_options(pod: core.Pod, facts: NodeFacts, handler: str = "") -> cri.NamespaceOption:
    """Options for the sandbox and each container alike. Raises ConfigError when the node cannot give them."""
    if pod.spec.host_users is False and not facts.user_namespaces:
        who = f'RuntimeClass handler "{handler}"' if handler else "runtime"
        raise ConfigError(f"can't set `spec.hostUsers: false`, {who} does not support user namespaces")
    return cri.NamespaceOption(
        network=cri.NODE if pod.spec.host_network else cri.POD,
        pid=_pid(pod),
        ipc=cri.NODE if pod.spec.host_ipc else cri.POD,
    )


def _pid(pod: core.Pod) -> cri.NamespaceMode:
    if pod.spec.host_pid:
        return cri.NODE
    return cri.POD if pod.spec.share_process_namespace else cri.CONTAINER
