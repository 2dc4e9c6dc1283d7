"""The real kernel: rtnetlink, nftables and /proc behind the seam.

Its sockets are opened once and kept, and those inside pods are opened by entering the namespace for that moment only.
One thread at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from cni.kernel.interface import Interface, Port
from cni.kernel.messages import Link
from cni.kernel.namespaces import inside, open_namespace
from cni.kernel.nftables import Nftables
from cni.kernel.routing import RouteSocket

REMOVAL_GLANCE = 0.0002  # seconds between two looks at a link that is being removed


@contextmanager
def _routes_inside(netns: str) -> Iterator[tuple[int, RouteSocket]]:
    """A descriptor of the namespace and a socket in it."""
    descriptor = open_namespace(netns)
    try:
        with inside(descriptor):
            routes = RouteSocket()
        with routes:
            yield descriptor, routes
    finally:
        os.close(descriptor)


class LinuxKernel:
    """`cni.kernel.interface.Kernel` on the network namespace of the calling process."""

    def __init__(self) -> None:
        self._routes = RouteSocket()
        self._nftables: Nftables | None = None
        self._bridges: dict[str, int] = {}
        self._removing: ThreadPoolExecutor | None = None
        self._removals: RouteSocket

    def close(self) -> None:
        if self._removing is not None:
            self._removing.shutdown()
            self._removals.close()
        self._routes.close()
        if self._nftables is not None:
            self._nftables.close()

    def boot_id(self) -> str:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()

    def ensure_bridge(self, name: str, mtu: int, address: str, prefix: int) -> bool:
        link = self._routes.link(name)
        made = link is None
        if link is None:
            try:
                self._routes.add_bridge(name, mtu)
            except FileExistsError:
                pass  # another process was first
            link = self._present(name)
        if not link.up:
            self._routes.set_up(link.index)
        if (address, prefix) not in self._routes.addresses(link.index):
            self._routes.add_address(link.index, address, prefix)
        self._bridges[name] = link.index
        return made

    def _present(self, name: str) -> Link:
        link = self._routes.link(name)
        if link is None:
            raise FileNotFoundError(f"link {name} is gone")
        return link

    def plug(self, bridge: str, port: Port) -> str:
        master = self._bridges.get(bridge) or self._present(bridge).index
        with _routes_inside(port.netns) as (namespace, routes):
            self._routes.add_veth(
                port.host_link,
                master=master,
                mtu=port.mtu,
                peer=port.interface,
                peer_mac=bytes.fromhex(port.mac.replace(":", "")),
                peer_namespace=namespace,
            )
            host = self._present(port.host_link)
            self._routes.set_hairpin(host.index)
            inner = routes.link(port.interface)
            if inner is None:
                raise FileNotFoundError(f"link {port.interface} is gone from {port.netns}")
            routes.add_address(inner.index, port.address, port.prefix)
            routes.set_up(inner.index)
            routes.add_route("0.0.0.0", 0, inner.index, port.gateway)
            return host.mac

    def unplug(self, host_link: str) -> bool:
        """Remove a cable; returns once both ends are out of sight.

        The kernel takes a link from view within a millisecond and then spends 15 to 30 on freeing it (it waits for RCU
        grace periods), inside the same system call. So that call is made by a thread of its own.
        """
        link = self._routes.link(host_link)
        if link is None:
            return False
        removal = self._remover().submit(self._removals.delete_link, link.index)
        while self._routes.link(host_link) is not None:
            if removal.done():
                removal.result()
                break
            time.sleep(REMOVAL_GLANCE)
        return True

    def _remover(self) -> ThreadPoolExecutor:
        if self._removing is None:
            self._removals = RouteSocket()
            self._removing = ThreadPoolExecutor(1, thread_name_prefix="cni-unplug")
        return self._removing

    def ports(self, bridge: str) -> list[str]:
        link = self._routes.link(bridge)
        if link is None:
            return []
        return [other.name for other in self._routes.links() if other.master == link.index]

    def remove_bridge(self, name: str) -> bool:
        self._bridges.pop(name, None)
        return self.unplug(name)

    def look(self, netns: str, interface: str) -> Interface | None:
        with _routes_inside(netns) as (_namespace, routes):
            link = routes.link(interface)
            if link is None:
                return None
            gateways = [
                gateway for _to, prefix, index, gateway in routes.routes() if index == link.index and not prefix
            ]
            return Interface(
                mac=link.mac,
                up=link.up,
                addresses=tuple(f"{address}/{prefix}" for address, prefix in routes.addresses(link.index)),
                gateway=gateways[0] if gateways else "",
            )

    def raise_loopback(self, netns: str) -> None:
        with _routes_inside(netns) as (_namespace, routes):
            link = routes.link("lo")
            if link is not None and not link.up:
                routes.set_up(link.index)

    def filter(self, commands: str) -> str:
        if self._nftables is None:
            self._nftables = Nftables()
        return self._nftables.run(commands)

    def set_sysctl(self, name: str, value: str) -> None:
        path = f"/proc/sys/{name}"
        with open(path, encoding="ascii") as file:
            if file.read().strip() == value:
                return
        with open(path, "w", encoding="ascii") as file:
            file.write(value)
