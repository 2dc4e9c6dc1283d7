"""Pods that the API server has bound to this node.

Mirror pods are no pods to run: they are handed to whoever keeps them (`agent.sources.mirrors`).
"""

from __future__ import annotations

from collections.abc import Callable

from agent.sources.merging import Feed
from api import core_v1 as core
from api.pods import is_mirror
from client.informer import Informer


class ApiSource:
    """Turns an informer's word into a feed.

    `on_seen` hears every version of a real pod, for the status writer; `on_mirror` hears of mirrors, with None for one
    that is gone.
    """

    def __init__(
        self,
        informer: Informer[core.Pod],
        feed: Feed,
        on_seen: Callable[[core.Pod], object],
        on_mirror: Callable[[tuple[str, str], core.Pod | None], object],
    ) -> None:
        self._informer = informer
        self._feed = feed
        self._on_seen = on_seen
        self._on_mirror = on_mirror
        self._early: dict[str, core.Pod] | None = {}
        informer.add_handler(self._added, self._updated, self._deleted)

    async def run(self) -> None:
        """Waits for the first list and passes it on, oldest pods first: in that order they claim the node's room."""
        await self._informer.synced()
        early, self._early = self._early or {}, None
        for pod in sorted(early.values(), key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.uid)):
            self._pass_on(pod)
        self._feed.synced()

    def _added(self, pod: core.Pod) -> None:
        if is_mirror(pod):
            self._on_mirror((pod.metadata.namespace, pod.metadata.name), pod)
        elif self._early is not None:
            self._early[pod.metadata.uid] = pod
        else:
            self._pass_on(pod)

    def _updated(self, old: core.Pod, new: core.Pod) -> None:
        self._added(new)

    def _deleted(self, pod: core.Pod) -> None:
        if is_mirror(pod):
            self._on_mirror((pod.metadata.namespace, pod.metadata.name), None)
        elif self._early is not None:
            self._early.pop(pod.metadata.uid, None)
        else:
            self._feed.remove(pod.metadata.uid)

    def _pass_on(self, pod: core.Pod) -> None:
        self._feed.set(pod)
        self._on_seen(pod)
