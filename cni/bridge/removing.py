"""Taking the plugin's network off a host: the end of all pods on a bridge."""

from __future__ import annotations

from cni.bridge import filtering
from cni.kernel.interface import Kernel


def remove_network(kernel: Kernel, bridge: str) -> None:
    """Remove the bridge, the cables on it and its packet filter table; what is gone already is fine.

    Raises OSError, NftablesError.
    """
    for link in kernel.ports(bridge):
        kernel.unplug(link)
    kernel.remove_bridge(bridge)
    kernel.filter(filtering.teardown(bridge))
