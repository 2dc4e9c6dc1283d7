"""The ClusterRoles of the controllers, one each.

Upstream runs every controller under a service account of its own in kube-system. Ours share one process and one
client certificate, so each role is bound to the user ``system:kube-controller-manager`` as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from api import rbac_v1 as rbac
from controlplane.apiserver.bootstrap.rules import (
    CORE,
    READ,
    cluster_binding,
    cluster_role,
    events,
    rule,
    service_account,
    user,
)

_PREFIX = "system:controller:"
_APPS = "apps extensions"
_RBAC = "rbac.authorization.k8s.io"


def controller_roles() -> Iterator[rbac.ClusterRole]:
    """What each controller may do."""
    yield _role("clusterrole-aggregation-controller", rule(f"escalate patch update {READ}", _RBAC, "clusterroles"))
    yield _role(
        "deployment-controller",
        rule(f"update {READ}", _APPS, "deployments"),
        rule("update", _APPS, "deployments/status"),
        rule("update", _APPS, "deployments/finalizers"),
        rule(f"create delete patch update {READ}", _APPS, "replicasets"),
        rule(f"update {READ}", CORE, "pods"),
        events(),
    )
    yield _role("generic-garbage-collector", rule(f"delete patch update {READ}", "*", "*"), events())
    yield _role(
        "namespace-controller",
        rule(f"delete {READ}", CORE, "namespaces"),
        rule("update", CORE, "namespaces/finalize namespaces/status"),
        rule(f"delete deletecollection {READ}", "*", "*"),
    )
    yield _role(
        "node-controller",
        rule(f"delete patch update {READ}", CORE, "nodes"),
        rule("patch update", CORE, "nodes/status"),
        rule("patch update", CORE, "pods/status"),
        rule(f"delete {READ}", CORE, "pods"),
        events(),
    )
    yield _role(
        "pod-garbage-collector",
        rule("delete list watch", CORE, "pods"),
        rule(READ, CORE, "nodes"),
        rule("patch", CORE, "pods/status"),
    )
    yield _role(
        "replicaset-controller",
        rule(f"update {READ}", _APPS, "replicasets"),
        rule("update", _APPS, "replicasets/status"),
        rule("update", _APPS, "replicasets/finalizers"),
        rule("create delete list patch watch", CORE, "pods"),
        events(),
    )
    yield _role("root-ca-cert-publisher", rule("create update", CORE, "configmaps"), events())
    yield _role("service-account-controller", rule("create", CORE, "serviceaccounts"), events())


def controller_bindings() -> Iterator[rbac.ClusterRoleBinding]:
    """Each role to its service account, and to the user the controllers run as."""
    for role in controller_roles():
        account = service_account("kube-system", role.metadata.name.removeprefix(_PREFIX))
        yield cluster_binding(role.metadata.name, account, user("system:kube-controller-manager"))


def _role(name: str, *rules: rbac.PolicyRule) -> rbac.ClusterRole:
    return cluster_role(f"{_PREFIX}{name}", *rules)
