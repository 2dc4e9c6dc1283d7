"""Nobody grants more than they hold."""

from __future__ import annotations

import pytest

from api import meta_v1 as meta
from api import rbac_v1 as rbac
from api.errors import StatusError
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.escalation import EscalationCheck
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import User
from tests.unit.controlplane.apiserver.identity_doubles import Objects

BOB = User("bob", groups=("devs", "system:authenticated"))
RBAC = "rbac.authorization.k8s.io"


def rule(verbs: str, groups: str, resources: str, *names: str) -> rbac.PolicyRule:
    return rbac.PolicyRule(
        verbs=verbs.split(),
        api_groups=["" if group == "core" else group for group in groups.split()],
        resources=resources.split(),
        resource_names=list(names),
    )


def check(*held: rbac.PolicyRule, others: tuple[meta.Object, ...] = ()) -> EscalationCheck:
    """One in whose cluster bob holds *held*."""
    objects = Objects(
        rbac.ClusterRole(metadata=meta.ObjectMeta(name="held"), rules=list(held)),
        rbac.ClusterRoleBinding(
            metadata=meta.ObjectMeta(name="held"),
            role_ref=rbac.RoleRef(api_group=RBAC, kind="ClusterRole", name="held"),
            subjects=[rbac.Subject(kind="User", name="bob")],
        ),
        *others,
    )
    return EscalationCheck(Authorizer(RbacAuthorizer(objects), NodeAuthorizer(objects, [])))


def role(*rules: rbac.PolicyRule) -> rbac.Role:
    return rbac.Role(metadata=meta.ObjectMeta(name="new", namespace="a"), rules=list(rules))


def binding(kind: str = "ClusterRole", name: str = "strong") -> rbac.RoleBinding:
    return rbac.RoleBinding(
        metadata=meta.ObjectMeta(name="new", namespace="a"),
        role_ref=rbac.RoleRef(api_group=RBAC, kind=kind, name=name),
        subjects=[rbac.Subject(kind="User", name="bob")],
    )


STRONG = rbac.ClusterRole(metadata=meta.ObjectMeta(name="strong"), rules=[rule("*", "*", "*")])


def refusal(judge: EscalationCheck, item: meta.Object, old: meta.Object | None = None, user: User = BOB) -> str:
    with pytest.raises(StatusError) as caught:
        judge.check(user, item, old)
    return f"{caught.value.code} {caught.value}"


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (rule("get list", "core", "pods"), rule("get", "core", "pods")),
        (rule("*", "core", "pods"), rule("get delete", "core", "pods")),
        (rule("get", "*", "*"), rule("get", "apps", "deployments/scale")),
        (rule("get", "core", "secrets", "a", "b"), rule("get", "core", "secrets", "a")),
        (rule("get", "core", "*/status"), rule("get", "core", "pods/status")),
    ],
)
def test_what_one_holds_one_may_grant(held: rbac.PolicyRule, wanted: rbac.PolicyRule) -> None:
    check(held).check(BOB, role(wanted), None)


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        (rule("get list", "core", "pods secrets"), ['{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}']),
        (
            rule("get", "core apps", "pods"),
            ['{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}'],
        ),
        (
            rule("get", "core", "secrets", "x", "y"),
            [
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}',
                '{APIGroups:[""], Resources:["secrets"], ResourceNames:["y"], Verbs:["get"]}',
            ],
        ),
        (rbac.PolicyRule(verbs=["get"], non_resource_urls=["/x"]), ['{NonResourceURLs:["/x"], Verbs:["get"]}']),
        (rule("*", "core", "pods"), ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}']),
    ],
)
def test_what_one_lacks_is_listed(wanted: rbac.PolicyRule, lines: list[str]) -> None:
    listed = "\n".join(lines)
    assert refusal(check(rule("get list", "core", "pods")), role(wanted)) == (
        '403 roles.rbac.authorization.k8s.io "new" is forbidden: user "bob" (groups=["devs" "system:authenticated"]) '
        f"is attempting to grant RBAC permissions not currently held:\n{listed}"
    )


def test_superusers_and_who_may_escalate_are_exempt() -> None:
    wanted = role(rule("*", "*", "*"))
    check().check(User("root", groups=("system:masters",)), wanted, None)
    check(rule("escalate", RBAC, "roles", "new")).check(BOB, wanted, None)


def test_an_update_that_only_lets_the_collector_work_is_allowed() -> None:
    old = role(rule("*", "*", "*"))
    old.metadata.finalizers = ["x"]
    new = role(rule("*", "*", "*"))
    new.metadata.resource_version = "7"
    check().check(BOB, new, old)
    new.metadata.labels = {"a": "b"}
    assert refusal(check(), new, old).startswith("403 ")


def test_a_binding_grants_its_roles_rules() -> None:
    assert '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}' in refusal(check(others=(STRONG,)), binding())
    check(rule("*", "*", "*"), others=(STRONG,)).check(BOB, binding(), None)
    check(rule("bind", RBAC, "clusterroles", "strong"), others=(STRONG,)).check(BOB, binding(), None)


def test_a_binding_to_a_role_that_is_not_there_needs_permission_to_bind() -> None:
    assert refusal(check(), binding("Role", "gone")) == '404 roles.rbac.authorization.k8s.io "gone" not found'
    check(rule("bind", RBAC, "roles")).check(BOB, binding("Role", "gone"), None)


def test_aggregation_is_for_who_holds_everything() -> None:
    gathering = rbac.ClusterRole(
        metadata=meta.ObjectMeta(name="sum"),
        aggregation_rule=rbac.AggregationRule(
            cluster_role_selectors=[meta.LabelSelector(match_labels={"to-sum": "true"})]
        ),
    )
    everything = (rule("*", "*", "*"), rbac.PolicyRule(verbs=["*"], non_resource_urls=["*"]))
    check(*everything).check(BOB, gathering, None)
    assert refusal(check(rule("get", "*", "*")), gathering) == (
        '403 clusterroles.rbac.authorization.k8s.io "sum" is forbidden: must have cluster-admin privileges to use the '
        "aggregationRule"
    )
