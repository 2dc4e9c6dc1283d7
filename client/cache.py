"""An indexed store of objects in memory, by namespace and name.

Nothing but a data structure: it knows neither watches nor handlers. What it holds is shared by all readers and must
be treated as immutable; copy with `api.codec.deepcopy` before a change.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from api import meta_v1 as meta
from api.selectors import LabelSelector

T = TypeVar("T", bound=meta.Object)
Key = tuple[str, str]
IndexFunction = Callable[[T], Iterable[str]]


class Lister(Protocol[T]):
    """Read access to a set of objects of one kind."""

    def get(self, namespace: str, name: str) -> T | None:
        """One object, or None; `namespace` is "" for what lives in none."""

    def list(self, namespace: str | None = None, selector: LabelSelector | None = None) -> builtins.list[T]:
        """All objects, of one namespace if one is named, that match the selector if one is given."""

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """The objects that an index files under a value."""


def key_of(obj: meta.Object) -> Key:
    """The key of an object: (namespace, name)."""
    return (obj.metadata.namespace, obj.metadata.name)


class ObjectCache(Generic[T]):
    """Objects by key, by namespace, and by any number of further indexes."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}
        self._namespaces: dict[str, dict[Key, T]] = {}
        self._indexes: dict[str, tuple[IndexFunction[T], dict[str, dict[Key, T]]]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[Key]:
        return iter(self._objects)

    def get(self, namespace: str, name: str) -> T | None:
        return self._objects.get((namespace, name))

    def list(self, namespace: str | None = None, selector: LabelSelector | None = None) -> builtins.list[T]:
        found = self._objects if namespace is None else self._namespaces.get(namespace, {})
        if selector is None:
            return list(found.values())
        return [obj for obj in found.values() if selector.matches(obj.metadata.labels)]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """Raises KeyError for an index that was never added."""
        return list(self._indexes[name][1].get(value, {}).values())

    def index_values(self, name: str) -> builtins.list[str]:
        """All values an index knows at the moment."""
        return list(self._indexes[name][1])

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """File every object, present and to come, under the values the function gives.

        Raises ValueError for a name that is taken.
        """
        if name in self._indexes:
            raise ValueError(f'index "{name}" exists already')
        index: dict[str, dict[Key, T]] = {}
        self._indexes[name] = (function, index)
        for key, obj in self._objects.items():
            _file(index, function(obj), key, obj)

    def put(self, obj: T) -> T | None:
        """Store an object and return the one it replaces."""
        key = key_of(obj)
        old = self._objects.get(key)
        self._objects[key] = obj
        self._namespaces.setdefault(key[0], {})[key] = obj
        for function, index in self._indexes.values():
            if old is not None:
                _unfile(index, function(old), key)
            _file(index, function(obj), key, obj)
        return old

    def remove(self, key: Key) -> T | None:
        """Drop an object and return it."""
        old = self._objects.pop(key, None)
        if old is not None:
            _unfile(self._namespaces, (key[0],), key)
            for function, index in self._indexes.values():
                _unfile(index, function(old), key)
        return old


def _file(index: dict[str, dict[Key, T]], values: Iterable[str], key: Key, obj: T) -> None:
    for value in values:
        index.setdefault(value, {})[key] = obj


def _unfile(index: dict[str, dict[Key, T]], values: Iterable[str], key: Key) -> None:
    for value in values:
        entries = index.get(value)
        if entries is not None:
            entries.pop(key, None)
            if not entries:
                del index[value]
