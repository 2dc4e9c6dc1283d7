"""The addresses this node is known by.

Where none is given, it is the one that packets to the world (or to the API server) are sent from, which the kernel's
routing table knows. On machines with several networks that is the difference between a node that can be reached and one
whose address is the same on every machine.
"""

from __future__ import annotations

import ipaddress
import socket

from api import core_v1 as core

PROBES = ("192.0.2.1", "2001:db8::1")
"""Addresses of documentation networks: routed like the rest of the world, and nothing is sent to them."""


class NoAddress(Exception):
    """This machine has no address a node could be known by."""


def detect(towards: str = "") -> str:
    """The address of the interface that leads to `towards` (a numeric address), else to the world. Raises NoAddress."""
    for target in (towards, *PROBES):
        if not target:
            continue
        try:
            family = socket.AF_INET6 if ipaddress.ip_address(target).version == 6 else socket.AF_INET
        except ValueError:
            continue
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            try:
                # Connecting a datagram socket only asks the routing table.
                sock.connect((target, 9))
            except OSError:
                continue
            found = str(sock.getsockname()[0])
        if usable(found):
            return found
    raise NoAddress("find the node's address: no route leads out of this machine; name one with --node-ip")


def usable(address: str) -> bool:
    """Whether others could reach a node at this address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (parsed.is_loopback or parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified)


def node_addresses(ips: tuple[str, ...], hostname: str) -> list[core.NodeAddress]:
    """As the Node's status lists them."""
    return [
        *(core.NodeAddress(type="InternalIP", address=one) for one in ips),
        core.NodeAddress(type="Hostname", address=hostname),
    ]
