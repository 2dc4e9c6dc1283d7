"""Looks at what the graph points out, asks the server how things really stand, and acts as `planning` decides."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import Reason, StatusError, is_not_found
from api.scheme import SCHEME
from client.clock import Clock
from client.controller import run_workers
from client.events import WARNING, Recorder
from client.informer import InformerFactory
from client.interface import Client, PatchKind
from client.workqueue import WorkQueue
from controlplane.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Node, Work
from controlplane.controllers.garbage.planning import Delete, Detach, Standing, decide
from controlplane.controllers.garbage.watching import Watches
from controlplane.controllers.refusals import unless_gone

COMPONENT = "garbage-collector-controller"
WORKERS = 10
_ABSENT_REMEMBERED = 500
_UNSEEN_AGAIN = 30.0  # seconds until an owner that exists but was never seen is asked after again

log = logging.getLogger(__name__)


class GarbageCollector:
    """Collects what nobody owns any more.

    `shared` are the kinds that the rest of the process watches as well.
    """

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        clock: Clock,
        recorder: Recorder,
        shared: Collection[type[meta.Object]],
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._graph = Graph()
        self._attempts: WorkQueue[str] = WorkQueue("garbage-attempts", clock=clock)
        self._orphans: WorkQueue[str] = WorkQueue("garbage-orphans", clock=clock)
        # UIDs are never used twice: once absent, absent for ever.
        self._absent: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._watches = Watches(client, informers, clock, shared, self._graph, self._follow)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watches.run(), name="garbage-watches")
            await self._watches.synced()
            group.create_task(run_workers(self._attempts, self._attempt, WORKERS), name="garbage-attempts")
            group.create_task(run_workers(self._orphans, self._set_free), name="garbage-orphans")

    def _follow(self, work: Work) -> None:
        for uid in work.attempt:
            self._attempts.add(uid)
        for uid in work.orphan:
            self._orphans.add(uid)
        for uid, owner in work.misplaced:
            self._tell_misplaced(uid, owner)

    def _tell_misplaced(self, uid: str, owner: str) -> None:
        node = self._graph.get(uid)
        reference = node.reference_to(owner) if node is not None else None
        if node is None or reference is None:
            return
        subject = core.ObjectReference(
            api_version=node.api_version, kind=node.kind, namespace=node.namespace, name=node.name, uid=node.uid
        )
        wrong = (
            f"[{reference.api_version}/{reference.kind}, namespace: {node.namespace}, "
            f"name: {reference.name}, uid: {reference.uid}]"
        )
        message = f'ownerRef {wrong} does not exist in namespace "{node.namespace}"'
        self._recorder.event(subject, WARNING, "OwnerRefInvalidNamespace", message)

    async def _attempt(self, uid: str) -> float | None:
        """See to one object, which may have to go."""
        node = self._graph.get(uid)
        if node is None:
            return None
        if not node.observed:
            return await self._verify(node)
        if node.being_deleted and not node.deletes_dependents:
            return None
        latest = await self._look_up(node)
        if latest is None:
            # Its own watch will say so; until then nothing depends on the news.
            return None
        if node.deletes_dependents:
            await self._wait_for_dependents(node)
            return None
        standings = [await self._standing(reference, node) for reference in latest.owner_references]
        dependents = self._graph.dependents(node)
        decision = decide(
            latest,
            standings,
            has_dependents=bool(dependents),
            in_circle=any(dependent.deletes_dependents for dependent in dependents),
        )
        if isinstance(decision, Detach):
            await self._detach(node, decision.uids)
        elif isinstance(decision, Delete):
            await self._delete(node, latest, decision)
        return None

    async def _verify(self, node: Node) -> float | None:
        """An owner known by reference alone: does it exist?"""
        resource = SCHEME.by_kind(node.api_version, node.kind)
        if resource is None:
            log.debug("owner of unknown kind kind=%s/%s name=%s", node.api_version, node.kind, node.name)
            return None
        # Clusterwide owners may be referred to from any namespace.
        namespace = node.namespace if resource.namespaced else ""
        if resource.namespaced and not namespace:
            return None
        if await self._exists(resource.type, namespace, node.name, node.uid):
            return _UNSEEN_AGAIN
        self._remember_absent(node.uid, namespace)
        self._follow(self._graph.forget(node.uid))
        return None

    async def _look_up(self, node: Node) -> meta.ObjectMeta | None:
        """The object as it is now on the server; None if it is gone."""
        if node.resource is None:
            return None
        try:
            live = await self._client.get(node.resource.type, node.name, node.namespace)
        except StatusError as error:
            if is_not_found(error):
                return None
            raise
        return live.metadata if live.metadata.uid == node.uid else None

    async def _standing(self, reference: meta.OwnerReference, node: Node) -> Standing:
        resource = SCHEME.by_kind(reference.api_version, reference.kind)
        if resource is None or (resource.namespaced and not node.namespace):
            return Standing.UNKNOWN
        namespace = node.namespace if resource.namespaced else ""
        if (reference.uid, namespace) in self._absent:
            return Standing.ABSENT
        owner = self._graph.get(reference.uid)
        seen = owner is not None and owner.observed and owner.namespace == namespace and owner.is_meant_by(reference)
        # Nothing is deleted on hearsay.
        if not seen and not await self._exists(resource.type, namespace, reference.name, reference.uid):
            self._remember_absent(reference.uid, namespace)
            return Standing.ABSENT
        return Standing.WAITING if owner is not None and owner.deletes_dependents else Standing.SOLID

    async def _exists(self, cls: type[meta.Object], namespace: str, name: str, uid: str) -> bool:
        try:
            return (await self._client.get(cls, name, namespace)).metadata.uid == uid
        except StatusError as error:
            if is_not_found(error):
                return False
            raise

    def _remember_absent(self, uid: str, namespace: str) -> None:
        self._absent[uid, namespace] = None
        if len(self._absent) > _ABSENT_REMEMBERED:
            self._absent.popitem(last=False)

    async def _wait_for_dependents(self, node: Node) -> None:
        """A foreground deletion: on with those that hold it up, and the end when there are none."""
        blocking = self._graph.blocking(node)
        if not blocking:
            await self._drop_finalizer(node, FOREGROUND)
            return
        for dependent in blocking:
            if not dependent.deletes_dependents:
                self._attempts.add(dependent.uid)

    async def _set_free(self, uid: str) -> None:
        """Take all references to an owner that orphans its dependents, then let it go."""
        node = self._graph.get(uid)
        if node is None:
            return
        for dependent in self._graph.dependents(node):
            await self._detach(dependent, (uid,))
        await self._drop_finalizer(node, ORPHAN)

    async def _detach(self, node: Node, owners: Collection[str]) -> None:
        references = [{"$patch": "delete", "uid": uid} for uid in owners]
        await self._patch_owners(node, references)

    async def _patch_owners(self, node: Node, references: list[dict[str, Any]]) -> None:
        if node.resource is None:
            return
        change = {"metadata": {"uid": node.uid, "ownerReferences": references}}
        try:
            with unless_gone():
                await self._client.patch(node.resource.type, node.name, change, node.namespace)
        except StatusError as error:
            # What remains is no valid set of owners: not ours to repair, and no reason to hold the owner up.
            if error.reason != Reason.INVALID:
                raise

    async def _drop_finalizer(self, node: Node, finalizer: str) -> None:
        latest = await self._look_up(node)
        if latest is None or node.resource is None or finalizer not in latest.finalizers:
            return
        kept = [name for name in latest.finalizers if name != finalizer]
        change = {"metadata": {"resourceVersion": latest.resource_version, "finalizers": kept}}
        with unless_gone():
            await self._client.patch(node.resource.type, node.name, change, node.namespace, kind=PatchKind.MERGE)

    async def _delete(self, node: Node, latest: meta.ObjectMeta, decision: Delete) -> None:
        if node.resource is None:
            return
        blocked = [reference.uid for reference in latest.owner_references if reference.block_owner_deletion]
        if decision.unblock and blocked:
            await self._patch_owners(node, [{"uid": uid, "blockOwnerDeletion": False} for uid in blocked])
            # The object has a new version now: the next look deletes it.
            self._attempts.add(node.uid)
            return
        log.debug("collect kind=%s namespace=%s name=%s", node.kind, node.namespace, node.name)
        with unless_gone():
            await self._client.delete(
                node.resource.type,
                node.name,
                node.namespace,
                uid=node.uid,
                resource_version=latest.resource_version,
                propagation=decision.propagation,
            )
