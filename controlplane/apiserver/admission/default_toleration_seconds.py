"""DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached.

Pods that say otherwise, daemons among them, are left as they are.
"""

from __future__ import annotations

from api import core_v1 as core
from api.errors import GroupName
from controlplane.apiserver.admission.attributes import CREATE, UPDATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin

TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SECONDS = 300


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations where a pod has none for these taints."""

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation in (CREATE, UPDATE) and resource == ("", "pods") and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        spec = attributes.new.spec
        missing = [taint for taint in TAINTS if not any(_tolerates(item, taint) for item in spec.tolerations)]
        if missing:
            added = (
                core.Toleration(key=taint, operator="Exists", effect="NoExecute", toleration_seconds=SECONDS)
                for taint in missing
            )
            spec.tolerations = [*spec.tolerations, *added]


def _tolerates(toleration: core.Toleration, taint: str) -> bool:
    return toleration.key in (taint, "") and toleration.effect in ("NoExecute", "")
