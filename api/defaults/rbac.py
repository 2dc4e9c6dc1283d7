"""Defaults of role bindings: the API group follows from a subject's kind."""

from __future__ import annotations

from collections.abc import Sequence

from api import rbac_v1 as rbac

GROUP = "rbac.authorization.k8s.io"


def _default_subjects(subjects: Sequence[rbac.Subject]) -> None:
    for subject in subjects:
        if not subject.api_group and subject.kind in ("User", "Group"):
            subject.api_group = GROUP


def default_binding(binding: rbac.RoleBinding | rbac.ClusterRoleBinding) -> None:
    if not binding.role_ref.api_group:
        binding.role_ref.api_group = GROUP
    _default_subjects(binding.subjects)


DEFAULTS = {
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): default_binding,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): default_binding,
}
