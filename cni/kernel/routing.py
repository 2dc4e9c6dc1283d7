"""Links, addresses and routes of one network namespace, over one rtnetlink socket.

Each method is one request and its acknowledgement; what the kernel refuses raises NetlinkError with its errno.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Self

from cni.kernel import messages as nl
from cni.kernel.messages import Link, NetlinkError

ANSWER_DEADLINE = 5.0  # the kernel answers within microseconds; this only keeps a fault from becoming a hang
BUFFER = 1 << 16


class RouteSocket:
    """An rtnetlink socket of the namespace in which it was made. Not for several threads at once."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.settimeout(ANSWER_DEADLINE)
        self._socket.bind((0, 0))
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def _ask(self, kind: int, flags: int, body: bytes) -> list[bytes]:
        """Send one request; the bodies of its answer."""
        self._sequence += 1
        self._socket.send(nl.request(kind, flags, self._sequence, body))
        found: list[bytes] = []
        while True:
            for answer in nl.answers(self._socket.recv(BUFFER), self._sequence):
                if answer.kind == nl.NLMSG_DONE:
                    return found
                found.append(answer.body)
                if not flags & (nl.NLM_F_DUMP | nl.NLM_F_ACK):
                    return found

    def _do(self, kind: int, body: bytes, flags: int = 0) -> None:
        self._ask(kind, flags | nl.NLM_F_ACK, body)

    # ------------------------------------------------------------------ links

    def link(self, name: str) -> Link | None:
        """The link called `name`, or None."""
        try:
            (body,) = self._ask(nl.RTM_GETLINK, 0, nl.link_body(0, nl.attribute(nl.IFLA_IFNAME, name)))
        except NetlinkError as error:
            if error.errno in (errno.ENODEV, errno.ENOENT):
                return None
            raise
        return nl.parse_link(body)

    def links(self) -> list[Link]:
        """All links of the namespace."""
        return [nl.parse_link(body) for body in self._ask(nl.RTM_GETLINK, nl.NLM_F_DUMP, nl.link_body())]

    def add_bridge(self, name: str, mtu: int) -> None:
        info = nl.nested(nl.IFLA_LINKINFO, nl.attribute(nl.IFLA_INFO_KIND, "bridge"))
        body = nl.link_body(0, nl.attribute(nl.IFLA_IFNAME, name), nl.attribute(nl.IFLA_MTU, mtu), info, up=True)
        self._do(nl.RTM_NEWLINK, body, nl.NLM_F_CREATE | nl.NLM_F_EXCL)

    def add_veth(self, name: str, *, master: int, mtu: int, peer: str, peer_mac: bytes, peer_namespace: int) -> None:
        """A pair of which `name` is here, up and a port of link `master`, and `peer` is in another namespace."""
        size = nl.attribute(nl.IFLA_MTU, mtu)
        other = nl.link_body(
            0,
            nl.attribute(nl.IFLA_IFNAME, peer),
            nl.attribute(nl.IFLA_ADDRESS, peer_mac),
            nl.attribute(nl.IFLA_NET_NS_FD, peer_namespace),
            size,
        )
        info = nl.nested(
            nl.IFLA_LINKINFO,
            nl.attribute(nl.IFLA_INFO_KIND, "veth"),
            nl.nested(nl.IFLA_INFO_DATA, nl.attribute(nl.VETH_INFO_PEER, other)),
        )
        here = nl.attribute(nl.IFLA_IFNAME, name) + nl.attribute(nl.IFLA_MASTER, master) + size
        self._do(nl.RTM_NEWLINK, nl.link_body(0, here, info, up=True), nl.NLM_F_CREATE | nl.NLM_F_EXCL)

    def set_hairpin(self, index: int) -> None:
        """Let bridge port `index` send a frame back where it came from: a pod that calls its own host port."""
        body = nl.link_body(index, nl.nested(nl.IFLA_PROTINFO, nl.attribute(nl.IFLA_BRPORT_MODE, b"\1")), family=7)
        self._do(nl.RTM_SETLINK, body)  # family 7 is AF_BRIDGE

    def set_up(self, index: int) -> None:
        self._do(nl.RTM_NEWLINK, nl.link_body(index, up=True))

    def delete_link(self, index: int) -> bool:
        """Remove a link; False if it is gone already."""
        return self._gone_is_fine(lambda: self._do(nl.RTM_DELLINK, nl.link_body(index)))

    # ------------------------------------------------------- addresses, routes

    def add_address(self, index: int, address: str, prefix: int) -> None:
        """Give link `index` an address; one that it has already is left as it is."""
        self._do(nl.RTM_NEWADDR, nl.address_body(index, address, prefix), nl.NLM_F_CREATE | nl.NLM_F_REPLACE)

    def addresses(self, index: int) -> list[tuple[str, int]]:
        """The addresses of link `index` with their prefix lengths."""
        found = [nl.parse_address(body) for body in self._ask(nl.RTM_GETADDR, nl.NLM_F_DUMP, bytes(8))]
        return [(address, prefix) for owner, address, prefix in found if owner == index]

    def add_route(self, destination: str, prefix: int, index: int, gateway: str = "") -> None:
        body = nl.route_body(destination, prefix, index, gateway)
        self._do(nl.RTM_NEWROUTE, body, nl.NLM_F_CREATE | nl.NLM_F_REPLACE)

    def routes(self) -> list[tuple[str, int, int, str]]:
        """Destination, prefix length, link index and gateway of each IPv4 and IPv6 route."""
        return [nl.parse_route(body) for body in self._ask(nl.RTM_GETROUTE, nl.NLM_F_DUMP, bytes(12))]

    @staticmethod
    def _gone_is_fine(call: Callable[[], None]) -> bool:
        try:
            call()
        except NetlinkError as error:
            if error.errno in (errno.ENODEV, errno.ENOENT, errno.ESRCH, errno.EADDRNOTAVAIL):
                return False
            raise
        return True
