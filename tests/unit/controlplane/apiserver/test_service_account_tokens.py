"""Service-account tokens: how they are issued, and how long they are believed."""

from __future__ import annotations

import base64
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from api import authentication_v1 as authentication
from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import StatusError
from api.times import Time
from client.clock import FakeClock
from controlplane.apiserver.authentication.keys import TokenKeys
from controlplane.apiserver.authentication.rejection import Rejected
from controlplane.apiserver.authentication.service_accounts import ServiceAccountAuthenticator
from controlplane.apiserver.tokens import ISSUER, TokenIssuer
from tests.unit.controlplane.apiserver.identity_doubles import Objects, key_pem

NOW = 1_800_000_000.0
KEYS = TokenKeys(key_pem())

ACCOUNT = core.ServiceAccount(metadata=meta.ObjectMeta(name="builder", namespace="ci", uid="account-1"))
POD = core.Pod(
    metadata=meta.ObjectMeta(name="web", namespace="ci", uid="pod-1"),
    spec=core.PodSpec(service_account_name="builder", node_name="worker"),
)
NODE = core.Node(metadata=meta.ObjectMeta(name="worker", uid="node-1"))
SECRET = core.Secret(metadata=meta.ObjectMeta(name="ticket", namespace="ci", uid="secret-1"))


class Cluster:
    def __init__(self, keys: TokenKeys = KEYS) -> None:
        self.clock = FakeClock(NOW)
        self.objects = Objects(ACCOUNT, POD, NODE, SECRET)
        self.issuer = TokenIssuer(self.objects, keys, self.clock)
        self.authenticator = ServiceAccountAuthenticator(self.objects, keys, ISSUER, (ISSUER,), self.clock)

    def request(self, seconds: int | None = None, bound: str = "", **spec: Any) -> authentication.TokenRequest:
        reference = None
        if bound:
            kind, name = bound.split("/")
            reference = authentication.BoundObjectReference(kind=kind, api_version="v1", name=name)
        wanted = authentication.TokenRequestSpec(expiration_seconds=seconds, bound_object_ref=reference, **spec)
        return self.issuer.request("ci", "builder", authentication.TokenRequest(spec=wanted))

    def token(self, seconds: int | None = None, bound: str = "", **spec: Any) -> str:
        return self.request(seconds, bound, **spec).status.token

    def user(self, token: str) -> str:
        return self.authenticator.authenticate(token)[0].name

    def refusal(self, token: str) -> str:
        with pytest.raises(Rejected) as caught:
            self.authenticator.authenticate(token)
        return str(caught.value)


def claims_of(token: str) -> dict[str, Any]:
    return dict(jwt.decode(token, options={"verify_signature": False}))


def test_claims_are_those_upstream_writes() -> None:
    claims = claims_of(Cluster().token(7200, "Pod/web"))
    assert claims.pop("jti")
    assert claims == {
        "aud": [ISSUER],
        "exp": NOW + 7200,
        "iat": NOW,
        "nbf": NOW,
        "iss": ISSUER,
        "sub": "system:serviceaccount:ci:builder",
        "kubernetes.io": {
            "namespace": "ci",
            "node": {"name": "worker", "uid": "node-1"},
            "pod": {"name": "web", "uid": "pod-1"},
            "serviceaccount": {"name": "builder", "uid": "account-1"},
        },
    }


def test_the_answer_says_what_was_granted() -> None:
    answer = Cluster().request()
    assert answer.spec.expiration_seconds == 3600
    assert answer.spec.audiences == [ISSUER]
    assert answer.status.expiration_timestamp == Time.from_timestamp(NOW + 3600)
    assert (answer.metadata.name, answer.metadata.namespace) == ("builder", "ci")


def test_the_token_admission_mounts_lasts_a_year_and_says_when_it_should_have_been_renewed() -> None:
    answer = Cluster().request(3607, "Pod/web")
    claims = claims_of(answer.status.token)
    assert claims["exp"] == NOW + 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] == NOW + 3607
    assert answer.status.expiration_timestamp == Time.from_timestamp(NOW + 3607)


def test_the_user_is_the_service_account_with_what_it_runs_in() -> None:
    cluster = Cluster()
    token = cluster.token(bound="Pod/web")
    user, audiences = cluster.authenticator.authenticate(token)
    assert (user.name, user.uid, audiences) == ("system:serviceaccount:ci:builder", "account-1", (ISSUER,))
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated")
    assert user.extra == {
        "authentication.kubernetes.io/credential-id": (f"JTI={claims_of(token)['jti']}",),
        "authentication.kubernetes.io/pod-name": ("web",),
        "authentication.kubernetes.io/pod-uid": ("pod-1",),
        "authentication.kubernetes.io/node-name": ("worker",),
        "authentication.kubernetes.io/node-uid": ("node-1",),
    }


@pytest.mark.parametrize(
    ("bound", "item", "refusal"),
    [
        ("Pod/web", POD, "service account token has been invalidated"),
        ("Secret/ticket", SECRET, "service account token has been invalidated"),
        ("Node/worker", NODE, "service account token has been invalidated"),
        ("", ACCOUNT, 'serviceaccounts "builder" not found'),
    ],
)
def test_a_token_dies_with_what_it_is_bound_to(bound: str, item: meta.Object, refusal: str) -> None:
    cluster = Cluster()
    token = cluster.token(bound=bound)
    assert cluster.user(token) == "system:serviceaccount:ci:builder"
    cluster.objects.remove(item)
    assert cluster.refusal(token) == refusal


def test_a_successor_of_the_same_name_does_not_revive_a_token() -> None:
    cluster = Cluster()
    token = cluster.token(bound="Pod/web")
    cluster.objects.put(core.Pod(metadata=meta.ObjectMeta(name="web", namespace="ci", uid="pod-2")))
    assert cluster.refusal(token) == "pod UID (pod-2) does not match service account pod ref claim (pod-1)"
    other = cluster.token()
    cluster.objects.put(core.ServiceAccount(metadata=meta.ObjectMeta(name="builder", namespace="ci", uid="account-2")))
    assert cluster.refusal(other) == "service account UID (account-2) does not match claim (account-1)"


def test_a_pod_being_deleted_keeps_its_token_for_a_minute() -> None:
    cluster = Cluster()
    token = cluster.token(bound="Pod/web")
    leaving = core.Pod(
        metadata=meta.ObjectMeta(name="web", namespace="ci", uid="pod-1", deletion_timestamp=Time.from_timestamp(NOW))
    )
    cluster.objects.put(leaving)
    assert cluster.user(token)
    cluster.clock.step_wall(61)
    assert cluster.refusal(token) == "service account token has been invalidated"


def test_times_are_held_to_by_a_minute() -> None:
    cluster = Cluster()
    token = cluster.token(600)
    cluster.clock.step_wall(-61)
    assert cluster.refusal(token) == "service account token is not valid yet"
    cluster.clock.step_wall(61 + 659)
    assert cluster.user(token)
    cluster.clock.step_wall(2)
    assert cluster.refusal(token) == "service account token has expired"


def test_a_token_for_another_audience_is_refused_here_and_good_there() -> None:
    cluster = Cluster()
    token = cluster.token(audiences=["vault"])
    assert cluster.refusal(token) == (f'token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]')
    assert cluster.authenticator.authenticate(token, ("vault", "other"))[1] == ("vault",)


def test_forged_tokens_are_refused() -> None:
    cluster = Cluster()
    header, payload, signature = cluster.token().split(".")
    raised = json.loads(base64.urlsafe_b64decode(payload + "=="))
    raised["sub"] = "system:serviceaccount:kube-system:root"
    changed = base64.urlsafe_b64encode(json.dumps(raised).encode()).rstrip(b"=").decode()
    strangers = Cluster(TokenKeys(key_pem())).token()
    unsigned = jwt.encode(claims_of(cluster.token()), None, "none")
    deep = base64.urlsafe_b64encode(b"[" * 6000).decode() + ".e30.x"
    for token in (f"{header}.{changed}.{signature}", strangers, unsigned, deep, "garbage", "a.b.c", "\u00e9", ""):
        assert cluster.refusal(token) == "invalid bearer token"


def test_a_token_of_another_issuer_is_refused_though_the_key_is_ours() -> None:
    cluster = Cluster()
    claims = {**claims_of(cluster.token()), "iss": "https://elsewhere"}
    assert cluster.refusal(KEYS.sign(claims)) == "invalid bearer token"


def test_rsa_keys_sign_too_and_a_retired_key_still_verifies() -> None:
    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    old = Cluster(TokenKeys(pem))
    token = old.token()
    assert jwt.get_unverified_header(token)["alg"] == "RS256"
    assert old.user(token)
    from cryptography.hazmat.primitives.serialization import PublicFormat

    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    rotated = Cluster(TokenKeys(key_pem(), [public]))
    assert rotated.user(token) == "system:serviceaccount:ci:builder"


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (
            599,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: '
            "may not specify a duration less than 10 minutes",
        ),
        (
            2**32 + 1,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: '
            "may not specify a duration larger than 2^32 seconds",
        ),
    ],
)
def test_lifetimes_are_bounded(seconds: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        Cluster().request(seconds)
    assert (caught.value.code, str(caught.value)) == (422, message)


def test_a_token_cannot_be_bound_to_a_pod_of_another_account() -> None:
    cluster = Cluster()
    cluster.objects.put(
        core.Pod(metadata=meta.ObjectMeta(name="web", namespace="ci"), spec=core.PodSpec(service_account_name="other"))
    )
    with pytest.raises(StatusError) as caught:
        cluster.request(bound="Pod/web")
    assert (caught.value.code, str(caught.value)) == (
        400,
        'cannot bind token for serviceaccount "builder" to pod running with different serviceaccount name.',
    )


@pytest.mark.parametrize(
    ("bound", "code", "message"),
    [
        ("Pod/gone", 404, 'pods "gone" not found'),
        ("ConfigMap/x", 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
    ],
)
def test_a_token_cannot_be_bound_to_what_is_not_there(bound: str, code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        Cluster().request(bound=bound)
    assert (caught.value.code, str(caught.value)) == (code, message)


def test_a_token_cannot_be_bound_to_a_predecessor() -> None:
    reference = authentication.BoundObjectReference(kind="Pod", api_version="v1", name="web", uid="pod-0")
    spec = authentication.TokenRequestSpec(bound_object_ref=reference)
    with pytest.raises(StatusError) as caught:
        Cluster().issuer.request("ci", "builder", authentication.TokenRequest(spec=spec))
    assert caught.value.code == 409
    assert str(caught.value) == (
        'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (pod-0) does not match the '
        "UID in record. The object might have been deleted and then recreated"
    )


def test_others_verify_tokens_by_the_discovery_documents() -> None:
    cluster = Cluster()
    token = cluster.token(audiences=["vault"])
    configuration = json.loads(cluster.issuer.openid_configuration("https://10.0.0.1:6443"))
    assert configuration == {
        "issuer": ISSUER,
        "jwks_uri": "https://10.0.0.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    key_set = jwt.PyJWKSet.from_json(cluster.issuer.key_set().decode())
    key = key_set[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(
        token,
        key.key,
        ["ES256"],
        audience="vault",
        issuer=ISSUER,
        options={"verify_exp": False, "verify_nbf": False, "verify_iat": False},
    )
    assert claims["sub"] == "system:serviceaccount:ci:builder"
