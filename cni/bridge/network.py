"""What `orlop-cni` does for each CNI command, on the seam to the kernel and the leases on disk.

Order and undoing make it safe to die anywhere: the lease is written before anything it stands for is made, and taken
back after all of it is gone, so whatever exists in the kernel can be found from a lease (or from the bridge, by GC).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from cni.bridge import filtering
from cni.bridge.config import NetworkConfig, PortMapping
from cni.bridge.leases import Lease, Leases, NoFreeAddress
from cni.environment import Call
from cni.errors import CniError, NotAvailable, PluginFailure, UnknownContainer
from cni.kernel.interface import Kernel, Port
from cni.kernel.namespaces import NoSuchNamespace
from cni.kernel.nftables import NftablesError

FAILED_ADD, FAILED_DEL, FAILED_CHECK, FAILED_GC, FULL = 101, 102, 103, 104, 110


def host_link_name(container: str, interface: str) -> str:
    """The host's end of a pod's cable: the same name for the same attachment, so that it is found without a record."""
    return "veth" + hashlib.blake2s(f"{container} {interface}".encode(), digest_size=5).hexdigest()


def mac_of(address: str) -> str:
    """The MAC address of the pod with that IPv4 address.

    Derived from it, so that a neighbour's entry for an address stays right when another pod gets the address.
    """
    return "0a:58:" + ":".join(f"{int(part):02x}" for part in address.split("."))


class BridgeNetwork:
    """The CNI commands for one call's configuration. `prepared` remembers what this process has set up before."""

    def __init__(self, kernel: Kernel, config: NetworkConfig, prepared: set[str]) -> None:
        self.kernel = kernel
        self.config = config
        self.prepared = prepared
        self.leases = Leases(os.path.join(config.state, config.name), config.subnet, kernel.boot_id())

    # ------------------------------------------------------------------- ADD

    def add(self, call: Call) -> dict[str, Any]:
        """Attach a pod; returns the result object. Raises CniError, with nothing left behind."""
        config = self.config
        with self.leases.locked():
            self._clear_remains(call)
            try:
                lease = self.leases.take(call.container, call.interface, self._record(call))
            except NoFreeAddress as error:
                raise CniError(str(error), code=FULL) from error
            try:
                host_mac = self._connect(call, lease)
            except (OSError, NftablesError) as error:
                text, cause = f"attach {call.container} to {config.name}", str(error)
                try:
                    self._disconnect(lease)
                except (OSError, NftablesError) as second:
                    cause += f"; undo it: {second}"  # the lease stays, and with it what GC goes by
                if isinstance(error, NoSuchNamespace):
                    raise UnknownContainer(text, cause) from error
                raise PluginFailure(text, cause, code=FAILED_ADD) from error
        return self._result(call, lease, host_mac)

    def _clear_remains(self, call: Call) -> None:
        """Undo an ADD of the same attachment that was killed halfway; refuse if it is in use."""
        lease = self.leases.of(call.container, call.interface)
        if lease is None:
            return
        try:
            in_use = self.kernel.look(call.netns, call.interface) is not None
        except OSError:
            in_use = False
        if in_use:
            raise PluginFailure(
                f"attach {call.container} to {self.config.name}",
                f"interface {call.interface} exists already in {call.netns}",
                code=FAILED_ADD,
            )
        self._disconnect(lease)

    def _record(self, call: Call) -> dict[str, Any]:
        arguments = call.arguments or {}
        return {
            "netns": call.netns,
            "pod": {
                key: arguments[name]
                for key, name in (("namespace", "K8S_POD_NAMESPACE"), ("name", "K8S_POD_NAME"), ("uid", "K8S_POD_UID"))
                if name in arguments
            },
            "ports": [[p.host_port, p.container_port, p.protocol, p.host_ip] for p in self.config.port_mappings],
        }

    def _connect(self, call: Call, lease: Lease) -> str:
        config = self.config
        self._prepare()
        host_mac = self.kernel.plug(
            config.bridge,
            Port(
                host_link=host_link_name(call.container, call.interface),
                netns=call.netns,
                interface=call.interface,
                mac=mac_of(lease.address),
                address=lease.address,
                prefix=config.subnet.prefixlen,
                gateway=config.gateway,
                mtu=config.mtu,
            ),
        )
        if config.port_mappings:
            self._open_ports(lease)
        return host_mac

    def _open_ports(self, lease: Lease) -> None:
        try:
            self.kernel.filter(filtering.open_ports(self.config, lease.address, ports_of(lease)))
        except NftablesError:
            # Someone may have flushed the packet filter, our table with it. If it was not that but a port that is
            # taken, this fails as well and changes nothing.
            self._restore_filter(self.leases.all())

    def _prepare(self) -> None:
        """Have the bridge and the table. The bridge is looked at each time, the table made once in a process' life."""
        config = self.config
        made = self.kernel.ensure_bridge(config.bridge, config.mtu, config.gateway, config.subnet.prefixlen)
        key = repr((config.bridge, config.subnet, config.masquerade, config.unmasqueraded))
        if made or key not in self.prepared:
            self.kernel.set_sysctl("net/ipv4/ip_forward", "1")
            self.kernel.set_sysctl(f"net/ipv4/conf/{config.bridge}/route_localnet", "1")
            self.kernel.filter(filtering.setup(config))
            self.prepared.add(key)

    def _result(self, call: Call, lease: Lease, host_mac: str) -> dict[str, Any]:
        config = self.config
        result: dict[str, Any] = {
            key: list(value) for key, value in (config.previous or {}).items() if isinstance(value, list)
        }
        interfaces = result.setdefault("interfaces", [])
        interfaces += [
            {"name": config.bridge},
            {"name": host_link_name(call.container, call.interface), "mac": host_mac},
            {"name": call.interface, "mac": mac_of(lease.address), "sandbox": call.netns},
        ]
        address: dict[str, Any] = {
            "address": f"{lease.address}/{config.subnet.prefixlen}",
            "gateway": config.gateway,
            "interface": len(interfaces) - 1,
        }
        if config.version.startswith("0."):
            address["version"] = "4"
        result.setdefault("ips", []).append(address)
        result.setdefault("routes", []).append({"dst": "0.0.0.0/0", "gw": config.gateway})
        return {"cniVersion": config.version, **result, "dns": (config.previous or {}).get("dns", {})}

    # ------------------------------------------------------------------- DEL

    def delete(self, call: Call) -> None:
        """Detach a pod; whatever of it is gone already is fine. Raises CniError."""
        with self.leases.locked():
            lease = self.leases.of(call.container, call.interface)
            try:
                if lease is None:
                    self.kernel.unplug(host_link_name(call.container, call.interface))
                else:
                    self._disconnect(lease)
            except (OSError, NftablesError) as error:
                raise PluginFailure(
                    f"detach {call.container} from {self.config.name}", str(error), code=FAILED_DEL
                ) from error

    def _disconnect(self, lease: Lease) -> None:
        self.kernel.unplug(host_link_name(lease.container, lease.interface))
        ports = ports_of(lease)
        if ports:
            self._close_ports(lease, ports)
        self.leases.release(lease)

    def _close_ports(self, lease: Lease, ports: Sequence[PortMapping]) -> None:
        """Close the host ports of a lease: those it holds, not those it wanted while another had them."""
        others = [(other.address, ports_of(other)) for other in self.leases.all() if other.owner != lease.owner]
        held = {(port.protocol, port.host_port, port.host_ip) for _, mappings in others for port in mappings}
        own = [port for port in ports if (port.protocol, port.host_port, port.host_ip) not in held]
        if not own:
            return
        try:
            self.kernel.filter(filtering.close_ports(self.config, lease.address, own))
        except NftablesError:  # one was never opened, or all were flushed: leave exactly what the others hold
            self.kernel.filter(filtering.setup(self.config) + filtering.restore(self.config, others))

    # ----------------------------------------------------- CHECK, STATUS, GC

    def check(self, call: Call) -> None:
        """Compare what ADD gave with what is there. Raises CniError naming the first difference."""
        config = self.config

        def fail(cause: str) -> NoReturn:
            raise PluginFailure(f"check {call.container} on {config.name}", cause, code=FAILED_CHECK)

        with self.leases.locked():
            lease = self.leases.of(call.container, call.interface)
            if lease is None:
                fail("no address is leased to it")
            expected = [str(item.get("address", "")) for item in (config.previous or {}).get("ips", ())]
            own = f"{lease.address}/{config.subnet.prefixlen}"
            if config.previous is not None and own not in expected:
                fail(f"{own} is leased to it, but prevResult has {expected}")
            try:
                found = self.kernel.look(call.netns, call.interface)
                host_link = host_link_name(call.container, call.interface)
                cabled = host_link in self.kernel.ports(config.bridge)
            except OSError as error:
                raise PluginFailure(
                    f"check {call.container} on {config.name}", str(error), code=FAILED_CHECK
                ) from error
        if found is None:
            fail(f"interface {call.interface} is missing in {call.netns}")
        if not found.up:
            fail(f"interface {call.interface} is down")
        if own not in found.addresses:
            fail(f"interface {call.interface} has {list(found.addresses)}, not {own}")
        if found.gateway != config.gateway:
            fail(f"default route is by {found.gateway or 'nothing'}, not {config.gateway}")
        if not cabled:
            fail(f"link {host_link} is not on bridge {config.bridge}")

    def status(self) -> None:
        """Whether an ADD could be served. Raises NotAvailable."""
        if not self.leases.free():
            raise NotAvailable(
                f"network {self.config.name} cannot take pods", f"no free address in {self.config.subnet}"
            )
        try:
            self._prepare()
        except (OSError, NftablesError) as error:
            raise NotAvailable(f"network {self.config.name} cannot take pods", str(error)) from error

    def collect(self) -> None:
        """Remove what belongs to no valid attachment (GC), and put back what someone else removed. Raises CniError."""
        config = self.config
        failures: list[str] = []
        with self.leases.locked():
            for lease in self.leases.stale(config.valid_attachments):
                try:
                    self._disconnect(lease)
                except (OSError, NftablesError) as error:
                    failures.append(f"{lease.container}: {error}")
            leases = self.leases.all()
            known = {host_link_name(lease.container, lease.interface) for lease in leases}
            try:
                for link in self.kernel.ports(config.bridge):
                    if link.startswith("veth") and link not in known:
                        self.kernel.unplug(link)
                if leases:
                    self._restore_filter(leases)
            except (OSError, NftablesError) as error:
                failures.append(str(error))
        if failures:
            raise PluginFailure(f"collect garbage of {config.name}", "; ".join(failures), code=FAILED_GC)

    def mend(self) -> None:
        """Put the packet filter back after somebody has flushed it. Raises NftablesError, OSError."""
        with self.leases.locked():
            self._restore_filter(self.leases.all())

    def _restore_filter(self, leases: Iterable[Lease]) -> None:
        open_ports = [(lease.address, ports_of(lease)) for lease in leases]
        self.kernel.filter(filtering.setup(self.config) + filtering.restore(self.config, open_ports))


def ports_of(lease: Lease) -> list[PortMapping]:
    """The host ports that were recorded with a lease; what is damaged in the record is left out."""
    recorded: Mapping[str, Any] = lease.data
    found = []
    for item in recorded.get("ports") or ():
        try:
            host, container, protocol, host_ip = item
            found.append(PortMapping(int(host), int(container), str(protocol), str(host_ip)))
        except (TypeError, ValueError):
            continue
    return found
