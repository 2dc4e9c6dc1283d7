"""ComponentStatus: the deprecated way to ask how the control plane is. Of its parts this server knows the store."""

from __future__ import annotations

from api import codec, errors
from api import core_v1 as core
from api import meta_v1 as meta
from controlplane.apiserver import replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.tabular import render_reply
from controlplane.store.interface import Store

#: The name under which people look for the store.
_STORE = "etcd-0"


class Components:
    """Answers get and list."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, exchange: Exchange) -> Reply:
        """Answer a GET of one component."""
        output = replies.output_of(exchange)
        if exchange.info.name != _STORE:
            raise errors.not_found("componentstatuses", exchange.info.name)
        component = self._look()
        if output.transform is not None and output.transform.kind == "Table":
            return render_reply(core.ComponentStatus, exchange, output, [component], {})
        return replies.object_reply(exchange, output, codec.encode(component))

    async def list(self, exchange: Exchange) -> Reply:
        """Answer a GET of all components."""
        output = replies.output_of(exchange)
        if output.transform is not None and output.transform.kind == "Table":
            return render_reply(core.ComponentStatus, exchange, output, [self._look()], {})
        return replies.reply(exchange, output, codec.encode(core.ComponentStatusList(items=[self._look()])))

    def _look(self) -> core.ComponentStatus:
        healthy = self._store.revision > 0
        condition = core.ComponentCondition(
            type="Healthy", status="True" if healthy else "False", message="ok" if healthy else "the store is closed"
        )
        return core.ComponentStatus(metadata=meta.ObjectMeta(name=_STORE), conditions=[condition])
