"""Types of rbac/v1, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Atomic, Required, Struct, always, atomic, constant, wire

DEFINITIONS = "io.k8s.api.rbac.v1"


class PolicyRule(Struct):
    verbs: Required[Atomic[list[str]]] = always(list)
    api_groups: Atomic[list[str]] = []
    resources: Atomic[list[str]] = []
    resource_names: Atomic[list[str]] = []
    non_resource_urls: Atomic[list[str]] = wire("nonResourceURLs", [])


@atomic
class Subject(Struct):
    kind: Required[str] = always(str)
    api_group: str = ""
    name: Required[str] = always(str)
    namespace: str = ""


@atomic
class RoleRef(Struct):
    api_group: str = always(str)
    kind: Required[str] = always(str)
    name: Required[str] = always(str)


class Role(meta.Object):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("Role")
    rules: Atomic[list[PolicyRule]] = always(list)


class RoleBinding(meta.Object):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("RoleBinding")
    subjects: Atomic[list[Subject]] = []
    role_ref: Required[RoleRef] = always(RoleRef)


class RoleBindingList(meta.ObjectList):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("RoleBindingList")
    items: Required[list[RoleBinding]] = always(list)


class RoleList(meta.ObjectList):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("RoleList")
    items: Required[list[Role]] = always(list)


class AggregationRule(Struct):
    cluster_role_selectors: Atomic[list[meta.LabelSelector]] = []


class ClusterRole(meta.Object):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("ClusterRole")
    rules: Atomic[list[PolicyRule]] = always(list)
    aggregation_rule: AggregationRule | None = None


class ClusterRoleBinding(meta.Object):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("ClusterRoleBinding")
    subjects: Atomic[list[Subject]] = []
    role_ref: Required[RoleRef] = always(RoleRef)


class ClusterRoleBindingList(meta.ObjectList):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("ClusterRoleBindingList")
    items: Required[list[ClusterRoleBinding]] = always(list)


class ClusterRoleList(meta.ObjectList):
    api_version: str = constant("rbac.authorization.k8s.io/v1")
    kind: str = constant("ClusterRoleList")
    items: Required[list[ClusterRole]] = always(list)
