"""Numbers of which each service may hold some and no two the same: cluster addresses and node ports.

What is taken is whatever the stored services say; a pool is told of every change of a service and so is right again
after a restart without a record of its own. Between choosing a number and storing the service that holds it, the
number is only *reserved*.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterator


class Exhausted(Exception):
    """No number is free."""


class Taken(Exception):
    """The number asked for belongs to another service."""


class OutOfRange(Exception):
    """The number asked for is not one of the pool's."""


class Pool:
    """The numbers from `first` to `last`; those up to `static_until` are handed out last.

    The lower band is where people choose by hand, so automatic choice stays out of it as long as it can (KEP-3070,
    KEP-3682).
    """

    def __init__(self, first: int, last: int, static_until: int, chance: random.Random) -> None:
        self.first = first
        self.last = last
        self._static_until = static_until
        self._chance = chance
        self._taken: dict[int, int] = {}
        self._reserved: set[int] = set()

    @property
    def free(self) -> int:
        """How many numbers nobody holds."""
        return self.last - self.first + 1 - len(self._taken.keys() | self._reserved)

    def hold(self, number: int) -> None:
        """A stored service holds a number (one may hold it several times over)."""
        self._taken[number] = self._taken.get(number, 0) + 1

    def drop(self, number: int) -> None:
        """A stored service no longer holds a number."""
        count = self._taken.get(number, 0) - 1
        if count > 0:
            self._taken[number] = count
        else:
            self._taken.pop(number, None)

    def reserve(self, number: int) -> None:
        """Reserve a number asked for; raises :class:`Taken` or :class:`OutOfRange`."""
        if not self.first <= number <= self.last:
            raise OutOfRange
        if number in self._taken or number in self._reserved:
            raise Taken
        self._reserved.add(number)

    def reserve_any(self) -> int:
        """Choose and reserve a free number; raises :class:`Exhausted`."""
        for low, high in ((self._static_until + 1, self.last), (self.first, min(self._static_until, self.last))):
            for number in self._candidates(low, high):
                if number not in self._taken and number not in self._reserved:
                    self._reserved.add(number)
                    return number
        raise Exhausted

    def release(self, number: int) -> None:
        """The service that a number was reserved for has been stored, or never will be."""
        self._reserved.discard(number)

    def _candidates(self, low: int, high: int) -> Iterator[int]:
        """The numbers of a band, from a random one on and round."""
        if low > high:
            return
        start = self._chance.randint(low, high)
        yield from range(start, high + 1)
        yield from range(low, start)


def address_pool(network: ipaddress.IPv4Network | ipaddress.IPv6Network, chance: random.Random) -> Pool:
    """The addresses services may have: all of the network but its own and, in IPv4, the broadcast address."""
    first = int(network.network_address) + 1
    # Services need no more than 65,536 addresses of an IPv6 network.
    last = min(int(network.broadcast_address) - (1 if network.version == 4 else 0), first + 65535)
    size = last - first + 2
    band = min(max(16, size // 16), 256)
    return Pool(first, last, first + band - 1, chance)


def port_pool(first: int, last: int, chance: random.Random) -> Pool:
    """The node ports; one in 32 of them, 16 to 128, is left for choice by hand."""
    size = last - first + 1
    band = min(max(16, size // 32), 128)
    return Pool(first, last, first + band - 1 if size > band else first - 1, chance)
