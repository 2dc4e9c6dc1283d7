"""The seam to the kernel: what plugins ask of it, in terms of pod networks.

`cni.kernel.linux.LinuxKernel` does it for real, `cni.kernel.fake.FakeKernel` is the double. Calls are synchronous and
short; they raise OSError (NetlinkError, NoSuchNamespace) or NftablesError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Port:
    """One end of a pod's cable: the link on the host, and the interface it leads to in the pod."""

    host_link: str
    netns: str
    interface: str
    mac: str
    address: str
    prefix: int
    gateway: str
    mtu: int


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface inside a namespace as found there."""

    mac: str
    up: bool
    addresses: tuple[str, ...]
    """Each with its prefix length, `10.42.0.5/24`."""
    gateway: str
    """Of the default route that leaves by this interface; "" for none."""


class Kernel(Protocol):
    """What the kernel does for pod networks."""

    def boot_id(self) -> str:
        """Differs after each boot; what was left by another boot is gone from the kernel."""

    def ensure_bridge(self, name: str, mtu: int, address: str, prefix: int) -> bool:
        """Have a bridge of that name, up and with that address; True if it had to be made."""

    def plug(self, bridge: str, port: Port) -> str:
        """Cable a pod to the bridge, address and default route included; returns the MAC address of the host's end.

        Raises FileExistsError when the pod has such an interface already.
        """

    def unplug(self, host_link: str) -> bool:
        """Remove a cable by its host end; False if it is not there."""

    def ports(self, bridge: str) -> list[str]:
        """The links that are cabled to the bridge."""

    def remove_bridge(self, name: str) -> bool:
        """Remove the bridge; False if it is not there."""

    def look(self, netns: str, interface: str) -> Interface | None:
        """The interface in that namespace, or None. Raises NoSuchNamespace."""

    def raise_loopback(self, netns: str) -> None:
        """Bring `lo` up in that namespace."""

    def filter(self, commands: str) -> str:
        """Run nftables commands as one transaction; returns their output."""

    def set_sysctl(self, name: str, value: str) -> None:
        """Set a kernel parameter (`net/ipv4/ip_forward`) unless it has that value."""
