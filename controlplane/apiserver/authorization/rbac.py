"""The RBAC authorizer: who is bound to which rules.

Bindings are indexed by subject as they change, so a decision looks only at what the user and its groups hold. A
decision is remembered until any RBAC object changes; the memory is keyed without the object's name, because almost no
rule names objects, and holds for those that do the names allowed. A remembered decision costs one dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from api import errors
from api import rbac_v1 as rbac
from api.meta_v1 import Object
from api.rendering import quote
from api.scheme import SCHEME
from controlplane.apiserver.authorization.aggregation import effective_rules
from controlplane.apiserver.authorization.decisions import NO_OPINION, Decision
from controlplane.apiserver.authorization.rules import describe_subject, matches_except_name
from controlplane.apiserver.request import ObjectReader, RequestInfo, User

GROUP = "rbac.authorization.k8s.io"
ROLES = SCHEME.of(rbac.Role)
CLUSTER_ROLES = SCHEME.of(rbac.ClusterRole)
ROLE_BINDINGS = SCHEME.of(rbac.RoleBinding)
CLUSTER_ROLE_BINDINGS = SCHEME.of(rbac.ClusterRoleBinding)

# Memory of decisions is dropped at this size; a user who asks for ever new things must not fill the process.
_REMEMBERED = 20_000

_Key = tuple[str, tuple[str, ...], str, str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Grant:
    """One subject of one binding; *namespace* is "" for a ClusterRoleBinding."""

    namespace: str
    binding: str
    role: rbac.RoleRef
    subject: rbac.Subject

    def __str__(self) -> str:
        kind, name = "ClusterRoleBinding", self.binding
        if self.namespace:
            kind, name = "RoleBinding", f"{self.binding}/{self.namespace}"
        subject = describe_subject(self.subject, self.namespace)
        return f"{kind} {quote(name)} of {self.role.kind} {quote(self.role.name)} to {subject}"


@dataclass(slots=True)
class _Verdict:
    """What is known of one question for all object names: allowed for any, or for some."""

    any_name: Decision
    by_name: dict[str, Decision] = field(default_factory=dict)


class RbacAuthorizer:
    """Decides by Role, ClusterRole and their bindings; kept current by the reader's change callbacks."""

    def __init__(self, reader: ObjectReader) -> None:
        self._roles: dict[tuple[str, str], rbac.Role] = {}
        self._cluster_roles: dict[str, rbac.ClusterRole] = {}
        self._grants: dict[tuple[str, str], dict[tuple[str, str], list[Grant]]] = {}
        self._rules_of_cluster_role: dict[str, list[rbac.PolicyRule]] = {}
        self._verdicts: dict[_Key, _Verdict] = {}
        for resource, apply in (
            (ROLES, self._on_role),
            (CLUSTER_ROLES, self._on_cluster_role),
            (ROLE_BINDINGS, self._on_binding),
            (CLUSTER_ROLE_BINDINGS, self._on_binding),
        ):
            for item in reader.list(resource):
                apply(None, item)
            reader.on_change(resource, apply)

    def authorize(self, user: User, info: RequestInfo) -> Decision:
        """Whether a role bound to *user* or one of its groups allows the request; never denies outright."""
        key = (
            user.name,
            user.groups,
            info.verb,
            info.group,
            info.resource,
            info.subresource,
            info.namespace,
            "" if info.is_resource else info.path,
        )
        verdict = self._verdicts.get(key)
        if verdict is None:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            verdict = self._verdicts[key] = self._decide(user, info)
        if verdict.any_name.allowed or not verdict.by_name:
            return verdict.any_name
        return verdict.by_name.get(info.name, verdict.any_name)

    def rules_for(self, user: User, namespace: str) -> tuple[list[rbac.PolicyRule], list[str]]:
        """Every rule *user* holds in *namespace* ("" for the cluster alone), and what roles could not be found."""
        rules: list[rbac.PolicyRule] = []
        problems: list[str] = []
        for grant in self._grants_of(user, namespace):
            found = self._rules(grant.role, grant.namespace)
            if found is None:
                problems.append(_missing(grant.role))
            else:
                rules.extend(found)
        return rules, problems

    def rules_of(self, role: rbac.RoleRef, namespace: str) -> list[rbac.PolicyRule]:
        """The rules of the role a binding in *namespace* refers to; raises NotFound."""
        rules = self._rules(role, namespace)
        if rules is None:
            raise errors.not_found(errors.GroupName(GROUP, f"{role.kind.lower()}s"), role.name)
        return rules

    def _rules(self, role: rbac.RoleRef, namespace: str) -> list[rbac.PolicyRule] | None:
        if role.kind == "Role":
            found = self._roles.get((namespace, role.name))
            return None if found is None else found.rules
        rules = self._rules_of_cluster_role.get(role.name)
        if rules is None:
            cluster_role = self._cluster_roles.get(role.name)
            if cluster_role is None:
                return None
            rules = effective_rules(cluster_role, self._cluster_roles.values())
            self._rules_of_cluster_role[role.name] = rules
        return rules

    # ------------------------------------------------------------ decisions

    def _decide(self, user: User, info: RequestInfo) -> _Verdict:
        problems: list[str] = []
        by_name: dict[str, Decision] = {}
        for grant in self._grants_of(user, info.namespace):
            rules = self._rules(grant.role, grant.namespace)
            if rules is None:
                problems.append(_missing(grant.role))
                continue
            for rule in rules:
                if not matches_except_name(rule, info):
                    continue
                allowed = Decision(True, f"RBAC: allowed by {grant}")
                if not info.is_resource or not rule.resource_names:
                    return _Verdict(allowed)
                for name in rule.resource_names:
                    by_name.setdefault(name, allowed)
        return _Verdict(Decision(False, _resolution_error(problems)) if problems else NO_OPINION, by_name)

    def _grants_of(self, user: User, namespace: str) -> Iterator[Grant]:
        """The grants of the cluster first, then those of the namespace, by name, as their reasons are shown."""
        found: dict[tuple[str, str], Grant] = {}
        for subject in (("User", user.name), *(("Group", group) for group in user.groups)):
            for binding, grants in self._grants.get(subject, {}).items():
                if binding[0] in ("", namespace) and binding not in found:
                    found[binding] = grants[0]
        for binding in sorted(found):
            yield found[binding]

    # ------------------------------------------------------------ upkeep

    def _on_role(self, old: Object | None, new: Object | None) -> None:
        self._verdicts.clear()
        if isinstance(new, rbac.Role):
            self._roles[new.metadata.namespace, new.metadata.name] = new
        elif isinstance(old, rbac.Role):
            self._roles.pop((old.metadata.namespace, old.metadata.name), None)

    def _on_cluster_role(self, old: Object | None, new: Object | None) -> None:
        self._verdicts.clear()
        self._rules_of_cluster_role.clear()
        if isinstance(new, rbac.ClusterRole):
            self._cluster_roles[new.metadata.name] = new
        elif isinstance(old, rbac.ClusterRole):
            self._cluster_roles.pop(old.metadata.name, None)

    def _on_binding(self, old: Object | None, new: Object | None) -> None:
        self._verdicts.clear()
        if isinstance(old, rbac.RoleBinding | rbac.ClusterRoleBinding):
            for subject in old.subjects:
                key = _subject_key(subject, old.metadata.namespace)
                bindings = self._grants.get(key, {})
                bindings.pop((old.metadata.namespace, old.metadata.name), None)
                if not bindings:
                    self._grants.pop(key, None)
        if isinstance(new, rbac.RoleBinding | rbac.ClusterRoleBinding):
            namespace, name = new.metadata.namespace, new.metadata.name
            for subject in new.subjects:
                bindings = self._grants.setdefault(_subject_key(subject, namespace), {})
                bindings.setdefault((namespace, name), []).append(Grant(namespace, name, new.role_ref, subject))


def _subject_key(subject: rbac.Subject, binding_namespace: str) -> tuple[str, str]:
    if subject.kind == "ServiceAccount":
        return "User", f"system:serviceaccount:{subject.namespace or binding_namespace}:{subject.name}"
    return subject.kind, subject.name


def _missing(role: rbac.RoleRef) -> str:
    # Upstream's listers name the kind here, where its storage names the resource.
    return f"{role.kind.lower()}.{GROUP} {quote(role.name)} not found"


def _resolution_error(problems: list[str]) -> str:
    """The reason of a refusal when a role could not be found, worded as a Go error list is."""
    unique = list(dict.fromkeys(problems))
    return f"RBAC: {unique[0]}" if len(unique) == 1 else f"RBAC: [{', '.join(unique)}]"
