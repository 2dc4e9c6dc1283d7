"""A short notation for policy rules and roles, so that the tables of bootstrap roles can be read as tables."""

from __future__ import annotations

from api import meta_v1 as meta
from api import rbac_v1 as rbac

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}

READ = "get list watch"
WRITE = "create delete deletecollection patch update"
READ_WRITE = f"{READ} {WRITE}"

# How the core group, whose name is empty, is written in the tables.
CORE = "core"


def rule(verbs: str, groups: str, resources: str, names: str = "") -> rbac.PolicyRule:
    """A rule about resources; each argument lists words between blanks."""
    return rbac.PolicyRule(
        verbs=sorted(verbs.split()),
        api_groups=sorted("" if group == CORE else group for group in groups.split()),
        resources=sorted(resources.split()),
        resource_names=sorted(names.split()),
    )


def urls(verbs: str, paths: str) -> rbac.PolicyRule:
    """A rule about paths that are no resources."""
    return rbac.PolicyRule(verbs=sorted(verbs.split()), non_resource_urls=sorted(paths.split()))


def events() -> rbac.PolicyRule:
    """What every component needs to report."""
    return rule("create patch update", f"{CORE} events.k8s.io", "events")


def cluster_role(name: str, *rules: rbac.PolicyRule, labels: dict[str, str] | None = None) -> rbac.ClusterRole:
    return rbac.ClusterRole(metadata=_metadata(name, "", labels), rules=list(rules))


def aggregated_role(name: str, label: str, labels: dict[str, str] | None = None) -> rbac.ClusterRole:
    """A ClusterRole that is the sum of those with *label*."""
    selector = meta.LabelSelector(match_labels={label: "true"})
    return rbac.ClusterRole(
        metadata=_metadata(name, "", labels), aggregation_rule=rbac.AggregationRule(cluster_role_selectors=[selector])
    )


def role(namespace: str, name: str, *rules: rbac.PolicyRule) -> rbac.Role:
    return rbac.Role(metadata=_metadata(name, namespace), rules=list(rules))


def cluster_binding(name: str, *subjects: rbac.Subject, role_name: str = "") -> rbac.ClusterRoleBinding:
    """A binding to the ClusterRole of the same name, or to *role_name*."""
    return rbac.ClusterRoleBinding(
        metadata=_metadata(name, ""), role_ref=_reference("ClusterRole", role_name or name), subjects=list(subjects)
    )


def binding(namespace: str, name: str, *subjects: rbac.Subject, role_name: str = "") -> rbac.RoleBinding:
    """A binding to the Role of the same name, or to *role_name*."""
    return rbac.RoleBinding(
        metadata=_metadata(name, namespace), role_ref=_reference("Role", role_name or name), subjects=list(subjects)
    )


def user(name: str) -> rbac.Subject:
    return rbac.Subject(kind="User", api_group="rbac.authorization.k8s.io", name=name)


def group(name: str) -> rbac.Subject:
    return rbac.Subject(kind="Group", api_group="rbac.authorization.k8s.io", name=name)


def service_account(namespace: str, name: str) -> rbac.Subject:
    return rbac.Subject(kind="ServiceAccount", namespace=namespace, name=name)


def _metadata(name: str, namespace: str, labels: dict[str, str] | None = None) -> meta.ObjectMeta:
    return meta.ObjectMeta(
        name=name, namespace=namespace, labels={**LABELS, **(labels or {})}, annotations={AUTOUPDATE: "true"}
    )


def _reference(kind: str, name: str) -> rbac.RoleRef:
    return rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind=kind, name=name)
