"""Facts about this host that must be known before any part of the node runs: its name and its address."""

from __future__ import annotations

import os
import socket

LOOPBACK = "127.0.0.1"
# Any address beyond this host will do: connecting a datagram socket sends nothing, it only makes the kernel choose a
# route.
PROBE = ("192.0.2.1", 9)


def default_node_name() -> str:
    """The host's name in lower case, as the kubelet registers it."""
    return os.uname().nodename.strip().lower()


def default_node_ip() -> str:
    """The address this host would use towards the outside; loopback when it has no route.

    Chosen by route, not by interface order: on Vagrant machines the first interface has the same address on every
    machine. `--node-ip` overrides it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(PROBE)
        except OSError:
            return LOOPBACK
        address: str = probe.getsockname()[0]
        return address
