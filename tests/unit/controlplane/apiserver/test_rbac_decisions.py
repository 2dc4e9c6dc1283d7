"""Roles, bindings, and what they allow."""

from __future__ import annotations

import pytest

from api import meta_v1 as meta
from api import rbac_v1 as rbac
from controlplane.apiserver.authorization.decisions import forbidden
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import RequestInfo, User
from tests.unit.controlplane.apiserver.identity_doubles import Objects

ALICE = User("alice", groups=("devs", "system:authenticated"))
ROBOT = User("system:serviceaccount:ci:builder", groups=("system:serviceaccounts", "system:authenticated"))


def rule(verbs: str, groups: str = "core", resources: str = "", names: str = "") -> rbac.PolicyRule:
    return rbac.PolicyRule(
        verbs=verbs.split(),
        api_groups=["" if group == "core" else group for group in groups.split()],
        resources=resources.split(),
        resource_names=names.split(),
    )


def urls(verbs: str, *paths: str) -> rbac.PolicyRule:
    return rbac.PolicyRule(verbs=verbs.split(), non_resource_urls=list(paths))


def cluster_role(name: str, *rules: rbac.PolicyRule, **labels: str) -> rbac.ClusterRole:
    marks = {key.replace("_", "-"): value for key, value in labels.items()}
    return rbac.ClusterRole(metadata=meta.ObjectMeta(name=name, labels=marks), rules=list(rules))


def role(namespace: str, name: str, *rules: rbac.PolicyRule) -> rbac.Role:
    return rbac.Role(metadata=meta.ObjectMeta(name=name, namespace=namespace), rules=list(rules))


def subject(kind: str, name: str, namespace: str = "") -> rbac.Subject:
    return rbac.Subject(kind=kind, name=name, namespace=namespace)


def cluster_binding(name: str, role_name: str, *subjects: rbac.Subject) -> rbac.ClusterRoleBinding:
    return rbac.ClusterRoleBinding(
        metadata=meta.ObjectMeta(name=name),
        role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role_name),
        subjects=list(subjects),
    )


def binding(namespace: str, name: str, kind: str, role_name: str, *subjects: rbac.Subject) -> rbac.RoleBinding:
    return rbac.RoleBinding(
        metadata=meta.ObjectMeta(name=name, namespace=namespace),
        role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind=kind, name=role_name),
        subjects=list(subjects),
    )


def ask(verb: str, what: str, namespace: str = "", name: str = "", group: str = "") -> RequestInfo:
    resource, _, subresource = what.partition("/")
    return RequestInfo(verb, group, "v1", resource, subresource, namespace, name, is_resource=True)


def granted(*rules: rbac.PolicyRule) -> RbacAuthorizer:
    """An authorizer in which alice holds *rules* in the whole cluster."""
    return RbacAuthorizer(
        Objects(cluster_role("granted", *rules), cluster_binding("granted", "granted", subject("User", "alice")))
    )


@pytest.mark.parametrize(
    ("rule_", "question", "allowed"),
    [
        (rule("get", "core", "pods"), ask("get", "pods", "a", "x"), True),
        (rule("get", "core", "pods"), ask("list", "pods", "a"), False),
        (rule("get", "core", "pods"), ask("get", "pods", "a", "x", group="apps"), False),
        (rule("get", "core", "pods"), ask("get", "pods/log", "a", "x"), False),
        (rule("get", "core", "pods/log"), ask("get", "pods/log", "a", "x"), True),
        (rule("get", "core", "pods/log"), ask("get", "pods", "a", "x"), False),
        (rule("get", "*", "*/scale"), ask("get", "deployments/scale", "a", "x", group="apps"), True),
        (rule("get", "*", "*/scale"), ask("get", "deployments", "a", "x", group="apps"), False),
        (rule("*", "*", "*"), ask("delete", "pods/exec", "a", "x"), True),
        (rule("get", "core", "secrets", "db"), ask("get", "secrets", "a", "db"), True),
        (rule("get", "core", "secrets", "db"), ask("get", "secrets", "a", "other"), False),
        (rule("list", "core", "secrets", "db"), ask("list", "secrets", "a"), False),
        (rule("list", "core", "secrets", "db"), ask("list", "secrets", "a", "db"), True),
        (urls("get", "/metrics"), RequestInfo("get", path="/metrics"), True),
        (urls("get", "/metrics"), RequestInfo("post", path="/metrics"), False),
        (urls("get", "/healthz/*"), RequestInfo("get", path="/healthz/etcd"), True),
        (urls("get", "/healthz/*"), RequestInfo("get", path="/healthz"), False),
        (urls("*", "*"), RequestInfo("put", path="/anything"), True),
        (rule("*", "*", "*"), RequestInfo("get", path="/metrics"), False),
    ],
)
def test_what_a_rule_allows(rule_: rbac.PolicyRule, question: RequestInfo, allowed: bool) -> None:
    authorizer = granted(rule_)
    for _ in range(2):  # the second answer comes from memory
        assert authorizer.authorize(ALICE, question).allowed is allowed


def test_a_role_binding_grants_in_its_namespace_alone() -> None:
    authorizer = RbacAuthorizer(
        Objects(
            cluster_role("reader", rule("get list", "core", "pods")),
            binding("a", "readers", "ClusterRole", "reader", subject("Group", "devs")),
        )
    )
    assert authorizer.authorize(ALICE, ask("list", "pods", "a")).allowed
    assert not authorizer.authorize(ALICE, ask("list", "pods", "b")).allowed
    assert not authorizer.authorize(ALICE, ask("list", "pods")).allowed
    assert not authorizer.authorize(User("bob"), ask("list", "pods", "a")).allowed


def test_a_service_account_of_the_bindings_own_namespace_needs_no_namespace() -> None:
    authorizer = RbacAuthorizer(
        Objects(
            role("ci", "reader", rule("get", "core", "pods")),
            binding("ci", "robots", "Role", "reader", subject("ServiceAccount", "builder")),
        )
    )
    decision = authorizer.authorize(ROBOT, ask("get", "pods", "ci", "x"))
    assert decision.allowed
    assert decision.reason == (
        'RBAC: allowed by RoleBinding "robots/ci" of Role "reader" to ServiceAccount "builder/ci"'
    )


def test_the_reason_names_the_binding() -> None:
    decision = granted(rule("get", "core", "pods")).authorize(ALICE, ask("get", "pods", "a", "x"))
    assert decision.reason == ('RBAC: allowed by ClusterRoleBinding "granted" of ClusterRole "granted" to User "alice"')


def test_a_missing_role_is_named_in_the_refusal() -> None:
    authorizer = RbacAuthorizer(Objects(cluster_binding("b", "gone", subject("User", "alice"))))
    decision = authorizer.authorize(ALICE, ask("get", "pods", "a", "x"))
    assert not decision.allowed
    assert str(forbidden(ALICE, ask("get", "pods", "a", "x"), decision.reason)) == (
        'pods "x" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "a": '
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            ask("list", "pods", "y"),
            'pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "y"',
        ),
        (
            ask("get", "deployments/scale", "y", "web", group="apps"),
            'deployments.apps "web" is forbidden: User "x" cannot get resource "deployments/scale" in API group "apps" '
            'in the namespace "y"',
        ),
        (
            ask("list", "nodes"),
            'nodes is forbidden: User "x" cannot list resource "nodes" in API group "" at the cluster scope',
        ),
        (RequestInfo("get", path="/metrics"), 'forbidden: User "x" cannot get path "/metrics"'),
        (RequestInfo("get", path="/<b>"), 'forbidden: User "x" cannot get path "/&lt;b&gt;"'),
    ],
)
def test_refusals_are_worded_as_upstreams(question: RequestInfo, message: str) -> None:
    assert str(forbidden(User("x"), question, "")) == message


def test_changes_take_effect_at_once() -> None:
    objects = Objects()
    authorizer = RbacAuthorizer(objects)
    question = ask("get", "pods", "a", "x")
    bound = cluster_binding("b", "reader", subject("User", "alice"))

    def allowed() -> bool:
        return authorizer.authorize(ALICE, question).allowed

    assert not allowed()
    objects.put(cluster_role("reader", rule("get", "core", "pods")))
    assert not allowed()
    objects.put(bound)
    assert allowed()
    objects.put(cluster_role("reader", rule("list", "core", "pods")))
    assert not allowed()
    objects.put(cluster_role("reader", rule("*", "core", "pods")))
    assert allowed()
    objects.put(cluster_binding("b", "reader", subject("User", "bob")))
    assert not allowed()
    objects.put(bound)
    objects.remove(bound)
    assert not allowed()


def test_an_aggregated_role_is_the_sum_of_what_it_selects_even_in_a_circle() -> None:
    def sum_of(name: str, label: str, **labels: str) -> rbac.ClusterRole:
        found = cluster_role(name, **labels)
        selector = meta.LabelSelector(match_labels={label: "true"})
        found.aggregation_rule = rbac.AggregationRule(cluster_role_selectors=[selector])
        return found

    objects = Objects(
        sum_of("admin", "to-admin", to_view="true"),
        sum_of("view", "to-view", to_admin="true"),
        cluster_role("pods", rule("get", "core", "pods"), to_view="true"),
        cluster_binding("b", "admin", subject("User", "alice")),
    )
    authorizer = RbacAuthorizer(objects)
    assert authorizer.authorize(ALICE, ask("get", "pods", "a", "x")).allowed
    assert not authorizer.authorize(ALICE, ask("get", "jobs", "a", "x", group="batch")).allowed
    objects.put(cluster_role("jobs", rule("get", "batch", "jobs"), to_admin="true"))
    assert authorizer.authorize(ALICE, ask("get", "jobs", "a", "x", group="batch")).allowed


def test_many_different_questions_do_not_pile_up() -> None:
    authorizer = granted(rule("get", "core", "pods"))
    for number in range(20_500):
        authorizer.authorize(ALICE, ask("get", "pods", f"n{number}", "x"))
    assert len(authorizer._verdicts) <= 20_000
