"""Which pod has which address: one file a lease, on a file system that a reboot empties.

A lease is the file `<address>,<container>,<interface>` in the network's folder. Its name says all that matters, so
reading the folder is reading the whole state, and no single damaged file can take the rest with it. A file appears
complete or not at all (link(2) of a finished temporary file), so a kill at any moment leaves a lease or none. Processes
take turns by flock(2) on the folder.

Addresses are handed out round robin: one that was just given back is the last to be given out again, so that nobody's
stale connection or neighbour entry meets a new pod. A lease left by another boot counts for nothing: the pods of that
boot are gone. Source: CNI spec 1.1, sections ADD, DEL and GC.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_CURSOR = "next"


class NoFreeAddress(Exception):
    """Every address of the range is leased."""


@dataclass(frozen=True, slots=True)
class Lease:
    """An address that a container's interface holds. `data` is what the plugin wants to remember with it."""

    address: str
    container: str
    interface: str
    data: Mapping[str, Any]

    @property
    def owner(self) -> tuple[str, str]:
        return self.container, self.interface


def leased_containers(state: str | os.PathLike[str]) -> set[str]:
    """IDs of the containers that hold an address in any of the networks that keep their leases in `state`."""
    found: set[str] = set()
    for _, _, files in os.walk(state):
        found.update(name.split(",")[1] for name in files if name.count(",") == 2)
    return found


class Leases:
    """The leases of one network with pod range `subnet`; the first address is the gateway's."""

    def __init__(self, folder: str, subnet: ipaddress.IPv4Network, boot_id: str) -> None:
        self.folder = folder
        self.subnet = subnet
        self.boot_id = boot_id

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes (and threads with an object of their own) out."""
        os.makedirs(self.folder, mode=0o755, exist_ok=True)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which unlocks

    def all(self) -> list[Lease]:
        """Every lease of this boot. A file that cannot be read counts as a lease without data."""
        return [lease for name in self._names() if (lease := self._read(name)) is not None]

    def of(self, container: str, interface: str) -> Lease | None:
        """The lease of one attachment, or None."""
        suffix = f",{container},{interface}"
        for name in self._names():
            if name.endswith(suffix):
                return self._read(name)
        return None

    def take(self, container: str, interface: str, data: Mapping[str, Any]) -> Lease:
        """Lease the next free address. Call with the lock held. Raises NoFreeAddress, OSError."""
        taken = {name.partition(",")[0] for name in self._names() if self._read(name) is not None}
        address = self._next_free(taken)
        lease = Lease(address, container, interface, data)
        temporary = os.path.join(self.folder, f".{container}.{os.getpid()}")
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"boot": self.boot_id, **data}, file)
        os.replace(temporary, self._path(lease))
        self._move_cursor(address)
        return lease

    def release(self, lease: Lease) -> None:
        """Give an address back; one that is back already is fine."""
        try:
            os.unlink(self._path(lease))
        except FileNotFoundError:
            pass

    def stale(self, valid: Iterable[tuple[str, str]]) -> list[Lease]:
        """The leases whose (container, interface) is not among `valid`."""
        keep = set(valid)
        return [lease for lease in self.all() if lease.owner not in keep]

    def free(self) -> int:
        """How many addresses can still be leased."""
        return max(0, self.subnet.num_addresses - 3 - len(self.all()))

    def _path(self, lease: Lease) -> str:
        return os.path.join(self.folder, f"{lease.address},{lease.container},{lease.interface}")

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.folder) if name.count(",") == 2)
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> Lease | None:
        address, container, interface = name.split(",")
        path = os.path.join(self.folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
        except FileNotFoundError:
            return None
        except ValueError:
            return Lease(address, container, interface, {})
        if not isinstance(data, dict):
            return Lease(address, container, interface, {})
        if data.pop("boot", self.boot_id) != self.boot_id:
            os.unlink(path)
            return None
        return Lease(address, container, interface, data)

    def _next_free(self, taken: set[str]) -> str:
        first = int(self.subnet.network_address) + 2  # after the network's own address and the gateway's
        last = int(self.subnet.broadcast_address) - 1
        size = last - first + 1
        start = self._cursor()
        offset = int(ipaddress.IPv4Address(start)) - first if start else 0
        for step in range(size):
            address = str(ipaddress.IPv4Address(first + (offset + step) % size))
            if address not in taken:
                return address
        raise NoFreeAddress(f"no free address in {self.subnet}: all {size} are leased")

    def _cursor(self) -> str:
        try:
            with open(os.path.join(self.folder, _CURSOR), encoding="ascii") as file:
                address = ipaddress.IPv4Address(file.read().strip())
        except (FileNotFoundError, ValueError):
            return ""
        return str(address) if address in self.subnet else ""

    def _move_cursor(self, taken: str) -> None:
        # Only a hint, so a torn write costs nothing: what does not read as an address is passed over.
        with open(os.path.join(self.folder, _CURSOR), "w", encoding="ascii") as file:
            file.write(str(ipaddress.IPv4Address(taken) + 1))
