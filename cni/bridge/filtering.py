"""The plugin's part of the packet filter, as nftables commands: one table, maps and sets instead of rules.

    table ip orlop-<bridge>
      map ports           protocol . port           → pod address . port      host ports on any address
      map addressed       address . protocol . port → pod address . port      host ports on one address
      chain prerouting, output    look a packet to a local address up in the maps
      chain postrouting           hide pods behind the host towards the outside
      chain guard                 keep pods from the host's loopback addresses

The table is ours alone, so nobody's reload needs to be read or mended rule by rule, and a pod costs two elements, not
two chains. Pure text; nothing here talks to the kernel. Sources: nft(8), CNI conventions on port mapping.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from cni.bridge.config import NetworkConfig, PortMapping


def table_name(bridge: str) -> str:
    """The table that belongs to a bridge."""
    return f"orlop-{bridge}"


def setup(config: NetworkConfig) -> str:
    """Commands that make the table; elements that are there stay, so it may be run at any time."""
    table = f"ip {table_name(config.bridge)}"
    lookups = (
        "dnat ip to ip daddr . meta l4proto . th dport map @addressed",
        "dnat ip to meta l4proto . th dport map @ports",
    )
    lines = [
        f"add table {table}",
        f"add map {table} ports {{ type inet_proto . inet_service : ipv4_addr . inet_service; }}",
        f"add map {table} addressed {{ type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service; }}",
        f"add chain {table} hostports",
        f"flush chain {table} hostports",
        *(f"add rule {table} hostports {lookup}" for lookup in lookups),
    ]
    for hook in ("prerouting", "output"):  # at -100, which is `dstnat`, a name that nft does not take for output
        lines += [
            f"add chain {table} {hook} {{ type nat hook {hook} priority -100; }}",
            f"flush chain {table} {hook}",
            f"add rule {table} {hook} fib daddr type local meta l4proto {{ tcp, udp, sctp }} jump hostports",
        ]
    lines += [
        # Host ports on 127.0.0.1 need route_localnet on the bridge, which would also let a pod reach what listens on
        # the host's loopback alone.
        f"add chain {table} guard {{ type filter hook prerouting priority -300; }}",
        f"flush chain {table} guard",
        f'add rule {table} guard iifname "{config.bridge}" ip daddr 127.0.0.0/8 drop',
        f"add chain {table} postrouting {{ type nat hook postrouting priority 100; }}",
        f"flush chain {table} postrouting",
        # From the host's own loopback address, or from a pod to itself by way of its host port: the answer must come
        # back through the host, or it would go straight to where nobody waits for it.
        f'add rule {table} postrouting oifname "{config.bridge}" ip saddr 127.0.0.0/8 masquerade fully-random',
        f'add rule {table} postrouting oifname "{config.bridge}" ct status dnat ip saddr {config.subnet} '
        "masquerade fully-random",
    ]
    if config.masquerade:
        keep = ", ".join(str(network) for network in spared(config))
        lines.append(
            f'add rule {table} postrouting ip saddr {config.subnet} oifname != "{config.bridge}" '
            f"ip daddr != {{ {keep} }} masquerade fully-random"
        )
    return "\n".join(lines) + "\n"


def spared(config: NetworkConfig) -> list[ipaddress.IPv4Network]:
    """The destinations that pods talk to under their own address, without overlaps (a set may not have any)."""
    multicast = ipaddress.IPv4Network("224.0.0.0/4")
    return list(ipaddress.collapse_addresses([config.subnet, *config.unmasqueraded, multicast]))


def _elements(config: NetworkConfig, address: str, ports: Iterable[PortMapping], verb: str) -> str:
    table = f"ip {table_name(config.bridge)}"
    lines = []
    for port in ports:
        if ":" in port.host_ip:
            continue  # an address of the other family: nothing of this network answers there
        key = f"{port.protocol} . {port.host_port}"
        name = "ports"
        if port.host_ip:
            name, key = "addressed", f"{port.host_ip} . {key}"
        value = f" : {address} . {port.container_port}" if verb == "add" else ""
        lines.append(f"{verb} element {table} {name} {{ {key}{value} }}\n")
    return "".join(lines)


def open_ports(config: NetworkConfig, address: str, ports: Iterable[PortMapping]) -> str:
    """Commands that lead host ports to a pod; "" when there are none."""
    return _elements(config, address, ports, "add")


def close_ports(config: NetworkConfig, address: str, ports: Iterable[PortMapping]) -> str:
    """Commands that take host ports back; they fail for one that is not there."""
    return _elements(config, address, ports, "delete")


def restore(config: NetworkConfig, ports: Iterable[tuple[str, Iterable[PortMapping]]]) -> str:
    """Commands that leave exactly the given host ports open: pairs of pod address and its mappings."""
    table = f"ip {table_name(config.bridge)}"
    emptied = f"flush map {table} ports\nflush map {table} addressed\n"
    return emptied + "".join(open_ports(config, address, mappings) for address, mappings in ports)


def teardown(bridge: str) -> str:
    """Commands that remove all of it; `add` first, since deleting what is not there would fail."""
    table = f"ip {table_name(bridge)}"
    return f"add table {table}\ndelete table {table}\n"
