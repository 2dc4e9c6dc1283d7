"""Users by client certificate."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.certificates import CertificateAuthenticator, CertificateRejected, Subject
from client.clock import FakeClock
from tests.unit.controlplane.apiserver.identity_doubles import Authority

OURS = Authority()
NOW = 1_800_000_000.0
GOOD = OURS.client("alice", "devs")


def authenticator(clock: FakeClock | None = None) -> CertificateAuthenticator[Subject]:
    return CertificateAuthenticator(OURS.pem, clock or FakeClock(NOW), lambda subject: subject)


def test_common_name_is_the_user_and_organizations_are_the_groups() -> None:
    certificate = OURS.client("alice", "devs", "ops")
    user = authenticator().authenticate(certificate)
    assert (user.name, user.groups) == ("alice", ("devs", "ops", "system:authenticated"))
    digest = hashlib.sha256(certificate).hexdigest()
    assert user.extra == (("authentication.kubernetes.io/credential-id", (f"X509SHA256={digest}",)),)


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        (Authority("elsewhere").client("alice"), "x509: certificate signed by unknown authority"),
        (Authority("cluster-ca").client("alice"), "x509: certificate signed by unknown authority"),
        (OURS.client("alice", end=NOW - 1), "x509: certificate has expired"),
        (OURS.client("alice", start=NOW + 60), "x509: certificate is not yet valid"),
        (OURS.client("alice", usage=False), "x509: certificate specifies an incompatible key usage"),
        (OURS.client("", "devs"), "x509: subject with no common name"),
    ],
)
def test_others_are_rejected_every_time(certificate: bytes, reason: str) -> None:
    judge = authenticator()
    for _ in range(2):
        with pytest.raises(CertificateRejected, match=reason):
            judge.authenticate(certificate)


def test_garbage_is_rejected() -> None:
    with pytest.raises(CertificateRejected, match="malformed certificate"):
        authenticator().authenticate(b"\x30\x03abc")


def test_a_certificate_that_expires_on_an_open_connection_is_rejected_from_then_on() -> None:
    clock = FakeClock(NOW)
    judge = authenticator(clock)
    certificate = OURS.client("alice", end=NOW + 10)
    assert judge.authenticate(certificate).name == "alice"
    clock.step_wall(11)
    with pytest.raises(CertificateRejected, match="expired"):
        judge.authenticate(certificate)


@given(st.integers(min_value=0), st.binary(min_size=1, max_size=3))
def test_a_damaged_certificate_is_rejected_and_nothing_worse(place: int, damage: bytes) -> None:
    certificate = GOOD
    place %= len(certificate)
    damaged = certificate[:place] + damage + certificate[place + len(damage) :]
    try:
        user = authenticator().authenticate(damaged)
    except CertificateRejected:
        return
    assert (damaged, user.name) == (certificate, "alice")
