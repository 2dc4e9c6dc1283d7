"""A kernel made of dictionaries, which can fail and be killed at any call.

`faults` are exceptions to raise at a call by its number; a `Killed` stands for the process dying there: nothing that
would have been done after it happens, cleaning up included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cni.kernel.interface import Interface, Port
from cni.kernel.namespaces import NoSuchNamespace
from cni.kernel.nftables import NftablesError

_ELEMENT = re.compile(r"(add|delete) element ip (\S+) (\S+) \{ (.+?)(?: : (.+))? \}\Z")


class Killed(BaseException):
    """The process died here. No handler of ordinary errors sees it."""


@dataclass
class FakeKernel:
    """`cni.kernel.interface.Kernel` in memory. `namespaces` are the paths that exist."""

    namespaces: set[str] = field(default_factory=set)
    boot: str = "boot-1"
    bridges: dict[str, tuple[str, int]] = field(default_factory=dict)
    cables: dict[str, tuple[str, Port]] = field(default_factory=dict)
    tables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    sysctls: dict[str, str] = field(default_factory=dict)
    loopbacks: set[str] = field(default_factory=set)
    faults: dict[int, BaseException] = field(default_factory=dict)
    calls: int = 0

    def fail(self, error: BaseException, *, after: int = 0) -> None:
        """Raise `error` at the call that comes after `after` more."""
        self.faults[self.calls + after] = error

    def _step(self) -> None:
        number, self.calls = self.calls, self.calls + 1
        if number in self.faults:
            raise self.faults.pop(number)

    def reboot(self) -> None:
        """Forget everything, as a reboot does."""
        self.boot += "'"
        for kept in (self.bridges, self.cables, self.tables, self.sysctls, self.namespaces, self.loopbacks):
            kept.clear()

    def boot_id(self) -> str:
        return self.boot

    def ensure_bridge(self, name: str, mtu: int, address: str, prefix: int) -> bool:
        self._step()
        made = name not in self.bridges
        self.bridges[name] = (address, prefix)
        return made

    def plug(self, bridge: str, port: Port) -> str:
        self._step()
        if port.netns not in self.namespaces:
            raise NoSuchNamespace(2, f"open network namespace {port.netns}: No such file or directory")
        taken = any((other.netns, other.interface) == (port.netns, port.interface) for _, other in self.cables.values())
        if taken or port.host_link in self.cables:
            raise FileExistsError(17, "File exists")
        self.cables[port.host_link] = (bridge, port)
        return "02:00:00:00:00:01"

    def unplug(self, host_link: str) -> bool:
        self._step()
        return self.cables.pop(host_link, None) is not None

    def ports(self, bridge: str) -> list[str]:
        self._step()
        return [link for link, (master, _) in self.cables.items() if master == bridge]

    def remove_bridge(self, name: str) -> bool:
        self._step()
        return self.bridges.pop(name, None) is not None

    def look(self, netns: str, interface: str) -> Interface | None:
        self._step()
        if netns not in self.namespaces:
            raise NoSuchNamespace(2, f"open network namespace {netns}: No such file or directory")
        if interface == "lo":
            return Interface("00:00:00:00:00:00", netns in self.loopbacks, ("127.0.0.1/8",), "")
        for _, port in self.cables.values():
            if (port.netns, port.interface) == (netns, interface):
                return Interface(port.mac, True, (f"{port.address}/{port.prefix}",), port.gateway)
        return None

    def raise_loopback(self, netns: str) -> None:
        self._step()
        if netns not in self.namespaces:
            raise NoSuchNamespace(2, f"open network namespace {netns}: No such file or directory")
        self.loopbacks.add(netns)

    def filter(self, commands: str) -> str:
        """Understands what `cni.bridge.filtering` writes about tables, maps and elements; rules are taken as read."""
        self._step()
        tables = {
            table: {name: dict(elements) for name, elements in maps.items()} for table, maps in self.tables.items()
        }
        for command in filter(None, commands.splitlines()):
            words = command.split()
            if words[1] == "table":
                if words[0] == "add":
                    tables.setdefault(words[3], {})
                else:
                    del tables[words[3]]
                continue
            if words[3] not in tables:
                raise NftablesError("Error: No such file or directory")
            maps = tables[words[3]]
            if words[1] == "map" and words[0] == "add":
                maps.setdefault(words[4], {})
            elif words[1] == "map":
                maps[words[4]].clear()
            elif words[1] == "element":
                self._element(maps, command)
        self.tables = tables
        return ""

    @staticmethod
    def _element(maps: dict[str, dict[str, str]], command: str) -> None:
        found = _ELEMENT.match(command)
        if found is None:
            raise NftablesError(f"Error: syntax error in {command!r}")
        verb, _table, name, key, value = found.groups()
        if verb == "delete":
            if key not in maps[name]:
                raise NftablesError("Error: Could not process rule: No such file or directory")
            del maps[name][key]
        elif maps[name].setdefault(key, value) != value:
            raise NftablesError("Error: Could not process rule: File exists")

    def set_sysctl(self, name: str, value: str) -> None:
        self._step()
        self.sysctls[name] = value
