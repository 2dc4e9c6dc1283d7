"""The ClusterRoles for users, nodes and the parts of the control plane, and who is bound to them.

Names and rules are upstream's
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings), since charts and
tools refer to them; roles for add-ons that are gone (heapster) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from api import rbac_v1 as rbac
from controlplane.apiserver.bootstrap.rules import (
    CORE,
    READ,
    READ_WRITE,
    WRITE,
    aggregated_role,
    binding,
    cluster_binding,
    cluster_role,
    events,
    group,
    role,
    rule,
    service_account,
    urls,
    user,
)

_TO = "rbac.authorization.k8s.io/aggregate-to-"
_AUTHN, _AUTHZ = "authentication.k8s.io", "authorization.k8s.io"
_CERTIFICATES, _COORDINATION = "certificates.k8s.io", "coordination.k8s.io"
_DISCOVERY, _NETWORKING, _RESOURCE = "discovery.k8s.io", "networking.k8s.io", "resource.k8s.io"
_RBAC, _STORAGE = "rbac.authorization.k8s.io", "storage.k8s.io"

_SYSTEM = "kube-system"
_HEALTH = "/healthz /livez /readyz /version /version/"

# The people's roles, in pieces: what ``view`` may read, what ``edit`` may change besides, what ``admin`` may grant.
_WORKLOADS = "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"


def cluster_roles() -> Iterator[rbac.ClusterRole]:
    """Every ClusterRole but those of the controllers."""
    yield cluster_role("cluster-admin", rule("*", "*", "*"), urls("*", "*"))
    yield from _for_everyone()
    yield from _for_people()
    yield from _for_delegation()
    yield from _for_nodes()
    yield from _for_components()


def _for_everyone() -> Iterator[rbac.ClusterRole]:
    yield cluster_role("system:discovery", urls("get", f"{_HEALTH} /openapi /openapi/* /api /api/* /apis /apis/*"))
    yield cluster_role("system:public-info-viewer", urls("get", _HEALTH))
    yield cluster_role(
        "system:basic-user",
        rule("create", _AUTHZ, "selfsubjectaccessreviews selfsubjectrulesreviews"),
        rule("create", _AUTHN, "selfsubjectreviews"),
    )
    yield cluster_role(
        "system:monitoring",
        urls("get", "/healthz /healthz/* /livez /livez/* /readyz /readyz/* /metrics /metrics/slis"),
    )
    yield cluster_role(
        "system:service-account-issuer-discovery", urls("get", "/.well-known/openid-configuration /openid/v1/jwks")
    )


def _for_people() -> Iterator[rbac.ClusterRole]:
    yield aggregated_role("admin", f"{_TO}admin")
    yield aggregated_role("edit", f"{_TO}edit", {f"{_TO}admin": "true"})
    yield aggregated_role("view", f"{_TO}view", {f"{_TO}edit": "true"})
    yield cluster_role(
        "system:aggregate-to-admin",
        rule("create", _AUTHZ, "localsubjectaccessreviews"),
        rule(READ_WRITE, _RBAC, "roles rolebindings"),
        labels={f"{_TO}admin": "true"},
    )
    yield cluster_role(
        "system:aggregate-to-edit",
        rule(READ, CORE, "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
        rule("impersonate", CORE, "serviceaccounts"),
        rule(WRITE, CORE, "pods pods/attach pods/proxy pods/exec pods/portforward"),
        rule("create", CORE, "pods/eviction"),
        rule(
            WRITE,
            CORE,
            "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
            "secrets serviceaccounts services services/proxy",
        ),
        rule("create", CORE, "serviceaccounts/token"),
        rule(WRITE, "apps", f"{_WORKLOADS} deployments/rollback"),
        rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
        rule(WRITE, "batch", "cronjobs jobs"),
        rule(
            WRITE,
            "extensions",
            "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies "
            "replicasets replicasets/scale replicationcontrollers/scale",
        ),
        rule(WRITE, "policy", "poddisruptionbudgets"),
        rule(WRITE, _NETWORKING, "ingresses networkpolicies"),
        rule(READ_WRITE, _COORDINATION, "leases"),
        rule(WRITE, _RESOURCE, "resourceclaims resourceclaimtemplates"),
        labels={f"{_TO}edit": "true"},
    )
    yield cluster_role(
        "system:aggregate-to-view",
        rule(
            READ,
            CORE,
            "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers "
            "replicationcontrollers/scale serviceaccounts services services/status",
        ),
        rule(
            READ,
            CORE,
            "bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
            "resourcequotas resourcequotas/status",
        ),
        rule(READ, CORE, "namespaces"),
        rule(READ, _DISCOVERY, "endpointslices"),
        rule(
            READ,
            "apps",
            f"{_WORKLOADS} controllerrevisions daemonsets/status deployments/status replicasets/status "
            "statefulsets/status",
        ),
        rule(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
        rule(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
        rule(
            READ,
            "extensions",
            "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
            "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
            "replicationcontrollers/scale",
        ),
        rule(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
        rule(READ, _NETWORKING, "ingresses ingresses/status networkpolicies"),
        rule(READ, _RESOURCE, "resourceclaims resourceclaims/status resourceclaimtemplates"),
        labels={f"{_TO}view": "true"},
    )


def _for_delegation() -> Iterator[rbac.ClusterRole]:
    yield cluster_role(
        "system:auth-delegator",
        rule("create", _AUTHN, "tokenreviews"),
        rule("create", _AUTHZ, "subjectaccessreviews"),
    )
    yield cluster_role(
        "system:kubelet-api-admin",
        rule(READ, CORE, "nodes"),
        rule("proxy", CORE, "nodes"),
        rule(
            "*",
            CORE,
            "nodes/checkpoint nodes/configz nodes/healthz nodes/log nodes/metrics nodes/pods nodes/proxy nodes/stats",
        ),
    )
    prefix = "system:certificates.k8s.io:"
    for kind in ("nodeclient", "selfnodeclient"):
        resource = f"certificatesigningrequests/{kind}"
        yield cluster_role(f"{prefix}certificatesigningrequests:{kind}", rule("create", _CERTIFICATES, resource))
    for signer, short in (
        ("kubernetes.io/legacy-unknown", "legacy-unknown"),
        ("kubernetes.io/kubelet-serving", "kubelet-serving"),
        ("kubernetes.io/kube-apiserver-client", "kube-apiserver-client"),
        ("kubernetes.io/kube-apiserver-client-kubelet", "kube-apiserver-client-kubelet"),
    ):
        yield cluster_role(f"{prefix}{short}-approver", rule("approve", _CERTIFICATES, "signers", signer))


def node_rules() -> list[rbac.PolicyRule]:
    """What a node may do that does not depend on which node it is; the node authorizer decides the rest."""
    return [
        rule("create", _AUTHN, "tokenreviews"),
        rule("create", _AUTHZ, "subjectaccessreviews localsubjectaccessreviews"),
        rule(READ, CORE, "services"),
        rule(f"create {READ}", CORE, "nodes"),
        rule("update patch", CORE, "nodes/status"),
        rule("update patch", CORE, "nodes"),
        rule("create update patch", CORE, "events"),
        rule(READ, CORE, "pods"),
        rule("create delete", CORE, "pods"),
        rule("update patch", CORE, "pods/status"),
        rule("create", CORE, "pods/eviction"),
        rule(READ, CORE, "secrets configmaps"),
        rule("get", CORE, "persistentvolumeclaims persistentvolumes"),
        rule("get", CORE, "endpoints"),
        rule(f"create {READ}", _CERTIFICATES, "certificatesigningrequests"),
        rule("get create update patch delete", _COORDINATION, "leases"),
        rule("get", _STORAGE, "volumeattachments"),
        rule("create", CORE, "serviceaccounts/token"),
        rule("get update patch", CORE, "persistentvolumeclaims/status"),
        rule(READ, _STORAGE, "csidrivers"),
        rule("get create update patch delete", _STORAGE, "csinodes"),
        rule(READ, "node.k8s.io", "runtimeclasses"),
        rule("get", _RESOURCE, "resourceclaims"),
    ]


def _for_nodes() -> Iterator[rbac.ClusterRole]:
    yield cluster_role("system:node", *node_rules())
    yield cluster_role("system:node-bootstrapper", rule(f"create {READ}", _CERTIFICATES, "certificatesigningrequests"))
    yield cluster_role(
        "system:node-problem-detector", rule("get", CORE, "nodes"), rule("patch", CORE, "nodes/status"), events()
    )
    yield cluster_role(
        "system:node-proxier",
        rule("list watch", CORE, "endpoints services"),
        rule(READ, CORE, "nodes"),
        events(),
        rule("list watch", _DISCOVERY, "endpointslices"),
        rule("list watch", _NETWORKING, "servicecidrs"),
    )


def _for_components() -> Iterator[rbac.ClusterRole]:
    yield cluster_role("system:kube-aggregator", rule(READ, CORE, "endpoints services"))
    yield cluster_role(
        "system:kube-controller-manager",
        events(),
        rule("create", _COORDINATION, "leases"),
        rule("get update", _COORDINATION, "leases", "kube-controller-manager"),
        rule("create", CORE, "secrets serviceaccounts"),
        rule("delete", CORE, "secrets"),
        rule("get", CORE, "configmaps namespaces secrets serviceaccounts"),
        rule("update", CORE, "secrets serviceaccounts"),
        rule("create", _AUTHN, "tokenreviews"),
        rule("create", _AUTHZ, "subjectaccessreviews"),
        rule("list watch", "*", "*"),
        rule("create", CORE, "serviceaccounts/token"),
    )
    yield cluster_role("system:kube-dns", rule("list watch", CORE, "endpoints services"))
    yield cluster_role(
        "system:kube-scheduler",
        events(),
        rule("create", _COORDINATION, "leases"),
        rule("get update", _COORDINATION, "leases", "kube-scheduler"),
        rule(READ, CORE, "nodes"),
        rule(f"delete {READ}", CORE, "pods"),
        rule("create", CORE, "bindings pods/binding"),
        rule("patch update", CORE, "pods/status"),
        rule(READ, CORE, "replicationcontrollers services"),
        rule(READ, "apps extensions", "replicasets"),
        rule(READ, "apps", "statefulsets"),
        rule(READ, "policy", "poddisruptionbudgets"),
        rule(READ, CORE, "persistentvolumeclaims persistentvolumes"),
        rule("create", _AUTHN, "tokenreviews"),
        rule("create", _AUTHZ, "subjectaccessreviews"),
        rule(READ, _STORAGE, "csinodes"),
        rule(READ, CORE, "namespaces"),
        rule(READ, _STORAGE, "csidrivers"),
        rule(READ, _STORAGE, "csistoragecapacities"),
        rule(READ, _STORAGE, "volumeattachments"),
        rule(READ, _RESOURCE, "deviceclasses resourceclaims resourceslices"),
        rule("patch update", _RESOURCE, "resourceclaims resourceclaims/status"),
    )
    yield cluster_role(
        "system:volume-scheduler",
        rule(f"{READ} patch update", CORE, "persistentvolumes"),
        rule(READ, _STORAGE, "storageclasses"),
        rule(f"{READ} patch update", CORE, "persistentvolumeclaims"),
    )
    yield cluster_role(
        "system:persistent-volume-provisioner",
        rule(f"create delete {READ}", CORE, "persistentvolumes"),
        rule(f"update {READ}", CORE, "persistentvolumeclaims"),
        rule(READ, _STORAGE, "storageclasses"),
        rule("watch", CORE, "events"),
        events(),
    )


def cluster_bindings() -> Iterator[rbac.ClusterRoleBinding]:
    """Who holds these roles in the whole cluster."""
    yield cluster_binding("cluster-admin", group("system:masters"))
    yield cluster_binding("system:monitoring", group("system:monitoring"))
    yield cluster_binding("system:discovery", group("system:authenticated"))
    yield cluster_binding("system:basic-user", group("system:authenticated"))
    yield cluster_binding("system:public-info-viewer", group("system:authenticated"), group("system:unauthenticated"))
    yield cluster_binding("system:service-account-issuer-discovery", group("system:serviceaccounts"))
    # The node authorizer decides for nodes: the role is there for those who would rather bind it.
    yield cluster_binding("system:node")
    yield cluster_binding("system:node-proxier", user("system:kube-proxy"))
    yield cluster_binding("system:kube-controller-manager", user("system:kube-controller-manager"))
    yield cluster_binding("system:kube-dns", service_account(_SYSTEM, "kube-dns"))
    yield cluster_binding("system:kube-scheduler", user("system:kube-scheduler"))
    yield cluster_binding("system:volume-scheduler", user("system:kube-scheduler"))


_AUTHENTICATION_READER = "extension-apiserver-authentication-reader"


def roles() -> Iterator[rbac.Role]:
    """The roles within kube-system."""
    yield role(_SYSTEM, _AUTHENTICATION_READER, rule(READ, CORE, "configmaps", "extension-apiserver-authentication"))
    for component in ("kube-controller-manager", "kube-scheduler"):
        yield role(
            _SYSTEM,
            f"system::leader-locking-{component}",
            rule("watch", CORE, "configmaps"),
            rule("get update", CORE, "configmaps", component),
        )


def bindings() -> Iterator[rbac.RoleBinding]:
    """Who holds them."""
    yield binding(
        _SYSTEM,
        f"system::{_AUTHENTICATION_READER}",
        user("system:kube-controller-manager"),
        user("system:kube-scheduler"),
        role_name=_AUTHENTICATION_READER,
    )
    for component in ("kube-controller-manager", "kube-scheduler"):
        yield binding(
            _SYSTEM,
            f"system::leader-locking-{component}",
            user(f"system:{component}"),
            service_account(_SYSTEM, component),
        )
