"""Every namespace has a service account `default`: pods that name none run under it.

Knows namespaces and accounts, nothing of tokens.
"""

from __future__ import annotations

from api import core_v1 as core
from api import meta_v1 as meta
from client.clock import Clock
from client.controller import run_workers
from client.informer import InformerFactory
from client.interface import Client
from client.workqueue import WorkQueue
from controlplane.controllers.refusals import unless_exists_or_going

DEFAULT_ACCOUNT = "default"


def missing_account(
    namespace: core.Namespace | None, account: core.ServiceAccount | None
) -> core.ServiceAccount | None:
    """The account that a namespace lacks; None when it lacks none or will be gone soon."""
    if namespace is None or account is not None or namespace.metadata.deletion_timestamp is not None:
        return None
    return core.ServiceAccount(
        metadata=meta.ObjectMeta(name=DEFAULT_ACCOUNT, namespace=namespace.metadata.name),
    )


class ServiceAccountController:
    """Makes the default account wherever it is missing."""

    def __init__(self, client: Client, informers: InformerFactory, clock: Clock) -> None:
        self._client = client
        self._namespaces = informers.informer(core.Namespace)
        self._accounts = informers.informer(core.ServiceAccount, field_selector=f"metadata.name={DEFAULT_ACCOUNT}")
        self._queue: WorkQueue[str] = WorkQueue("service-accounts", clock=clock)
        self._namespaces.add_handler(self._namespace_seen, lambda _, new: self._namespace_seen(new))
        self._accounts.add_handler(on_delete=lambda account: self._queue.add(account.metadata.namespace))

    async def run(self) -> None:
        """Work until cancelled."""
        await self._namespaces.synced()
        await self._accounts.synced()
        await run_workers(self._queue, self._reconcile)

    def _namespace_seen(self, namespace: core.Namespace) -> None:
        self._queue.add(namespace.metadata.name)

    async def _reconcile(self, name: str) -> None:
        account = missing_account(self._namespaces.get("", name), self._accounts.get(name, DEFAULT_ACCOUNT))
        if account is None:
            return
        with unless_exists_or_going():
            await self._client.create(account)
