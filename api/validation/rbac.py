"""Roles and bindings: rules that can apply, subjects that can exist, and roles that stay bound."""

from __future__ import annotations

from collections.abc import Sequence

from api import names
from api import rbac_v1 as rbac
from api.fields import FieldErrors, invalid, not_supported, required
from api.validation.checks import complain
from api.validation.metadata import validate_label_selector
from api.validation.rules import Rules

GROUP = "rbac.authorization.k8s.io"
_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def _validate_rules(rules: Sequence[rbac.PolicyRule], out: FieldErrors, *, namespaced: bool) -> None:
    for index, rule in enumerate(rules):
        where = f"rules[{index}]"
        if not rule.verbs:
            out.append(required(f"{where}.verbs", "verbs must contain at least one value"))
        if rule.non_resource_urls:
            if namespaced:
                detail = "namespaced rules cannot apply to non-resource URLs"
                out.append(invalid(f"{where}.nonResourceURLs", rule.non_resource_urls, detail))
            if rule.api_groups or rule.resources or rule.resource_names:
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                out.append(invalid(f"{where}.nonResourceURLs", rule.non_resource_urls, detail))
            continue
        if not rule.api_groups:
            detail = "resource rules must supply at least one api group"
            out.append(required(f"{where}.apiGroups", detail))
        if not rule.resources:
            detail = "resource rules must supply at least one resource"
            out.append(required(f"{where}.resources", detail))


def _validate_role(role: rbac.Role, out: FieldErrors) -> None:
    _validate_rules(role.rules, out, namespaced=True)


def _validate_cluster_role(role: rbac.ClusterRole, out: FieldErrors) -> None:
    _validate_rules(role.rules, out, namespaced=False)
    if role.aggregation_rule is not None:
        where = "aggregationRule.clusterRoleSelectors"
        if not role.aggregation_rule.cluster_role_selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            out.append(required(where, detail))
        for index, selector in enumerate(role.aggregation_rule.cluster_role_selectors):
            validate_label_selector(selector, f"{where}[{index}]", out)


Binding = rbac.RoleBinding | rbac.ClusterRoleBinding


def _validate_binding(binding: Binding, out: FieldErrors) -> None:
    namespaced = isinstance(binding, rbac.RoleBinding)
    role = binding.role_ref
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.api_group != GROUP:
        out.append(not_supported("roleRef.apiGroup", role.api_group, (GROUP,)))
    if role.kind not in kinds:
        out.append(not_supported("roleRef.kind", role.kind, kinds))
    if not role.name:
        out.append(required("roleRef.name"))
    elif bad := names.path_segment(role.name):
        complain(out, "roleRef.name", role.name, bad)
    for index, subject in enumerate(binding.subjects):
        _validate_subject(subject, f"subjects[{index}]", out, namespaced=namespaced)


def _validate_subject(subject: rbac.Subject, path: str, out: FieldErrors, *, namespaced: bool) -> None:
    if not subject.name:
        out.append(required(f"{path}.name"))
    if subject.kind == "ServiceAccount":
        if subject.name and (bad := names.dns1123_subdomain(subject.name)):
            complain(out, f"{path}.name", subject.name, bad)
        if subject.api_group:
            out.append(not_supported(f"{path}.apiGroup", subject.api_group, ("",)))
        if not namespaced and not subject.namespace:
            out.append(required(f"{path}.namespace"))
    elif subject.kind in ("User", "Group"):
        if not subject.name:
            detail = f"{subject.kind.lower()} name cannot be empty"
            out.append(invalid(f"{path}.name", subject.name, detail))
        if subject.api_group != GROUP:
            out.append(not_supported(f"{path}.apiGroup", subject.api_group, (GROUP,)))
    else:
        out.append(not_supported(f"{path}.kind", subject.kind, _SUBJECT_KINDS))


def _validate_binding_update(new: Binding, old: Binding, out: FieldErrors) -> None:
    _validate_binding(new, out)
    if new.role_ref != old.role_ref:
        out.append(invalid("roleRef", new.role_ref, "cannot change roleRef"))


RULES = {
    "Role": Rules(name=names.name_is_path_segment, create=_validate_role),
    "ClusterRole": Rules(name=names.name_is_path_segment, create=_validate_cluster_role),
    "RoleBinding": Rules(name=names.name_is_path_segment, create=_validate_binding, update=_validate_binding_update),
    "ClusterRoleBinding": Rules(
        name=names.name_is_path_segment, create=_validate_binding, update=_validate_binding_update
    ),
}
