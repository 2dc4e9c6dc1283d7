"""The check against privilege escalation, as the last step of admission.

Upstream has no plugin of this name: there the storage of roles and bindings does it. It has to come after every
change to the object, and admission is where the author of a write is known.
"""

from __future__ import annotations

from api.errors import GroupName
from controlplane.apiserver.admission.attributes import CREATE, UPDATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.authorization.escalation import EscalationCheck
from controlplane.apiserver.authorization.rbac import GROUP

_KINDS = frozenset({"roles", "clusterroles", "rolebindings", "clusterrolebindings"})


class RoleEscalation(Plugin):
    """Refuses roles and bindings that grant more than their author holds."""

    def __init__(self, check: EscalationCheck) -> None:
        self._check = check

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation in (CREATE, UPDATE) and resource.group == GROUP and resource.name in _KINDS

    async def validate(self, attributes: Attributes) -> None:
        self._check.check(attributes.user, attributes.new, attributes.old)
