"""Carries out what `planning` decides, for one replica set after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from api import codec
from api import core_v1 as core
from api.apps_v1 import ReplicaSet
from api.errors import StatusError, is_not_found
from api.owners import controller_of, is_controlled_by
from api.selectors import SelectorError, from_struct
from client.cache import Key, key_of
from client.clock import Clock
from client.controller import run_workers
from client.errors import Unreachable
from client.events import NORMAL, WARNING, Recorder
from client.interface import Client
from client.workqueue import WorkQueue
from controlplane.controllers.batches import all_of, slow_start
from controlplane.controllers.own_writes import DOUBTFUL_AFTER, OwnWrites
from controlplane.controllers.ownership import Owned, claim
from controlplane.controllers.refusals import namespace_is_going, unless_gone
from controlplane.controllers.replicasets.planning import plan, pod_of
from controlplane.controllers.replicasets.status import (
    FAILED_CREATE,
    FAILED_DELETE,
    next_availability,
    status_of,
)

COMPONENT = "replicaset-controller"
WORKERS = 5


class ReplicaSetController:
    """Keeps every replica set at its size."""

    def __init__(
        self, client: Client, replica_sets: Owned[ReplicaSet], pods: Owned[core.Pod], clock: Clock, recorder: Recorder
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._replica_sets = replica_sets
        self._pods = pods
        self._pod_writes = OwnWrites(pods.informer, clock)
        self._status_writes = OwnWrites(replica_sets.informer, clock)
        self._queue: WorkQueue[Key] = WorkQueue("replicasets", clock=clock)
        replica_sets.informer.add_handler(
            lambda added: self._queue.add(key_of(added)),
            lambda _, new: self._queue.add(key_of(new)),
            self._replica_set_gone,
        )
        pods.informer.add_handler(self._pod_seen, self._pod_changed, self._pod_seen)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._replica_sets.informer.synced()
        await self._pods.informer.synced()
        await run_workers(self._queue, self._reconcile, WORKERS)

    def _replica_set_gone(self, replica_set: ReplicaSet) -> None:
        self._pod_writes.forget(replica_set.metadata.uid)
        self._queue.add(key_of(replica_set))

    def _pod_seen(self, pod: core.Pod) -> None:
        reference = controller_of(pod)
        if reference is not None:
            if reference.kind == "ReplicaSet":
                self._queue.add((pod.metadata.namespace, reference.name))
        elif pod.metadata.deletion_timestamp is None:
            self._orphan_seen(pod)

    def _pod_changed(self, old: core.Pod, new: core.Pod) -> None:
        before, now = controller_of(old), controller_of(new)
        if before is not None and before != now:
            self._pod_seen(old)
        if now is not None or before is not None or old.metadata.labels != new.metadata.labels:
            self._pod_seen(new)

    def _orphan_seen(self, pod: core.Pod) -> None:
        """Somebody may want to adopt it."""
        for replica_set in self._replica_sets.informer.list(pod.metadata.namespace):
            try:
                wanted = from_struct(replica_set.spec.selector).matches(pod.metadata.labels)
            except SelectorError:
                continue  # cannot be stored through the API; its own reconciliation reports it
            if wanted:
                self._queue.add(key_of(replica_set))

    async def _reconcile(self, key: Key) -> float | None:
        shown = self._replica_sets.informer.get(*key)
        if shown is None:
            return None
        replica_set = self._status_writes.newest(shown)
        uid = replica_set.metadata.uid
        await self._pod_writes.verify(self._client, uid)
        candidates = self._pod_writes.over(self._pods.candidates(replica_set), uid)
        selector = from_struct(replica_set.spec.selector)
        pods = await claim(self._client, replica_set, selector, candidates, self._pod_writes)
        error, failure = await self._replicate(replica_set, pods)
        # What was just made or removed counts already.
        pods = [
            pod
            for pod in self._pod_writes.over(self._pods.by(uid), uid)
            if is_controlled_by(pod, replica_set) and selector.matches(pod.metadata.labels)
        ]
        now = self._clock.now()
        await self._report(replica_set, pods, failure, now)
        if error is not None:
            raise error
        again = next_availability(replica_set, pods, now)
        if self._pod_writes.waiting(uid):
            again = min(again or DOUBTFUL_AFTER, DOUBTFUL_AFTER)
        return again

    async def _replicate(
        self, replica_set: ReplicaSet, pods: Sequence[core.Pod]
    ) -> tuple[Exception | None, tuple[str, str] | None]:
        """Make and remove pods; returns the error, and how the status is to tell of it."""
        steps = plan(replica_set, pods, lambda: self._related(replica_set), self._clock.now())
        if steps.create:
            pod = pod_of(replica_set)
            error = await slow_start(steps.create, lambda: self._create(replica_set, pod))
            if isinstance(error, StatusError) and namespace_is_going(error):
                return None, None
            reason = FAILED_CREATE
        else:
            error = await all_of([partial(self._delete, replica_set, pod) for pod in steps.delete])
            reason = FAILED_DELETE
        return error, (reason, str(error)) if error is not None else None

    def _related(self, replica_set: ReplicaSet) -> list[core.Pod]:
        """The pods of all replica sets with the same controller."""
        owner = controller_of(replica_set)
        siblings = [replica_set] if owner is None else self._replica_sets.by(owner.uid)
        return [pod for sibling in siblings for pod in self._pods.by(sibling.metadata.uid)]

    async def _create(self, replica_set: ReplicaSet, pod: core.Pod) -> None:
        try:
            created = await self._client.create(pod)
        except StatusError as error:
            if not namespace_is_going(error):
                self._recorder.event(replica_set, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        self._pod_writes.written(created, replica_set.metadata.uid)
        self._recorder.event(replica_set, NORMAL, "SuccessfulCreate", f"Created pod: {created.metadata.name}")

    async def _delete(self, replica_set: ReplicaSet, pod: core.Pod) -> None:
        name, uid = pod.metadata.name, replica_set.metadata.uid
        try:
            await self._client.delete(core.Pod, name, pod.metadata.namespace, uid=pod.metadata.uid)
        except Unreachable:
            # It may have been done. To take another pod now could be one too many.
            self._pod_writes.deleted(pod, uid)
            raise
        except StatusError as error:
            if is_not_found(error):
                return
            self._recorder.event(replica_set, WARNING, "FailedDelete", f"Error deleting: {error}")
            raise
        self._pod_writes.deleted(pod, uid)
        self._recorder.event(replica_set, NORMAL, "SuccessfulDelete", f"Deleted pod: {name}")

    async def _report(
        self, replica_set: ReplicaSet, pods: Sequence[core.Pod], failure: tuple[str, str] | None, now: float
    ) -> None:
        status = status_of(replica_set, pods, failure, now)
        if status == replica_set.status:
            return
        changed = codec.deepcopy(replica_set)
        changed.status = status
        with unless_gone():
            self._status_writes.written(await self._client.update_status(changed))
