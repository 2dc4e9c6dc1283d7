"""Pod statuses on their way to the API server.

A status is written as soon as it changes and only when it says something new; while one write is under way, later ones
fold into the next. An API server that is away costs nothing but time: each pod is retried with back-off, and what is
written then is the state of that moment. Once a pod is wholly gone from this node, its object is deleted for good,
bound to its UID so that a namesake is never hit.

This module knows no runtime and decides nothing about a pod: it is handed statuses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from agent.pods.patching import status_patch
from agent.pods.phases import TERMINAL
from api import core_v1 as core
from api.errors import StatusError
from api.pods import is_static
from client.clock import Clock
from client.controller import run_workers
from client.interface import Client
from client.workqueue import RetryLimiter, WorkQueue

log = logging.getLogger(__name__)

WRITERS = 8
"""Writes under way at once: enough for a burst of pods, few enough to leave the server to others."""
FIRST_RETRY = 0.2
LONGEST_RETRY = 10.0


@dataclass(slots=True)
class _Entry:
    pod: core.Pod
    """The pod as its source has it."""
    wanted: core.PodStatus | None = None
    known: core.Pod | None = None
    """The newest version of the API's object that was seen, by answer or by watch."""
    finished: bool = False
    """Nothing of the pod is left on the node: its object may go."""


class StatusManager:
    """Keeps the API's word on every pod of this node up to date.

    `mirror_of(pod)` gives the API's object for a static pod (its mirror), None while there is none.
    """

    def __init__(
        self, client: Client, clock: Clock, *, mirror_of: Callable[[core.Pod], core.Pod | None] | None = None
    ) -> None:
        self._client = client
        self._mirror_of = mirror_of or (lambda pod: None)
        self._entries: dict[str, _Entry] = {}
        limiter: RetryLimiter[str] = RetryLimiter(first=FIRST_RETRY, limit=LONGEST_RETRY, rate=50.0, burst=200)
        self._queue: WorkQueue[str] = WorkQueue("pod-status", clock=clock, limiter=limiter)

    async def run(self) -> None:
        """Write until cancelled."""
        await run_workers(self._queue, self._write, WRITERS)

    def status(self, uid: str) -> core.PodStatus | None:
        """The last status made on this node, written or not."""
        entry = self._entries.get(uid)
        return entry.wanted if entry else None

    def set(self, pod: core.Pod, status: core.PodStatus) -> None:
        """This is the pod's status now. A phase that was final stays."""
        entry = self._entry(pod)
        before = entry.wanted
        if before is not None and before.phase in TERMINAL and status.phase not in TERMINAL:
            status.phase, status.reason, status.message = before.phase, before.reason, before.message
        if before == status:
            return
        entry.wanted = status
        self._queue.add(pod.metadata.uid)

    def finish(self, pod: core.Pod) -> None:
        """Containers dead, volumes unmounted, cgroup gone: when the pod is being deleted, its object goes now."""
        self._entry(pod).finished = True
        self._queue.add(pod.metadata.uid)

    def seen(self, pod: core.Pod) -> None:
        """The API server has this version of a pod (for a static pod: of its mirror, under the static pod's UID)."""
        entry = self._entries.get(pod.metadata.uid)
        if entry is None:
            return
        entry.pod = pod
        self._learn(entry, pod)
        if entry.wanted is not None:
            # Either our own write coming back, which ends here, or someone changed what is ours to say.
            self._queue.add(pod.metadata.uid)

    def mirror_seen(self, uid: str, mirror: core.Pod) -> None:
        """The mirror of the static pod `uid` appeared or changed: it needs the status."""
        entry = self._entries.get(uid)
        if entry is not None:
            self._learn(entry, mirror)
            self._queue.add(uid)

    def forget(self, uid: str) -> None:
        """The pod is gone from the API and from this node."""
        self._entries.pop(uid, None)
        self._queue.forget(uid)

    def _entry(self, pod: core.Pod) -> _Entry:
        entry = self._entries.get(pod.metadata.uid)
        if entry is None:
            entry = self._entries[pod.metadata.uid] = _Entry(pod)
        else:
            entry.pod = pod
        if not is_static(pod):
            self._learn(entry, pod)
        return entry

    def _learn(self, entry: _Entry, version: core.Pod) -> None:
        known = entry.known
        if known is None or known.metadata.uid != version.metadata.uid or _newer(version, known):
            entry.known = version

    async def _write(self, uid: str) -> None:
        entry = self._entries.get(uid)
        if entry is None:
            return
        target = self._target(entry)
        if target is None:
            return
        meta = target.metadata
        wanted = entry.wanted
        try:
            told = _told(target.status, wanted) if wanted is not None else None
            if told is not None and (patch := status_patch(meta.uid, target.status, told)) is not None:
                answer = await self._client.patch(core.Pod, meta.name, patch, meta.namespace, subresource="status")
                self._learn(entry, answer)
            if entry.finished and _deletable(entry):
                await self._client.delete(core.Pod, meta.name, meta.namespace, uid=meta.uid, grace_period=0)
        except StatusError as error:
            if error.code == 404 or (error.code == 409 and await self._replaced(target)):
                log.debug("pod is gone pod=%s/%s uid=%s", meta.namespace, meta.name, meta.uid)
                return
            raise

    def _target(self, entry: _Entry) -> core.Pod | None:
        """The API's object that the status belongs to."""
        if not is_static(entry.pod):
            return entry.known
        mirror = self._mirror_of(entry.pod)
        if mirror is None:
            return None
        self._learn(entry, mirror)
        return entry.known

    async def _replaced(self, target: core.Pod) -> bool:
        """Whether a conflict means that another pod has the name now."""
        try:
            current = await self._client.get(core.Pod, target.metadata.name, target.metadata.namespace)
        except StatusError as error:
            if error.code == 404:
                return True
            raise
        return current.metadata.uid != target.metadata.uid


def _told(known: core.PodStatus, wanted: core.PodStatus) -> core.PodStatus:
    """What others may be told of `wanted` by now: a pod has not ended while a container of it runs.

    Whoever waits for its end, to start its successor or to give its place away, counts on what it held being free.
    """
    if wanted.phase not in TERMINAL or known.phase in TERMINAL or not _runs(wanted):
        return wanted
    return msgspec.structs.replace(wanted, phase=known.phase, reason=known.reason, message=known.message)


def _runs(status: core.PodStatus) -> bool:
    lists = (status.init_container_statuses, status.container_statuses, status.ephemeral_container_statuses)
    return any(one.state.running is not None for statuses in lists for one in statuses)


def _newer(one: core.Pod, other: core.Pod) -> bool:
    try:
        return int(one.metadata.resource_version) > int(other.metadata.resource_version)
    except ValueError:
        return one.metadata.resource_version != other.metadata.resource_version


def _deletable(entry: _Entry) -> bool:
    if is_static(entry.pod):
        return False
    known = entry.known
    pods = [entry.pod] if known is None else [entry.pod, known]
    return any(one.metadata.deletion_timestamp is not None for one in pods)
