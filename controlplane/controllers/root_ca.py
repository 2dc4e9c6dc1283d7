"""Every namespace has the cluster's CA in a config map, so that pods can tell the API server from a stranger.

Pods get it by way of their projected service-account volume. A copy that was changed is put right again.
"""

from __future__ import annotations

from api import codec
from api import core_v1 as core
from api import meta_v1 as meta
from client.clock import Clock
from client.controller import run_workers
from client.informer import InformerFactory
from client.interface import Client
from client.workqueue import WorkQueue
from controlplane.controllers.refusals import unless_exists_or_going, unless_gone

CONFIG_MAP = "kube-root-ca.crt"
KEY = "ca.crt"
DESCRIPTION = "kubernetes.io/description"
DESCRIPTION_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def due_config_map(
    namespace: core.Namespace | None, present: core.ConfigMap | None, root_ca: str
) -> core.ConfigMap | None:
    """The config map to write: a new one, or the present one put right. None when all is well, or soon gone."""
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        return None
    data = {KEY: root_ca}
    if present is None:
        return core.ConfigMap(
            metadata=meta.ObjectMeta(
                name=CONFIG_MAP,
                namespace=namespace.metadata.name,
                annotations={DESCRIPTION: DESCRIPTION_TEXT},
            ),
            data=data,
        )
    if present.data == data and present.metadata.annotations.get(DESCRIPTION):
        return None
    healed = codec.deepcopy(present)
    healed.data = data
    healed.metadata.annotations[DESCRIPTION] = DESCRIPTION_TEXT
    return healed


class RootCaController:
    """Publishes the CA bundle (PEM) into every namespace."""

    def __init__(self, client: Client, informers: InformerFactory, clock: Clock, root_ca: bytes) -> None:
        self._client = client
        self._root_ca = root_ca.decode("ascii")
        self._namespaces = informers.informer(core.Namespace)
        self._config_maps = informers.informer(core.ConfigMap, field_selector=f"metadata.name={CONFIG_MAP}")
        self._queue: WorkQueue[str] = WorkQueue("root-ca", clock=clock)
        self._namespaces.add_handler(self._namespace_seen, lambda _, new: self._namespace_seen(new))
        self._config_maps.add_handler(
            on_update=lambda _, new: self._queue.add(new.metadata.namespace),
            on_delete=lambda gone: self._queue.add(gone.metadata.namespace),
        )

    async def run(self) -> None:
        """Work until cancelled."""
        await self._namespaces.synced()
        await self._config_maps.synced()
        await run_workers(self._queue, self._reconcile)

    def _namespace_seen(self, namespace: core.Namespace) -> None:
        self._queue.add(namespace.metadata.name)

    async def _reconcile(self, name: str) -> None:
        present = self._config_maps.get(name, CONFIG_MAP)
        due = due_config_map(self._namespaces.get("", name), present, self._root_ca)
        if due is None:
            return
        if present is None:
            with unless_exists_or_going():
                await self._client.create(due)
        else:
            with unless_gone():
                await self._client.update(due)
