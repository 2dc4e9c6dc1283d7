"""All sources of pods as one: which pods this node is to run, and whether that is the whole truth yet.

Each source has a feed of its own. A pod belongs to the source that named its UID first. Until every source has told all
it has, a pod that none of them names is not an orphan, only not heard of.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from api import core_v1 as core

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Feed:
    """One source's way in."""

    name: str
    _owner: Sources
    _synced: bool = False
    _pods: dict[str, core.Pod] = field(default_factory=dict)

    @property
    def has_synced(self) -> bool:
        return self._synced

    @property
    def pods(self) -> list[core.Pod]:
        return list(self._pods.values())

    def set(self, pod: core.Pod) -> None:
        """The source has the pod, in this version."""
        self._pods[pod.metadata.uid] = pod
        self._owner._changed(self, pod)

    def remove(self, uid: str) -> None:
        """The source has the pod no more."""
        if self._pods.pop(uid, None) is not None:
            self._owner._removed(self, uid)

    def synced(self) -> None:
        """The source has told all it has."""
        if not self._synced:
            self._synced = True
            log.info("source has synced source=%s pods=%d", self.name, len(self._pods))
            self._owner._feed_synced()


class Sources:
    """The merged view. `on_update` and `on_remove` are called on the event loop and must not block."""

    def __init__(self, on_update: Callable[[core.Pod], object], on_remove: Callable[[str], object]) -> None:
        self._on_update = on_update
        self._on_remove = on_remove
        self._feeds: list[Feed] = []
        self._owners: dict[str, Feed] = {}
        self._all_synced = asyncio.Event()

    def feed(self, name: str) -> Feed:
        """Add a source; all are added before any speaks."""
        feed = Feed(name, self)
        self._feeds.append(feed)
        return feed

    @property
    def has_synced(self) -> bool:
        """Whether every source has told all it has."""
        return self._all_synced.is_set()

    async def synced(self) -> None:
        """Wait until every source has told all it has."""
        await self._all_synced.wait()

    def pods(self) -> list[core.Pod]:
        """What is to run here, each pod once."""
        return [feed._pods[uid] for uid, feed in self._owners.items()]

    def _changed(self, feed: Feed, pod: core.Pod) -> None:
        owner = self._owners.setdefault(pod.metadata.uid, feed)
        if owner is feed:
            self._on_update(pod)
        else:
            log.warning("two sources name one pod uid=%s kept=%s ignored=%s", pod.metadata.uid, owner.name, feed.name)

    def _removed(self, feed: Feed, uid: str) -> None:
        if self._owners.get(uid) is feed:
            del self._owners[uid]
            self._on_remove(uid)

    def _feed_synced(self) -> None:
        if all(feed.has_synced for feed in self._feeds):
            self._all_synced.set()
