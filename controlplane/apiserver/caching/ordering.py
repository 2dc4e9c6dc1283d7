"""The objects of one resource in the order of their keys.

One shelf per namespace, each a dict with a sorted list of names beside it: a namespace is listed without looking at
the others, and a change moves a few kilobytes of pointers at most.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from controlplane.apiserver.caching.entries import Entry


class _Shelf:
    """The objects of one namespace."""

    __slots__ = ("entries", "names")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.names: list[str] = []


class OrderedEntries:
    """A map of (namespace, name) to entries that lists in key order. Cluster-scoped objects are in namespace ""."""

    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._order: list[str] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, namespace: str, name: str) -> Entry | None:
        """The entry, or None."""
        shelf = self._shelves.get(namespace)
        return None if shelf is None else shelf.entries.get(name)

    def put(self, entry: Entry) -> None:
        """Add or replace."""
        shelf = self._shelves.get(entry.namespace)
        if shelf is None:
            shelf = self._shelves[entry.namespace] = _Shelf()
            bisect.insort(self._order, entry.namespace, key=_position)
        if entry.name not in shelf.entries:
            bisect.insort(shelf.names, entry.name)
            self._count += 1
        shelf.entries[entry.name] = entry

    def remove(self, namespace: str, name: str) -> None:
        """Drop an entry that is there."""
        shelf = self._shelves[namespace]
        del shelf.entries[name]
        del shelf.names[bisect.bisect_left(shelf.names, name)]
        self._count -= 1
        if not shelf.names:
            del self._shelves[namespace]
            del self._order[bisect.bisect_left(self._order, _position(namespace), key=_position)]

    def count(self, namespace: str = "") -> int:
        """How many objects there are, in one namespace or ("") in all."""
        if not namespace:
            return self._count
        shelf = self._shelves.get(namespace)
        return 0 if shelf is None else len(shelf.names)

    def iterate(self, namespace: str = "", after: tuple[str, str] | None = None) -> Iterator[Entry]:
        """Entries in key order, of one namespace or ("") of all, from behind `after` (namespace, name) on.

        The map must not change meanwhile.
        """
        namespaces = [namespace] if namespace else self._order
        if after is not None and not namespace:
            namespaces = namespaces[bisect.bisect_left(namespaces, _position(after[0]), key=_position) :]
        for each in namespaces:
            shelf = self._shelves.get(each)
            if shelf is None:
                continue
            names = shelf.names
            if after is not None and each == after[0]:
                names = names[bisect.bisect_right(names, after[1]) :]
            entries = shelf.entries
            for name in names:
                yield entries[name]


def _position(namespace: str) -> str:
    """Where a namespace comes among keys: the slash behind it counts, so "a-b" is before "a"."""
    return namespace + "/"
