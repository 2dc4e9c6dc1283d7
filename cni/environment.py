"""The parameters that a plugin gets by its environment, checked (CNI spec 1.1, section 2, "Parameters")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cni.errors import InvalidEnvironment

COMMANDS = ("ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION")
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "ADD": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"),
    "CHECK": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"),
    "DEL": ("CNI_CONTAINERID", "CNI_IFNAME"),
}
_CONTAINER = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]*\Z")
_INTERFACE = re.compile(r"[^\s/:]{1,15}\Z")


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation of a plugin. `arguments` are the pairs of CNI_ARGS (`K8S_POD_NAME` and the like)."""

    command: str
    container: str = ""
    netns: str = ""
    interface: str = ""
    arguments: Mapping[str, str] | None = None
    path: str = ""


def parse_environment(environment: Mapping[str, str]) -> Call:
    """Check the parameters. Raises InvalidEnvironment."""
    command = environment.get("CNI_COMMAND", "")
    if command not in COMMANDS:
        raise InvalidEnvironment(
            f"unknown CNI_COMMAND: {command}" if command else "required env variables [CNI_COMMAND] missing"
        )
    missing = [name for name in _REQUIRED.get(command, ()) if not environment.get(name)]
    if missing:
        raise InvalidEnvironment(f"required env variables [{','.join(missing)}] missing")
    container, interface = environment.get("CNI_CONTAINERID", ""), environment.get("CNI_IFNAME", "")
    if container and not _CONTAINER.match(container):
        raise InvalidEnvironment("invalid characters in containerID", container)
    if interface and (interface in (".", "..") or not _INTERFACE.match(interface)):
        raise InvalidEnvironment("invalid interface name", interface)
    return Call(
        command=command,
        container=container,
        netns=environment.get("CNI_NETNS", ""),
        interface=interface,
        arguments=parse_arguments(environment.get("CNI_ARGS", "")),
        path=environment.get("CNI_PATH", ""),
    )


def parse_arguments(text: str) -> dict[str, str]:
    """The `KEY=value;KEY=value` of CNI_ARGS. Raises InvalidEnvironment."""
    pairs: dict[str, str] = {}
    for item in filter(None, text.split(";")):
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise InvalidEnvironment("invalid CNI_ARGS", f"pair {item!r} has no =")
        pairs[key] = value
    return pairs
