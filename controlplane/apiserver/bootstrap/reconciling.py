"""How an existing object is brought in line with the one that ought to be there.

Pure: each function gives the object to write, or None when nothing is missing. What administrators have added stays:
rules, subjects, labels are only ever added, and roles and bindings with the annotation
``rbac.authorization.kubernetes.io/autoupdate: "false"`` are left alone altogether.
"""

from __future__ import annotations

from typing import TypeVar

from api import core_v1 as core
from api import discovery_v1 as discovery
from api import meta_v1 as meta
from api import rbac_v1 as rbac
from api.codec import deepcopy
from controlplane.apiserver.authorization.rules import compact, uncovered
from controlplane.apiserver.bootstrap.rules import AUTOUPDATE

AnyRole = TypeVar("AnyRole", bound=rbac.Role | rbac.ClusterRole)
AnyBinding = TypeVar("AnyBinding", bound=rbac.RoleBinding | rbac.ClusterRoleBinding)


def reconciled_role(wanted: AnyRole, existing: AnyRole) -> AnyRole | None:
    """The role with the rules it lacks; that of an aggregated one is its selector."""
    if _is_protected(existing):
        return None
    changed = deepcopy(existing)
    if isinstance(wanted, rbac.ClusterRole) and isinstance(changed, rbac.ClusterRole):
        changed.aggregation_rule = _selectors(wanted.aggregation_rule, changed.aggregation_rule)
    lacking = uncovered(existing.rules, wanted.rules)
    if lacking:
        changed.rules = [*existing.rules, *compact(lacking)]
    _add_metadata(wanted, changed)
    return None if changed == existing else changed


def reconciled_binding(wanted: AnyBinding, existing: AnyBinding) -> AnyBinding | None:
    """The binding with the subjects it lacks. One that points at another role is left alone: that cannot change."""
    if _is_protected(existing) or existing.role_ref != wanted.role_ref:
        return None
    changed = deepcopy(existing)
    known = {_identity(subject) for subject in existing.subjects}
    missing = [subject for subject in wanted.subjects if _identity(subject) not in known]
    if missing:
        changed.subjects = [*existing.subjects, *missing]
    _add_metadata(wanted, changed)
    return None if changed == existing else changed


def reconciled_endpoints(wanted: core.Endpoints, existing: core.Endpoints) -> core.Endpoints | None:
    """The endpoints with exactly the wanted addresses."""
    changed = deepcopy(existing)
    changed.subsets = wanted.subsets
    _add_metadata(wanted, changed)
    return None if changed == existing else changed


def reconciled_slice(
    wanted: discovery.EndpointSlice, existing: discovery.EndpointSlice
) -> discovery.EndpointSlice | None:
    """The slice with exactly the wanted endpoints and ports."""
    changed = deepcopy(existing)
    changed.endpoints, changed.ports = wanted.endpoints, wanted.ports
    _add_metadata(wanted, changed)
    return None if changed == existing else changed


def reconciled_service(wanted: core.Service, existing: core.Service) -> core.Service | None:
    """The service with the wanted ports; its address cannot change, and its type may have been made NodePort."""
    ours = [(port.name, port.protocol, port.port, port.target_port) for port in wanted.spec.ports]
    theirs = [(port.name, port.protocol, port.port, port.target_port) for port in existing.spec.ports]
    if ours == theirs:
        return None
    changed = deepcopy(existing)
    changed.spec.ports = wanted.spec.ports
    return changed


def reconciled_config_map(wanted: core.ConfigMap, existing: core.ConfigMap) -> core.ConfigMap | None:
    """The config map with the wanted entries besides its own."""
    changed = deepcopy(existing)
    changed.data = {**existing.data, **wanted.data}
    return None if changed == existing else changed


def _selectors(
    wanted: rbac.AggregationRule | None, existing: rbac.AggregationRule | None
) -> rbac.AggregationRule | None:
    if wanted is None or existing is None:
        return existing or wanted
    known = existing.cluster_role_selectors
    missing = [item for item in wanted.cluster_role_selectors if item not in known]
    return rbac.AggregationRule(cluster_role_selectors=[*known, *missing])


def _is_protected(existing: meta.Object) -> bool:
    return existing.metadata.annotations.get(AUTOUPDATE) == "false"


def _add_metadata(wanted: meta.Object, changed: meta.Object) -> None:
    for name in ("labels", "annotations"):
        ours, theirs = getattr(wanted.metadata, name), getattr(changed.metadata, name)
        missing = {key: value for key, value in ours.items() if key not in theirs}
        if missing:
            setattr(changed.metadata, name, {**theirs, **missing})


def _identity(subject: rbac.Subject) -> tuple[str, str, str]:
    return subject.kind, subject.namespace, subject.name
