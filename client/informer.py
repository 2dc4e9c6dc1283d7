"""A local copy of a kind that is always current, and word of every change to it.

An `Informer` feeds a cache from a reflector and tells its handlers, in order, of each object that appears, changes or
goes. Whatever was missed while the connection was down is made up for: after a gap the cache is compared with a fresh
list, and handlers hear of each difference, of deletions too. `InformerFactory` makes sure that one process holds one
copy.

Objects are decoded once and shared by all; treat them as immutable. While nothing changes, an informer does nothing.
"""

from __future__ import annotations

import asyncio
import builtins
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from api import meta_v1 as meta
from api.selectors import LabelSelector
from client.cache import IndexFunction, ObjectCache, key_of
from client.clock import Clock, SystemClock
from client.interface import Client, EventType, WatchEvent
from client.reflector import Reflector

T = TypeVar("T", bound=meta.Object)


@dataclass(frozen=True, slots=True)
class _Handler(Generic[T]):
    on_add: Callable[[T], object] | None
    on_update: Callable[[T, T], object] | None
    on_delete: Callable[[T], object] | None


class Informer(Generic[T]):
    """The objects of one class and selection, mirrored.

    `transform` may trim each object before it is kept (drop managed fields, say); it must keep name, namespace, UID
    and resource version.
    """

    def __init__(
        self,
        client: Client,
        cls: type[T],
        namespace: str = "",
        *,
        field_selector: str = "",
        label_selector: str = "",
        clock: Clock | None = None,
        transform: Callable[[T], T] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._cls = cls
        self._cache: ObjectCache[T] = ObjectCache()
        self._handlers: list[_Handler[T]] = []
        self._transform = transform
        self._synced = asyncio.Event()
        self._reflector: Reflector[T] = Reflector(
            client,
            cls,
            _Sink(self),
            clock or SystemClock(),
            namespace=namespace,
            field_selector=field_selector,
            label_selector=label_selector,
            rng=rng,
        )

    def __len__(self) -> int:
        return len(self._cache)

    async def run(self) -> None:
        """Keep the copy current until cancelled."""
        await self._reflector.run()

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait until the first list is in. The caller sets the deadline."""
        await self._synced.wait()

    def add_handler(
        self,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[T], object] | None = None,
    ) -> None:
        """Hear of every change; of what is there already, at once by `on_add`.

        Handlers are called on the event loop and must neither block nor raise: they put keys into work queues.
        `on_delete` gets the last state known, which after a gap may be older than the object's real end. An object
        that was replaced by another of the same name is told as deleted, then added.
        """
        self._handlers.append(_Handler(on_add, on_update, on_delete))
        if on_add is not None:
            for obj in self._cache.list():
                on_add(obj)

    def get(self, namespace: str, name: str) -> T | None:
        """One object, or None; `namespace` is "" for what lives in none."""
        return self._cache.get(namespace, name)

    def list(self, namespace: str | None = None, selector: LabelSelector | None = None) -> builtins.list[T]:
        """All objects, of one namespace if one is named, that match the selector if one is given."""
        return self._cache.list(namespace, selector)

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """File objects under the values the function gives."""
        self._cache.add_index(name, function)

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """The objects that an index files under a value."""
        return self._cache.by_index(name, value)

    def _replace(self, items: Sequence[T]) -> None:
        present = {key_of(item) for item in items}
        for key in list(self._cache):
            if key not in present:
                self._gone(key)
        for item in items:
            self._seen(item)
        self._synced.set()

    def _apply(self, event: WatchEvent[T]) -> None:
        if event.type is EventType.DELETED:
            self._gone(key_of(event.object), event.object)
        else:
            self._seen(event.object)

    def _seen(self, obj: T) -> None:
        old = self._cache.get(*key_of(obj))
        if old is not None and old.metadata.uid != obj.metadata.uid:
            self._gone(key_of(obj))
            old = None
        if old is not None and old.metadata.resource_version == obj.metadata.resource_version:
            return
        if self._transform is not None:
            obj = self._transform(obj)
        self._cache.put(obj)
        for handler in self._handlers:
            if old is None:
                if handler.on_add is not None:
                    handler.on_add(obj)
            elif handler.on_update is not None:
                handler.on_update(old, obj)

    def _gone(self, key: tuple[str, str], last: T | None = None) -> None:
        known = self._cache.remove(key)
        if known is None:
            return
        if last is not None and last.metadata.uid == known.metadata.uid:
            known = self._transform(last) if self._transform is not None else last
        for handler in self._handlers:
            if handler.on_delete is not None:
                handler.on_delete(known)


class _Sink(Generic[T]):
    """The side of an informer that its reflector sees."""

    def __init__(self, informer: Informer[T]) -> None:
        self._informer = informer

    def replace(self, items: Sequence[T]) -> None:
        self._informer._replace(items)

    def apply(self, event: WatchEvent[T]) -> None:
        self._informer._apply(event)


class InformerFactory:
    """One informer a selection, shared by everyone in the process who asks for it."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        self._informers: dict[tuple[type[Any], str, str, str], Informer[Any]] = {}
        self._group: asyncio.TaskGroup | None = None

    def informer(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        field_selector: str = "",
        label_selector: str = "",
        transform: Callable[[T], T] | None = None,
    ) -> Informer[T]:
        """The informer for this selection; made when first asked for, and started at once if the factory runs.

        A transform is taken from whoever asks first: sharing means that all agree on what is kept.
        """
        key = (cls, namespace, field_selector, label_selector)
        found = self._informers.get(key)
        if found is None:
            found = Informer(
                self._client,
                cls,
                namespace,
                field_selector=field_selector,
                label_selector=label_selector,
                clock=self._clock,
                transform=transform,
            )
            self._informers[key] = found
            if self._group is not None:
                self._group.create_task(found.run(), name=f"informer-{cls.__name__}")
        return found

    async def run(self) -> None:
        """Run all informers, those to come included, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for (cls, *_), informer in self._informers.items():
                    group.create_task(informer.run(), name=f"informer-{cls.__name__}")
                await asyncio.Event().wait()
            finally:
                self._group = None

    async def synced(self) -> None:
        """Wait until every informer asked for so far has its first list. The caller sets the deadline."""
        for informer in list(self._informers.values()):
            await informer.synced()
