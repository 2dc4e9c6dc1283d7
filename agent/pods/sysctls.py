"""Which kernel parameters pods may set for themselves. Pure.

Safe is what the kernel keeps apart for each namespace and what takes nothing from other pods. Every kernel that runs
this agent (4.15 and later) has all of these. Source: kubernetes.io, "Using sysctls in a Kubernetes Cluster".
"""

from __future__ import annotations

from agent.pods.status import Failure
from api import core_v1 as core

_IPC, _NET = "ipc", "net"
SAFE = {
    "kernel.shm_rmid_forced": _IPC,
    "net.ipv4.ip_local_port_range": _NET,
    "net.ipv4.ip_local_reserved_ports": _NET,
    "net.ipv4.ip_unprivileged_port_start": _NET,
    "net.ipv4.ping_group_range": _NET,
    "net.ipv4.tcp_fin_timeout": _NET,
    "net.ipv4.tcp_keepalive_intvl": _NET,
    "net.ipv4.tcp_keepalive_probes": _NET,
    "net.ipv4.tcp_keepalive_time": _NET,
    "net.ipv4.tcp_rmem": _NET,
    "net.ipv4.tcp_syncookies": _NET,
    "net.ipv4.tcp_wmem": _NET,
}
"""Name to the namespace that keeps it."""


def forbidden_sysctl(pod: core.Pod) -> Failure | None:
    """Why the pod's parameters are refused, None when all may be set."""
    context = pod.spec.security_context
    for sysctl in context.sysctls if context is not None else ():
        name = _dotted(sysctl.name)
        namespace = SAFE.get(name)
        if namespace is None:
            return _refusal(f'"{name}" not allowlisted')
        if (namespace == _IPC and pod.spec.host_ipc) or (namespace == _NET and pod.spec.host_network):
            return _refusal(f'"{name}" not allowed with host {namespace} enabled')
    return None


def _dotted(name: str) -> str:
    """The name with dots between its parts. Written with slashes, a dot within a part stands for itself (sysctl(8))."""
    first = next((mark for mark in name if mark in "./"), ".")
    return name if first == "." else name.translate(str.maketrans("./", "/."))


def _refusal(text: str) -> Failure:
    return Failure("SysctlForbidden", f"forbidden sysctl: {text}")
