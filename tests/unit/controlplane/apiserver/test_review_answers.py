"""Reviews: questions about identity and permission."""

from __future__ import annotations

import pytest

from api import authentication_v1 as authentication
from api import authorization_v1 as authorization
from api import core_v1 as core
from api import meta_v1 as meta
from api import rbac_v1 as rbac
from api.errors import StatusError
from client.clock import FakeClock
from controlplane.apiserver.authentication.keys import TokenKeys
from controlplane.apiserver.authentication.service_accounts import ServiceAccountAuthenticator
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import User
from controlplane.apiserver.reviews import Reviews
from controlplane.apiserver.tokens import ISSUER, TokenIssuer
from tests.unit.controlplane.apiserver.identity_doubles import Objects, key_pem

KEYS = TokenKeys(key_pem())
ALICE = User("alice", "7", ("devs",), {"scopes": ("a", "b")})


def objects() -> Objects:
    rule = rbac.PolicyRule(verbs=["list"], api_groups=[""], resources=["pods"])
    reference = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="lister")
    return Objects(
        core.ServiceAccount(metadata=meta.ObjectMeta(name="builder", namespace="ci", uid="1")),
        rbac.ClusterRole(metadata=meta.ObjectMeta(name="lister"), rules=[rule]),
        rbac.RoleBinding(
            metadata=meta.ObjectMeta(name="listers", namespace="a"),
            role_ref=reference,
            subjects=[rbac.Subject(kind="Group", name="devs")],
        ),
    )


def reviews() -> Reviews:
    found, clock = objects(), FakeClock()
    tokens = ServiceAccountAuthenticator(found, KEYS, ISSUER, (ISSUER,), clock)
    return Reviews(tokens, Authorizer(RbacAuthorizer(found), NodeAuthorizer(found, [])))


def pods(namespace: str = "a", verb: str = "list") -> authorization.ResourceAttributes:
    return authorization.ResourceAttributes(namespace=namespace, verb=verb, resource="pods")


def refusal(review: meta.Object, namespace: str = "") -> str:
    with pytest.raises(StatusError) as caught:
        reviews().review(review, ALICE, namespace)
    return f"{caught.value.code} {caught.value}"


def test_a_token_review_names_the_user() -> None:
    token = (
        TokenIssuer(objects(), KEYS, FakeClock()).request("ci", "builder", authentication.TokenRequest()).status.token
    )
    review = authentication.TokenReview(spec=authentication.TokenReviewSpec(token=token))
    status = reviews().token(review).status
    assert (status.authenticated, status.audiences, status.error) == (True, [ISSUER], "")
    assert status.user.username == "system:serviceaccount:ci:builder"
    assert status.user.groups == ["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"]


def test_a_bad_token_is_an_answer() -> None:
    review = authentication.TokenReview(spec=authentication.TokenReviewSpec(token="garbage"))
    status = reviews().token(review).status
    assert (status.authenticated, status.error, status.user.username) == (False, "invalid bearer token", "")


def test_a_token_review_needs_a_token() -> None:
    assert refusal(authentication.TokenReview()) == "400 token is required for TokenReview in authentication"


def test_a_subject_access_review_decides_for_somebody_else() -> None:
    spec = authorization.SubjectAccessReviewSpec(user="bob", groups=["devs"], resource_attributes=pods())
    review = authorization.SubjectAccessReview(spec=spec)
    assert reviews().review(review, ALICE) is review
    assert (review.status.allowed, review.status.reason) == (
        True,
        'RBAC: allowed by RoleBinding "listers/a" of ClusterRole "lister" to Group "devs"',
    )
    review.spec.groups = []
    reviews().review(review, ALICE)
    assert not review.status.allowed


def test_self_reviews_are_about_who_asks() -> None:
    can_i = authorization.SelfSubjectAccessReview(
        spec=authorization.SelfSubjectAccessReviewSpec(resource_attributes=pods())
    )
    reviews().review(can_i, ALICE)
    assert can_i.status.allowed
    who_am_i = authentication.SelfSubjectReview()
    reviews().review(who_am_i, ALICE)
    assert who_am_i.status.user_info == authentication.UserInfo(
        username="alice", uid="7", groups=["devs"], extra={"scopes": ["a", "b"]}
    )


def test_the_rules_of_a_namespace_are_listed() -> None:
    review = authorization.SelfSubjectRulesReview(spec=authorization.SelfSubjectRulesReviewSpec(namespace="a"))
    reviews().review(review, ALICE)
    assert [(rule.verbs, rule.resources) for rule in review.status.resource_rules] == [(["list"], ["pods"])]
    assert not review.status.incomplete
    review.spec.namespace = "b"
    reviews().review(review, ALICE)
    assert review.status.resource_rules == []
    assert refusal(authorization.SelfSubjectRulesReview()) == "400 no namespace on request"


def test_a_local_review_is_about_its_own_namespace() -> None:
    def review(namespace: str) -> authorization.LocalSubjectAccessReview:
        return authorization.LocalSubjectAccessReview(
            metadata=meta.ObjectMeta(namespace="a"),
            spec=authorization.SubjectAccessReviewSpec(groups=["devs"], resource_attributes=pods(namespace)),
        )

    good = review("a")
    reviews().review(good, ALICE, "a")
    assert good.status.allowed
    assert 'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace' in refusal(
        review("b"), "a"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            authorization.SubjectAccessReviewSpec(resource_attributes=pods()),
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            authorization.SubjectAccessReviewSpec(
                user="x",
                resource_attributes=pods(),
                non_resource_attributes=authorization.NonResourceAttributes(path="/", verb="get"),
            ),
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            authorization.SubjectAccessReviewSpec(user="x"),
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
    ],
)
def test_a_review_asks_one_question_about_somebody(spec: authorization.SubjectAccessReviewSpec, message: str) -> None:
    text = refusal(authorization.SubjectAccessReview(spec=spec))
    assert text.startswith('422 SubjectAccessReview.authorization.k8s.io "" is invalid: ')
    assert message in text
