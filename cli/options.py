"""What `orlop up` may be asked for: a node that could never run is refused at once, with the option that is wrong.

Without this a typing error shows as a part of the node that is started again and again, the reason deep in its log.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import time
from collections.abc import Iterator

from api.names import dns1123_subdomain
from cli.host import LOOPBACK
from cli.settings import Settings

LONGEST_LINK_NAME = 15  # IFNAMSIZ less its final zero
LONGEST_SOCKET_PATH = 107  # sun_path of unix(7), less its final zero
FEWEST_SERVICE_ADDRESSES = 16  # the API server has the first, DNS the tenth
FEWEST_POD_ADDRESSES = 8
PORT_PATIENCE = 5.0
"""Seconds for a port to become free: processes of a node that was just killed may still be on their way out."""


def misfits(settings: Settings) -> list[str]:
    """Why no node can be as these settings say; empty when one can."""
    return [*_node(settings), *_ports(settings), *_ranges(settings), *_names(settings)]


def ports_in_use(settings: Settings, patience: float = PORT_PATIENCE) -> list[str]:
    """Which of the node's ports somebody else holds, once `patience` seconds have passed."""
    wanted = [
        ("--api-port", LOOPBACK, settings.api_port),
        ("--api-port", settings.node_ip, settings.api_port),
        ("--agent-port", settings.node_ip, settings.agent_port),
    ]
    until = time.monotonic() + patience
    while True:
        found = [
            f"port {port} of {address} is in use: end what listens there, or choose another by {option}"
            for option, address, port in dict.fromkeys(wanted)
            if not _is_free(address, port)
        ]
        if not found or time.monotonic() >= until:
            return found
        time.sleep(0.1)


def _is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do, so that connections that have just ended do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def _node(settings: Settings) -> Iterator[str]:
    if problems := dns1123_subdomain(settings.node_name):
        yield f"--node-name {settings.node_name}: {problems[0]}"
    try:
        address = ipaddress.IPv4Address(settings.node_ip)
    except ValueError:
        yield f"--node-ip {settings.node_ip}: not an IPv4 address"
        return
    if not _is_ours(address):
        yield f"--node-ip {settings.node_ip}: no interface of this machine has this address"
    if settings.max_pods < 1:
        yield f"--max-pods {settings.max_pods}: must be at least 1"


def _is_ours(address: ipaddress.IPv4Address) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError as error:
            return error.errno != errno.EADDRNOTAVAIL
    return True


def _ports(settings: Settings) -> Iterator[str]:
    for option, port in (("--api-port", settings.api_port), ("--agent-port", settings.agent_port)):
        if not 1 <= port <= 65535:
            yield f"{option} {port}: must be between 1 and 65535"
    if settings.api_port == settings.agent_port:
        yield f"--api-port and --agent-port: both are {settings.api_port}"


def _ranges(settings: Settings) -> Iterator[str]:
    known: dict[str, ipaddress.IPv4Network] = {}
    given = {
        "--pod-cidr": (settings.pod_cidr, FEWEST_POD_ADDRESSES),
        "--cluster-cidr": (settings.cluster_cidr, FEWEST_POD_ADDRESSES),
        "--service-cidr": (settings.service_cidr, FEWEST_SERVICE_ADDRESSES),
    }
    for option, (text, fewest) in given.items():
        try:
            network = ipaddress.IPv4Network(text)
        except ValueError as error:
            yield f"{option} {text}: not an IPv4 range: {error}"
            continue
        if network.num_addresses < fewest:
            yield f"{option} {text}: must have at least {fewest} addresses"
        known[option] = network
    if len(known) < len(given):
        return
    pods, cluster, services = known.values()
    if not pods.subnet_of(cluster):
        yield f"--pod-cidr {pods}: must be part of --cluster-cidr {cluster}"
    if services.overlaps(cluster) or services.overlaps(pods):
        yield f"--service-cidr {services}: overlaps the pods' range {cluster if services.overlaps(cluster) else pods}"


def _names(settings: Settings) -> Iterator[str]:
    bridge, cgroup = settings.bridge, settings.cgroup_root
    if not 0 < len(bridge.encode()) <= LONGEST_LINK_NAME or "/" in bridge or bridge.split() != [bridge]:
        yield f"--bridge {bridge}: must be 1 to {LONGEST_LINK_NAME} bytes without spaces and slashes"
    if any(part in ("", ".", "..") for part in cgroup.strip("/").split("/")):
        yield f"--cgroup-root {cgroup}: not a path below the root of the cgroup tree"
    if settings.runtime_endpoint and not settings.runtime_endpoint.startswith("unix:///"):
        yield f"--container-runtime-endpoint {settings.runtime_endpoint}: must be unix:// with an absolute path"
    longest = f"{settings.layout.containerd_socket}.ttrpc"
    if len(longest.encode()) > LONGEST_SOCKET_PATH:
        room = LONGEST_SOCKET_PATH - len(longest.encode()) + len(str(settings.layout.run).encode())
        yield f"--run-dir {settings.layout.run}: must not be longer than {room} bytes, for the sockets in it"
