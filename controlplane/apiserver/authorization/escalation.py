"""Nobody hands out permissions they do not hold (privilege escalation through roles and bindings).

A user who may write a Role could otherwise give themselves anything. Upstream checks in the storage of the RBAC
kinds; here it is the last step of admission, after all mutation. Exempt are superusers, who may ``escalate`` a role,
and who may ``bind`` one
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping).
"""

from __future__ import annotations

from api import errors
from api import rbac_v1 as rbac
from api.codec import to_builtins
from api.meta_v1 import Object
from api.rendering import quote
from controlplane.apiserver.authorization.authorizer import PRIVILEGED_GROUP, Authorizer
from controlplane.apiserver.authorization.rbac import GROUP
from controlplane.apiserver.authorization.rules import EVERYTHING, compact, describe, quote_all, uncovered
from controlplane.apiserver.request import RequestInfo, User


class EscalationCheck:
    """Judges the write of one role or binding by what its author holds."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def check(self, user: User, new: Object, old: Object | None) -> None:
        """Raise 403 if *user* would grant more than they hold; *old* is None on creation."""
        if PRIVILEGED_GROUP in user.groups or (old is not None and _only_for_collector(new, old)):
            return
        if isinstance(new, rbac.Role | rbac.ClusterRole):
            self._check_role(user, new, old)
        elif isinstance(new, rbac.RoleBinding | rbac.ClusterRoleBinding):
            self._check_binding(user, new)

    def _check_role(self, user: User, new: rbac.Role | rbac.ClusterRole, old: Object | None) -> None:
        resource = "clusterroles" if isinstance(new, rbac.ClusterRole) else "roles"
        if self._may(user, "escalate", resource, new.metadata.namespace, new.metadata.name):
            return
        self._confirm(user, resource, new.metadata.namespace, new.metadata.name, new.rules)
        # An aggregation rule can gather anything that is ever created, so only who has everything may set or change
        # one.
        aggregates = isinstance(new, rbac.ClusterRole) and new.aggregation_rule is not None
        aggregated = isinstance(old, rbac.ClusterRole) and old.aggregation_rule is not None
        if (aggregates or aggregated) and uncovered(self._authorizer.rbac.rules_for(user, "")[0], EVERYTHING):
            raise errors.forbidden(
                errors.GroupName(GROUP, resource),
                new.metadata.name,
                "must have cluster-admin privileges to use the aggregationRule",
            )

    def _check_binding(self, user: User, new: rbac.RoleBinding | rbac.ClusterRoleBinding) -> None:
        namespace, reference = new.metadata.namespace, new.role_ref
        roles = "clusterroles" if reference.kind == "ClusterRole" else "roles"
        if self._may(user, "bind", roles, namespace, reference.name):
            return
        resource = "clusterrolebindings" if isinstance(new, rbac.ClusterRoleBinding) else "rolebindings"
        rules = self._authorizer.rbac.rules_of(reference, namespace)
        self._confirm(user, resource, namespace, new.metadata.name, rules)

    def _confirm(self, user: User, resource: str, namespace: str, name: str, rules: list[rbac.PolicyRule]) -> None:
        held, problems = self._authorizer.rbac.rules_for(user, namespace)
        missing = uncovered(held, rules)
        if not missing:
            return
        lines = "\n".join(sorted({describe(rule) for rule in compact(missing)}))
        message = (
            f"user {quote(user.name)} (groups={quote_all(user.groups)}) is attempting to grant RBAC permissions "
            f"not currently held:\n{lines}"
        )
        if problems:
            message += f"; resolution errors: [{', '.join(problems)}]"
        raise errors.forbidden(errors.GroupName(GROUP, resource), name, message)

    def _may(self, user: User, verb: str, resource: str, namespace: str, name: str) -> bool:
        info = RequestInfo(verb, GROUP, "v1", resource, namespace=namespace, name=name, is_resource=True)
        return self._authorizer.authorize(user, info).allowed


def _only_for_collector(new: Object, old: Object) -> bool:
    """Whether nothing changed but what lets the garbage collector delete the object: owners and finalizers."""
    return _without_collector_fields(new) == _without_collector_fields(old)


def _without_collector_fields(item: Object) -> dict[str, object]:
    data: dict[str, object] = dict(to_builtins(item))
    metadata = data.get("metadata")
    if isinstance(metadata, dict):
        passing = ("ownerReferences", "finalizers", "resourceVersion", "managedFields", "generation", "selfLink")
        data["metadata"] = {key: value for key, value in metadata.items() if key not in passing}
    return data
