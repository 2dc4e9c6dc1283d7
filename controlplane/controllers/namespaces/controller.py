"""Watches for namespaces that are being deleted, empties them, and takes the finalizer away when they are empty."""

from __future__ import annotations

import logging

from api import codec
from api import core_v1 as core
from client.clock import Clock
from client.controller import run_workers
from client.informer import InformerFactory
from client.interface import Client
from client.workqueue import RetryLimiter, WorkQueue
from controlplane.controllers.namespaces.conditions import Leftovers, conditions_of
from controlplane.controllers.namespaces.contents import delete_contents
from controlplane.controllers.refusals import unless_gone

FINALIZER = "kubernetes"
WORKERS = 3

log = logging.getLogger(__name__)


class NamespaceController:
    """Carries namespaces to their end."""

    def __init__(self, client: Client, informers: InformerFactory, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._namespaces = informers.informer(core.Namespace)
        self._pods = informers.informer(core.Pod)
        # Emptying takes many calls: a namespace that resists is tried less often than other things are.
        limiter: RetryLimiter[str] = RetryLimiter(first=0.25, limit=60.0)
        self._queue: WorkQueue[str] = WorkQueue("namespaces", clock=clock, limiter=limiter)
        self._namespaces.add_handler(self._namespace_seen, lambda _, new: self._namespace_seen(new))
        self._pods.add_handler(on_delete=self._pod_gone)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._namespaces.synced()
        await self._pods.synced()
        await run_workers(self._queue, self._reconcile, WORKERS)

    def _namespace_seen(self, namespace: core.Namespace) -> None:
        if namespace.metadata.deletion_timestamp is not None and FINALIZER in namespace.spec.finalizers:
            self._queue.add(namespace.metadata.name)

    def _pod_gone(self, pod: core.Pod) -> None:
        """With its last pod, a namespace that is being deleted has waited long enough."""
        namespace = self._namespaces.get("", pod.metadata.namespace)
        if namespace is not None and not self._pods.list(pod.metadata.namespace):
            self._namespace_seen(namespace)

    async def _reconcile(self, name: str) -> float | None:
        namespace = self._namespaces.get("", name)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return None
        if FINALIZER not in namespace.spec.finalizers:
            return None
        left = await delete_contents(self._client, self._clock, namespace)
        with unless_gone():
            namespace = await self._report(namespace, left)
            if left.failures:
                raise left.failures[0]
            if left.empty:
                await self._finalize(namespace)
                return None
        return left.seconds / 2 + 1

    async def _report(self, namespace: core.Namespace, left: Leftovers) -> core.Namespace:
        """Write the conditions. A namespace that is empty at the first look has nothing to report but its end."""
        conditions = conditions_of(namespace.status.conditions, left, self._clock.now())
        if conditions == namespace.status.conditions or (left.empty and not namespace.status.conditions):
            return namespace
        changed = codec.deepcopy(namespace)
        changed.status.conditions = conditions
        return await self._client.update_status(changed)

    async def _finalize(self, namespace: core.Namespace) -> None:
        finalized = codec.deepcopy(namespace)
        finalized.spec.finalizers = [name for name in namespace.spec.finalizers if name != FINALIZER]
        await self._client.update_subresource(finalized, "finalize")
        log.info("namespace emptied name=%s", namespace.metadata.name)
