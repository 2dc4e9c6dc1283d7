"""ClusterRoles that are the sum of others (``aggregationRule``).

Upstream lets a controller write the sum into the role. Here the authorizer adds it up itself whenever a ClusterRole
changes, so that a grant is in force with the write that made it; what is stored in ``rules`` of such a role is only
for people to read.
"""

from __future__ import annotations

from collections.abc import Iterable

from api import rbac_v1 as rbac
from api import selectors


def effective_rules(role: rbac.ClusterRole, every_role: Iterable[rbac.ClusterRole]) -> list[rbac.PolicyRule]:
    """The rules *role* grants: its own, or those of the roles its aggregation rule selects, without repetition.

    A role that is selected and itself aggregates (``edit`` within ``admin``) counts with its own sum; a circle of
    roles is cut where it closes.
    """
    roles = sorted(every_role, key=lambda item: item.metadata.name)
    return _sum(role, roles, set())


def _sum(role: rbac.ClusterRole, roles: list[rbac.ClusterRole], path: set[str]) -> list[rbac.PolicyRule]:
    if role.aggregation_rule is None:
        return role.rules
    path = path | {role.metadata.name}
    chosen = [selectors.from_struct(selector) for selector in role.aggregation_rule.cluster_role_selectors]
    total: list[rbac.PolicyRule] = []
    for other in roles:
        if other.metadata.name in path:
            continue
        if not any(selector.matches(other.metadata.labels) for selector in chosen):
            continue
        for rule in _sum(other, roles, path):
            if rule not in total:
                total.append(rule)
    return total
