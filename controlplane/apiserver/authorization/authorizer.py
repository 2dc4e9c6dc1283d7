"""The chain of authorizers every request goes through: superusers, nodes, roles.

The order is upstream's ``--authorization-mode=Node,RBAC``: the first that allows wins, and when none does, what each
had to say is joined into the reason of the refusal.
"""

from __future__ import annotations

from controlplane.apiserver.authorization.decisions import Decision
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import RequestInfo, User

PRIVILEGED_GROUP = "system:masters"
_SUPERUSER = Decision(True)


class Authorizer:
    """Decides whether a user may do what a request asks. Synchronous, and microseconds when asked again."""

    def __init__(self, rbac: RbacAuthorizer, node: NodeAuthorizer) -> None:
        self.rbac = rbac
        self._node = node

    def authorize(self, user: User, info: RequestInfo) -> Decision:
        """The decision; `decisions.forbidden` turns a refusal into the 403 to answer with."""
        if PRIVILEGED_GROUP in user.groups:
            return _SUPERUSER
        first = self._node.authorize(user, info)
        if first.allowed:
            return first
        second = self.rbac.authorize(user, info)
        if second.allowed or not first.reason:
            return second
        return Decision(False, ", ".join(filter(None, (first.reason, second.reason))))
