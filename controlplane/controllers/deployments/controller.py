"""Carries out what `planning` decides, for one deployment after the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from api import codec
from api import core_v1 as core
from api.apps_v1 import Deployment, DeploymentStatus, ReplicaSet
from api.errors import StatusError, is_already_exists
from api.owners import controller_of, is_controlled_by
from api.pods import is_terminal
from api.rendering import quote
from api.selectors import LabelSelector, SelectorError, from_struct
from client.cache import Key, key_of
from client.clock import Clock
from client.controller import run_workers
from client.events import NORMAL, WARNING, Recorder
from client.informer import Informer
from client.interface import Client
from client.workqueue import WorkQueue
from controlplane.controllers.deployments import progress
from controlplane.controllers.deployments.planning import Create, Delete, Plan, Update, plan
from controlplane.controllers.deployments.revisions import REVISION
from controlplane.controllers.deployments.sizes import is_recreate
from controlplane.controllers.deployments.status import plain_status, rollout_status
from controlplane.controllers.deployments.templates import same_template
from controlplane.controllers.own_writes import DOUBTFUL_AFTER, OwnWrites
from controlplane.controllers.ownership import Owned, claim
from controlplane.controllers.refusals import namespace_is_going, unless_gone
from controlplane.controllers.replicasets.planning import wanted

COMPONENT = "deployment-controller"
WORKERS = 5
# Steps of one reconciliation; whatever is left then comes with the next event.
_STEPS = 5

log = logging.getLogger(__name__)


class DeploymentController:
    """Rolls every deployment out."""

    def __init__(
        self,
        client: Client,
        deployments: Informer[Deployment],
        replica_sets: Owned[ReplicaSet],
        pods: Owned[core.Pod],
        clock: Clock,
        recorder: Recorder,
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._deployments = deployments
        self._replica_sets = replica_sets
        self._pods = pods
        self._writes = OwnWrites(replica_sets.informer, clock)
        self._status_writes = OwnWrites(deployments, clock)
        self._queue: WorkQueue[Key] = WorkQueue("deployments", clock=clock)
        deployments.add_handler(
            lambda added: self._queue.add(key_of(added)),
            lambda _, new: self._queue.add(key_of(new)),
            self._deployment_gone,
        )
        replica_sets.informer.add_handler(self._replica_set_seen, self._replica_set_changed, self._replica_set_seen)
        pods.informer.add_handler(on_update=self._pod_changed, on_delete=self._pod_stopped)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._deployments.synced()
        await self._replica_sets.informer.synced()
        await self._pods.informer.synced()
        await run_workers(self._queue, self._reconcile, WORKERS)

    # What happens

    def _deployment_gone(self, deployment: Deployment) -> None:
        self._writes.forget(deployment.metadata.uid)
        self._queue.add(key_of(deployment))

    def _replica_set_seen(self, replica_set: ReplicaSet) -> None:
        reference = controller_of(replica_set)
        if reference is not None:
            if reference.kind == "Deployment":
                self._queue.add((replica_set.metadata.namespace, reference.name))
            return
        for deployment in self._deployments.list(replica_set.metadata.namespace):
            try:
                wants = from_struct(deployment.spec.selector).matches(replica_set.metadata.labels)
            except SelectorError:
                continue  # cannot be stored through the API; its own reconciliation reports it
            if wants:
                self._queue.add(key_of(deployment))

    def _replica_set_changed(self, old: ReplicaSet, new: ReplicaSet) -> None:
        before, now = controller_of(old), controller_of(new)
        if before is not None and before != now:
            self._replica_set_seen(old)
        if now is not None or before is not None or old.metadata.labels != new.metadata.labels:
            self._replica_set_seen(new)

    def _pod_changed(self, old: core.Pod, new: core.Pod) -> None:
        if is_terminal(new) and not is_terminal(old):
            self._pod_stopped(new)

    def _pod_stopped(self, pod: core.Pod) -> None:
        """A deployment that is recreated waits for its last old pod."""
        reference = controller_of(pod)
        if reference is None or reference.kind != "ReplicaSet":
            return
        replica_set = self._replica_sets.informer.get(pod.metadata.namespace, reference.name)
        owner = controller_of(replica_set) if replica_set is not None else None
        deployment = self._deployments.get(pod.metadata.namespace, owner.name) if owner is not None else None
        if deployment is not None and is_recreate(deployment):
            self._queue.add(key_of(deployment))

    # What is done

    async def _reconcile(self, key: Key) -> float | None:
        shown = self._deployments.get(*key)
        if shown is None:
            return None
        deployment = self._status_writes.newest(shown)
        selector = from_struct(deployment.spec.selector)
        if selector.empty:
            await self._refuse(deployment)
            return None
        uid = deployment.metadata.uid
        await self._writes.verify(self._client, uid)
        candidates = self._writes.over(self._replica_sets.candidates(deployment), uid)
        await claim(self._client, deployment, selector, candidates, self._writes)
        # The draft is the deployment with what has come about but is not written yet.
        draft = deployment
        if deployment.metadata.deletion_timestamp is None:
            draft = progress.paused_or_resumed(deployment, self._clock.now())
        for _ in range(_STEPS):
            replica_sets = self._owned(deployment, selector)
            planned = plan(draft, replica_sets, old_pods_run=self._old_pods_run(draft, replica_sets))
            if planned.new is not None and planned.verdict:
                draft = progress.found(draft, planned.new, self._clock.now())
            if not planned.steps:
                break
            for step in planned.steps:
                draft = await self._carry_out(deployment, draft, step)
        now = self._clock.now()
        status = _status(draft, planned, now)
        await self._report(deployment, status, planned.revision)
        again = progress.until_deadline(deployment, status, now)
        if self._writes.waiting(uid):
            again = min(again or DOUBTFUL_AFTER, DOUBTFUL_AFTER)
        return again

    def _owned(self, deployment: Deployment, selector: LabelSelector) -> list[ReplicaSet]:
        uid = deployment.metadata.uid
        return [
            one
            for one in self._writes.over(self._replica_sets.by(uid), uid)
            if is_controlled_by(one, deployment) and selector.matches(one.metadata.labels)
        ]

    def _old_pods_run(self, deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> bool:
        if not is_recreate(deployment):
            return False
        old = [one for one in replica_sets if not same_template(one.spec.template, deployment.spec.template)]
        return any(
            one.status.replicas > 0 or any(not is_terminal(pod) for pod in self._pods.by(one.metadata.uid))
            for one in old
        )

    async def _carry_out(self, deployment: Deployment, draft: Deployment, step: Create | Update | Delete) -> Deployment:
        """Take one step; returns the draft with what is to be reported of it."""
        if isinstance(step, Create):
            return await self._create(deployment, draft, step.replica_set)
        if isinstance(step, Delete):
            doomed = step.replica_set.metadata
            with unless_gone():
                await self._client.delete(ReplicaSet, doomed.name, doomed.namespace, uid=doomed.uid)
            self._writes.deleted(step.replica_set, deployment.metadata.uid)
            return draft
        updated = await self._client.update(step.replica_set)
        self._writes.written(updated, deployment.metadata.uid)
        size = wanted(updated)
        if size != step.size_before:
            self._tell_size(deployment, updated, step.size_before, size)
        return draft

    async def _create(self, deployment: Deployment, draft: Deployment, replica_set: ReplicaSet) -> Deployment:
        try:
            made = await self._client.create(replica_set)
        except StatusError as error:
            if namespace_is_going(error):
                raise
            if is_already_exists(error):
                return await self._resolve_collision(deployment, draft, replica_set)
            message = f"Failed to create new replica set {quote(replica_set.metadata.name)}: {error}"
            failed = progress.creation_failed(draft, message, self._clock.now())
            await self._report(deployment, failed.status, 0)
            self._recorder.event(deployment, WARNING, progress.CREATE_ERROR, message)
            raise
        self._writes.written(made, deployment.metadata.uid)
        if wanted(made) > 0:
            self._tell_size(deployment, made, 0, wanted(made))
        return progress.created(draft, made, self._clock.now())

    async def _resolve_collision(self, deployment: Deployment, draft: Deployment, wish: ReplicaSet) -> Deployment:
        """Somebody has the name: ourselves, unseen so far; or another template of the same hash, so that the hash must
        change. Raises StatusError when the status cannot be written.
        """
        holder = await self._client.get(ReplicaSet, wish.metadata.name, wish.metadata.namespace)
        if is_controlled_by(holder, deployment) and same_template(holder.spec.template, deployment.spec.template):
            self._writes.written(holder, deployment.metadata.uid)
            return draft
        log.info("replica set name taken name=%s deployment=%s", wish.metadata.name, deployment.metadata.name)
        counted = codec.deepcopy(draft)
        counted.status.collision_count = (draft.status.collision_count or 0) + 1
        return counted

    def _tell_size(self, deployment: Deployment, replica_set: ReplicaSet, before: int, now: int) -> None:
        direction = "up" if now > before else "down"
        message = f"Scaled {direction} replica set {replica_set.metadata.name} from {before} to {now}"
        self._recorder.event(deployment, NORMAL, "ScalingReplicaSet", message)

    async def _refuse(self, deployment: Deployment) -> None:
        """An empty selector would select all pods of the namespace."""
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self._recorder.event(deployment, WARNING, "SelectingAll", message)
        if deployment.status.observed_generation < deployment.metadata.generation:
            status = codec.deepcopy(deployment.status)
            status.observed_generation = deployment.metadata.generation
            await self._report(deployment, status, 0)

    async def _report(self, deployment: Deployment, status: DeploymentStatus, revision: int) -> None:
        """Write status and revision if either changed; status writers may change annotations of a deployment."""
        shown = deployment.metadata.annotations.get(REVISION)
        revision_text = str(revision) if revision else shown
        if status == deployment.status and revision_text == shown:
            return
        changed = codec.deepcopy(deployment)
        changed.status = status
        if revision_text is not None:
            changed.metadata.annotations[REVISION] = revision_text
        with unless_gone():
            self._status_writes.written(await self._client.update_status(changed))


def _status(draft: Deployment, planned: Plan, now: float) -> DeploymentStatus:
    compute = rollout_status if planned.verdict else plain_status
    return compute(draft, planned.new, planned.old, now)
