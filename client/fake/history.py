"""The revisions of a fake server: what is stored now, what was, and who waits for what comes.

A small copy of what an etcd does. It holds bytes under keys, and knows nothing of what they mean.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

Key = tuple[str, str, str]  # resource, namespace, name


class Compacted(Exception):
    """The revision asked for is older than the history reaches."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object. `after` is None for a deletion; `final` then is its last state."""

    revision: int
    key: Key
    before: bytes | None
    after: bytes | None
    final: bytes | None = None


class Subscription:
    """The changes of one resource as they come, for one watcher."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.cut = False
        self._changes: deque[Change] = deque()
        self._wake = asyncio.Event()

    def push(self, change: Change) -> None:
        if not self.cut:
            self._changes.append(change)
            self._wake.set()

    def end(self) -> None:
        """The connection breaks: the watcher sees what is queued no more."""
        self.cut = True
        self._changes.clear()
        self._wake.set()

    async def next(self) -> Change | None:
        """Wait for a change; None when the subscription was cut."""
        while not self._changes:
            if self.cut:
                return None
            self._wake.clear()
            await self._wake.wait()
        return self._changes.popleft()


class History:
    """Current objects, past changes and subscriptions."""

    def __init__(self, length: int) -> None:
        self.revision = 1
        self.compacted = 0
        self._objects: dict[Key, bytes] = {}
        self._changes: deque[Change] = deque()
        self._length = length
        self._subscriptions: list[Subscription] = []

    def get(self, key: Key) -> bytes | None:
        return self._objects.get(key)

    def write(self, key: Key, after: bytes | None, final: bytes | None = None) -> None:
        """Store bytes, or remove a key; the revision goes up by one."""
        self.revision += 1
        change = Change(self.revision, key, self._objects.get(key), after, final)
        if after is None:
            del self._objects[key]
        else:
            self._objects[key] = after
        self._changes.append(change)
        while len(self._changes) > self._length:
            self.compacted = self._changes.popleft().revision
        for subscription in self._subscriptions:
            if subscription.resource == key[0]:
                subscription.push(change)

    def compact(self) -> None:
        """Forget all of the past."""
        self._changes.clear()
        self.compacted = self.revision

    def snapshot(self, resource: str, revision: int = 0) -> list[tuple[Key, bytes]]:
        """What a resource held at a revision (0: now), in the order of keys. Raises Compacted."""
        objects = {key: raw for key, raw in self._objects.items() if key[0] == resource}
        if revision and revision < self.revision:
            if revision < self.compacted:
                raise Compacted
            for change in reversed(self._changes):
                if change.revision <= revision:
                    break
                if change.key[0] != resource:
                    continue
                if change.before is None:
                    objects.pop(change.key, None)
                else:
                    objects[change.key] = change.before
        return sorted(objects.items())

    def since(self, resource: str, revision: int) -> Iterator[Change]:
        """The changes of a resource after a revision. Raises Compacted."""
        if revision < self.compacted:
            raise Compacted
        return (change for change in list(self._changes) if change.revision > revision and change.key[0] == resource)

    def subscribe(self, resource: str) -> Subscription:
        """Hear of changes from now on, until `unsubscribe`."""
        subscription = Subscription(resource)
        self._subscriptions.append(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.remove(subscription)

    def cut(self, resource: str = "") -> int:
        """End the subscriptions of a resource, or all."""
        chosen = [one for one in self._subscriptions if resource in ("", one.resource) and not one.cut]
        for subscription in chosen:
            subscription.end()
        return len(chosen)
