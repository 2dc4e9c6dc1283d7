"""TaintNodesByCondition: a new node takes no pods until a controller has seen that it is ready.

Without this a node would get pods in the moment between its registration and its first status.
"""

from __future__ import annotations

from api import core_v1 as core
from api.errors import GroupName
from controlplane.apiserver.admission.attributes import CREATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin

NOT_READY = "node.kubernetes.io/not-ready"


class TaintNodesByCondition(Plugin):
    """Puts the not-ready taint on new nodes."""

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == CREATE and resource == ("", "nodes") and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        node: core.Node = attributes.new
        if not any(taint.key == NOT_READY and taint.effect == "NoSchedule" for taint in node.spec.taints):
            node.spec.taints = [*node.spec.taints, core.Taint(key=NOT_READY, effect="NoSchedule")]
