"""The network configuration of `orlop-cni`, as it comes on standard input (CNI spec 1.1, section 1)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cni.errors import InvalidConfiguration

DEFAULT_BRIDGE = "orlop0"
DEFAULT_MTU = 1500
DEFAULT_STATE = "/run/orlop/cni"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]*\Z")
_LINK = re.compile(r"[^\s/:]{1,15}\Z")
PROTOCOLS = ("tcp", "udp", "sctp")


@dataclass(frozen=True, slots=True)
class PortMapping:
    """A port of the host that leads to one of the pod (capability `portMappings`). `host_ip` "" means any address."""

    host_port: int
    container_port: int
    protocol: str
    host_ip: str = ""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """What a call was configured with. `unmasqueraded` are the ranges that pods talk to under their own address."""

    version: str
    name: str
    subnet: ipaddress.IPv4Network
    bridge: str = DEFAULT_BRIDGE
    mtu: int = DEFAULT_MTU
    masquerade: bool = True
    unmasqueraded: tuple[ipaddress.IPv4Network, ...] = ()
    state: str = DEFAULT_STATE
    port_mappings: tuple[PortMapping, ...] = ()
    previous: Mapping[str, Any] | None = None
    valid_attachments: tuple[tuple[str, str], ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gateway(self) -> str:
        return str(self.subnet.network_address + 1)


def parse(raw: Mapping[str, Any], *, opens_ports: bool = True) -> NetworkConfig:
    """Check the configuration and give it types. The version has been checked. Raises InvalidConfiguration.

    Calls that end an attachment go by what was recorded when it was made: without `opens_ports` the mappings in this
    call are not looked at, and so can be no reason for keeping what is to go.
    """
    version = str(raw.get("cniVersion"))
    name = raw.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidConfiguration("invalid network name", f"{name!r}")
    bridge = raw.get("bridge", DEFAULT_BRIDGE)
    if not isinstance(bridge, str) or not _LINK.match(bridge):
        raise InvalidConfiguration("bridge is no name of a link", f"{bridge!r}")
    mtu = raw.get("mtu", DEFAULT_MTU)
    if not isinstance(mtu, int) or not 576 <= mtu <= 65535:
        raise InvalidConfiguration("mtu must be a number from 576 to 65535", f"{mtu!r}")
    state = raw.get("stateDir", DEFAULT_STATE)
    if not isinstance(state, str) or not state.startswith("/"):
        raise InvalidConfiguration("stateDir must be an absolute path", f"{state!r}")
    subnet = _network("subnet", raw.get("subnet"))
    if subnet.num_addresses < 8:
        raise InvalidConfiguration("subnet is too small", f"{subnet} has fewer than 8 addresses")
    previous = raw.get("prevResult")
    if previous is not None and not isinstance(previous, dict):
        raise InvalidConfiguration("prevResult must be an object", f"{previous!r}")
    mappings = _list(raw.get("runtimeConfig") or {}, "portMappings") if opens_ports else []
    return NetworkConfig(
        version=version,
        name=name,
        subnet=subnet,
        bridge=bridge,
        mtu=mtu,
        masquerade=bool(raw.get("ipMasq", True)),
        unmasqueraded=tuple(_network("nonMasqueradeCIDRs", item) for item in _list(raw, "nonMasqueradeCIDRs")),
        state=state,
        port_mappings=tuple(_port_mapping(item) for item in mappings),
        previous=previous,
        valid_attachments=tuple(_attachment(item) for item in _list(raw, "cni.dev/valid-attachments")),
        raw=raw,
    )


def _list(raw: Mapping[str, Any], key: str) -> list[Any]:
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidConfiguration(f"{key} must be a list", f"{value!r}")
    return value


def _network(key: str, value: object) -> ipaddress.IPv4Network:
    try:
        if not isinstance(value, str):
            raise ValueError("expected text like 10.42.0.0/24")
        return ipaddress.IPv4Network(value)
    except ValueError as error:
        raise InvalidConfiguration(f"invalid {key}", f"{value!r}: {error}") from error


def _port_mapping(value: object) -> PortMapping:
    try:
        if not isinstance(value, dict):
            raise ValueError("expected an object")
        # The conventions of CNI write hostPort; containerd writes HostPort, which readers in Go do not notice.
        given = {str(key).lower(): item for key, item in value.items()}
        host, container = int(given["hostport"]), int(given["containerport"])
        protocol = str(given.get("protocol") or "tcp").lower()
        host_ip = str(given.get("hostip") or "")
        if not (0 < host < 65536 and 0 < container < 65536):
            raise ValueError("ports are from 1 to 65535")
        if protocol not in PROTOCOLS:
            raise ValueError(f"unknown protocol {protocol}")
        if host_ip in ("0.0.0.0", "::"):
            host_ip = ""
        if host_ip:
            ipaddress.ip_address(host_ip)
    except KeyError as error:
        raise InvalidConfiguration("invalid port mapping", f"{value!r}: no {error}") from error
    except (TypeError, ValueError) as error:
        raise InvalidConfiguration("invalid port mapping", f"{value!r}: {error}") from error
    return PortMapping(host, container, protocol, host_ip)


def _attachment(value: object) -> tuple[str, str]:
    if not isinstance(value, dict) or not value.get("containerID") or not value.get("ifname"):
        raise InvalidConfiguration("invalid attachment in cni.dev/valid-attachments", f"{value!r}")
    return str(value["containerID"]), str(value["ifname"])
