"""Mirror pods: what the API server shows of the pods that come from manifests.

For every static pod there is one object in the API, marked with the static pod's hash; one that is missing is made,
one that mirrors something else or is being deleted is replaced, one that mirrors nothing is removed. The pod itself
does not care: it runs with or without a mirror, and whether or not there is an API server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from agent.pods.identity import full_name
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import deepcopy
from api.errors import StatusError
from api.pods import CONFIG_HASH, CONFIG_MIRROR
from client.clock import Clock
from client.controller import run_workers
from client.interface import Client
from client.workqueue import RetryLimiter, WorkQueue

log = logging.getLogger(__name__)

Key = tuple[str, str]


class Mirrors:
    """Keeps the mirrors of this node's static pods.

    `node` gives the registered Node, which owns them, or None while it is not registered. `on_mirror` hears of a mirror
    that has appeared or changed, with the UID of the pod it mirrors.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        node: Callable[[], core.Node | None],
        on_mirror: Callable[[str, core.Pod], object],
    ) -> None:
        self._client = client
        self._node = node
        self._on_mirror = on_mirror
        self._statics: dict[Key, core.Pod] = {}
        self._mirrors: dict[Key, core.Pod] = {}
        self._settled = False
        limiter: RetryLimiter[Key] = RetryLimiter(first=0.5, limit=30.0)
        self._queue: WorkQueue[Key] = WorkQueue("mirror-pods", clock=clock, limiter=limiter)

    async def run(self) -> None:
        """Keep them until cancelled."""
        await run_workers(self._queue, self._reconcile, 1)

    def static_set(self, pod: core.Pod) -> None:
        """There is a static pod."""
        self._statics[full_name(pod)] = pod
        self._queue.add(full_name(pod))

    def static_removed(self, pod: core.Pod) -> None:
        """There is a static pod no more."""
        key = full_name(pod)
        if (known := self._statics.get(key)) is not None and known.metadata.uid == pod.metadata.uid:
            del self._statics[key]
        self._queue.add(key)

    def mirror_seen(self, key: Key, mirror: core.Pod | None) -> None:
        """The API server has this mirror (None: has it no more)."""
        if mirror is None:
            self._mirrors.pop(key, None)
        else:
            self._mirrors[key] = mirror
            static = self._statics.get(key)
            if static is not None and _mirrors(mirror, static):
                self._on_mirror(static.metadata.uid, mirror)
        self._queue.add(key)

    def settled(self) -> None:
        """All sources have spoken: a mirror without a pod is now known to be one."""
        self._settled = True
        for key in self._mirrors:
            self._queue.add(key)

    def mirror_of(self, pod: core.Pod) -> core.Pod | None:
        """The API's object for a static pod, if it is there and up to date."""
        mirror = self._mirrors.get(full_name(pod))
        return mirror if mirror is not None and _mirrors(mirror, pod) else None

    async def _reconcile(self, key: Key) -> float | None:
        static, mirror = self._statics.get(key), self._mirrors.get(key)
        if mirror is not None and (static is None or not _mirrors(mirror, static)):
            if static is None and not self._settled:
                return None
            await self._delete(mirror)
            # The watch tells when it is gone; then it is made anew.
            return None
        if static is not None and mirror is None:
            return await self._create(static)
        return None

    async def _delete(self, mirror: core.Pod) -> None:
        data = mirror.metadata
        log.info("removing a mirror pod pod=%s/%s uid=%s", data.namespace, data.name, data.uid)
        try:
            await self._client.delete(core.Pod, data.name, data.namespace, uid=data.uid, grace_period=0)
        except StatusError as error:
            if error.code not in (404, 409):
                raise

    async def _create(self, static: core.Pod) -> float | None:
        node = self._node()
        if node is None:
            return 1.0
        mirror = deepcopy(static)
        data = mirror.metadata
        data.uid = ""
        data.annotations = {**data.annotations, CONFIG_MIRROR: _hash(static)}
        data.owner_references = [
            meta.OwnerReference(
                api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid, controller=True
            )
        ]
        try:
            await self._client.create(mirror)
        except StatusError as error:
            # Something of that name is there: the watch will show what, if it has not yet.
            if error.code != 409:
                raise
        return None


def _hash(static: core.Pod) -> str:
    return static.metadata.annotations.get(CONFIG_HASH, static.metadata.uid)


def _mirrors(mirror: core.Pod, static: core.Pod) -> bool:
    """Whether the object is the mirror of just this static pod, and is to stay."""
    return mirror.metadata.deletion_timestamp is None and mirror.metadata.annotations.get(CONFIG_MIRROR) == _hash(
        static
    )
