"""Host ports: two pods on one node cannot listen on the same one.

Ports are indexed by protocol and number, so that a pod is compared with the few nodes where its ports are in use. An
address of 0.0.0.0 (or none) clashes with every address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

HostPort = tuple[str, str, int]  # protocol, address, port

ANY = "0.0.0.0"


class PortsInUse:
    """Which addresses use a port, node by node."""

    def __init__(self) -> None:
        self._users: dict[tuple[str, int], dict[str, Counter[str]]] = {}

    def take(self, node: str, ports: Iterable[HostPort]) -> None:
        for protocol, address, port in ports:
            on_nodes = self._users.setdefault((protocol, port), {})
            on_nodes.setdefault(node, Counter())[address] += 1

    def release(self, node: str, ports: Iterable[HostPort]) -> None:
        for protocol, address, port in ports:
            on_nodes = self._users[(protocol, port)]
            on_nodes[node] -= Counter({address: 1})
            if not on_nodes[node]:
                del on_nodes[node]
            if not on_nodes:
                del self._users[(protocol, port)]

    def nodes_clashing(self, ports: Iterable[HostPort]) -> set[str]:
        """The names of the nodes where one of the ports is in use already."""
        return {
            node
            for protocol, address, port in ports
            for node, addresses in self._users.get((protocol, port), {}).items()
            if address == ANY or ANY in addresses or address in addresses
        }
