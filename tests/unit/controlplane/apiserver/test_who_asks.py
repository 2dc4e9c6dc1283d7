"""The chain of authenticators, and acting as somebody else."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pytest
from multidict import CIMultiDict

from api import authentication_v1 as authentication
from api import core_v1 as core
from api import meta_v1 as meta
from api import rbac_v1 as rbac
from api.errors import StatusError
from client.certificates import CertificateAuthenticator
from client.clock import FakeClock
from controlplane.apiserver.authentication.authenticator import ANONYMOUS, Authenticator, user_of
from controlplane.apiserver.authentication.impersonation import effective_user
from controlplane.apiserver.authentication.keys import TokenKeys
from controlplane.apiserver.authentication.service_accounts import ServiceAccountAuthenticator
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import User
from controlplane.apiserver.tokens import ISSUER, TokenIssuer
from tests.unit.controlplane.apiserver.identity_doubles import Authority, Objects, key_pem

OURS = Authority()
NOW = 1_800_000_000.0


def build() -> tuple[Authenticator, str]:
    """An authenticator, and a good token."""
    clock, keys = FakeClock(NOW), TokenKeys(key_pem())
    account = core.ServiceAccount(metadata=meta.ObjectMeta(name="builder", namespace="ci", uid="1"))
    objects = Objects(account)
    tokens = ServiceAccountAuthenticator(objects, keys, ISSUER, (ISSUER,), clock)
    issued = TokenIssuer(objects, keys, clock).request("ci", "builder", authentication.TokenRequest())
    return Authenticator(CertificateAuthenticator(OURS.pem, clock, user_of), tokens), issued.status.token


def bearer(token: str) -> Mapping[str, str]:
    return CIMultiDict({"authorization": f"Bearer {token}"})


def name_of(user: User | None) -> str | None:
    return None if user is None else user.name


def test_certificate_first_then_token() -> None:
    authenticator, token = build()
    good, bad = OURS.client("alice"), Authority("elsewhere").client("mallory")
    assert name_of(authenticator.authenticate(bearer(token), good)) == "alice"
    assert name_of(authenticator.authenticate(bearer(token), bad)) == "system:serviceaccount:ci:builder"
    assert name_of(authenticator.authenticate(bearer("bad"), good)) == "alice"
    assert authenticator.authenticate(bearer("bad"), bad) is None


def test_a_websocket_may_bring_its_token_as_a_subprotocol() -> None:
    authenticator, token = build()
    encoded = base64.urlsafe_b64encode(token.encode()).rstrip(b"=").decode()
    protocols = f"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.{encoded}"
    headers = CIMultiDict({"Sec-WebSocket-Protocol": protocols})
    assert name_of(authenticator.authenticate(headers, None)) == "system:serviceaccount:ci:builder"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_health_and_version_answer_anonymously(path: str) -> None:
    authenticator, _ = build()
    assert authenticator.authenticate({}, None, path) is ANONYMOUS


@pytest.mark.parametrize("path", ["/", "/api", "/metrics", "/livez/ping", "/api/v1/namespaces", "/openapi/v2"])
def test_nothing_else_does(path: str) -> None:
    authenticator, _ = build()
    assert authenticator.authenticate({}, None, path) is None


def test_a_bad_credential_is_not_anonymous_even_for_health() -> None:
    authenticator, _ = build()
    assert authenticator.authenticate(bearer("bad"), None, "/livez") is None
    assert authenticator.authenticate({}, Authority("elsewhere").client("x"), "/livez") is None


# ---------------------------------------------------------------- impersonation


def authorizer(*rules: rbac.PolicyRule) -> Authorizer:
    """One that grants *rules* to bob in the whole cluster."""
    objects = Objects(
        rbac.ClusterRole(metadata=meta.ObjectMeta(name="granted"), rules=list(rules)),
        rbac.ClusterRoleBinding(
            metadata=meta.ObjectMeta(name="granted"),
            role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="granted"),
            subjects=[rbac.Subject(kind="User", name="bob")],
        ),
    )
    return Authorizer(RbacAuthorizer(objects), NodeAuthorizer(objects, []))


def may(groups: str, resources: str, *names: str) -> rbac.PolicyRule:
    return rbac.PolicyRule(
        verbs=["impersonate"], api_groups=[groups], resources=resources.split(), resource_names=list(names)
    )


BOB = User("bob", groups=("system:authenticated",))


def test_without_headers_one_is_oneself() -> None:
    assert effective_user(BOB, CIMultiDict({"Accept": "*/*"}), authorizer()) is BOB


def test_user_groups_uid_and_extra_are_taken_over_where_allowed() -> None:
    headers = CIMultiDict(
        [
            ("Impersonate-User", "alice"),
            ("Impersonate-Group", "devs"),
            ("impersonate-group", "ops"),
            ("Impersonate-Uid", "42"),
            ("Impersonate-Extra-acme.com%2Fproject", "x"),
            ("Impersonate-Extra-Acme.com%2fproject", "y"),
        ]
    )
    allowed = authorizer(
        may("", "users groups"),
        may("authentication.k8s.io", "uids userextras/acme.com/project"),
    )
    user = effective_user(BOB, headers, allowed)
    assert (user.name, user.uid) == ("alice", "42")
    assert user.groups == ("devs", "ops", "system:authenticated")
    assert user.extra == {"acme.com/project": ("x", "y")}


def test_a_service_account_brings_its_groups() -> None:
    headers = CIMultiDict({"Impersonate-User": "system:serviceaccount:ci:builder"})
    user = effective_user(BOB, headers, authorizer(may("", "serviceaccounts", "builder")))
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated")


def test_anonymous_is_not_authenticated() -> None:
    headers = CIMultiDict({"Impersonate-User": "system:anonymous"})
    assert effective_user(BOB, headers, authorizer(may("", "users"))).groups == ("system:unauthenticated",)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (
            [("Impersonate-User", "root")],
            'users "root" is forbidden: User "bob" cannot impersonate resource "users" in API group "" '
            "at the cluster scope",
        ),
        (
            [("Impersonate-User", "alice"), ("Impersonate-Group", "system:masters")],
            'groups "system:masters" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" '
            "at the cluster scope",
        ),
        (
            [("Impersonate-User", "system:serviceaccount:ci:builder")],
            'serviceaccounts "builder" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API '
            'group "" in the namespace "ci"',
        ),
        (
            [("Impersonate-User", "alice"), ("Impersonate-Extra-scopes", "view")],
            'userextras.authentication.k8s.io "view" is forbidden: User "bob" cannot impersonate resource '
            '"userextras/scopes" in API group "authentication.k8s.io" at the cluster scope',
        ),
    ],
)
def test_each_part_needs_its_own_permission(headers: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(StatusError) as caught:
        effective_user(BOB, CIMultiDict(headers), authorizer(may("", "users", "alice")))
    assert (caught.value.code, str(caught.value)) == (403, message)


def test_groups_without_a_user_are_a_bad_request() -> None:
    with pytest.raises(StatusError) as caught:
        effective_user(BOB, CIMultiDict({"Impersonate-Group": "devs"}), authorizer(may("", "groups")))
    assert caught.value.code == 400
    assert "without impersonating a user" in str(caught.value)
