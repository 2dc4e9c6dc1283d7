"""Keep or issue: the judgement, case by case."""

from __future__ import annotations

import dataclasses

import pytest

from controlplane.pki.planning import KEEP, Action, Found, Unreadable, decide, decide_ca
from controlplane.pki.profiles import Profile, profiles

DAY = 86400.0
NOW = 1_800_000_000.0

WANTED = Profile("apiserver", "kube-apiserver", server=True, dns_names=("a", "b"), addresses=("127.0.0.1", "::1"))

GOOD = Found(
    common_name="kube-apiserver",
    organization="",
    client=False,
    server=True,
    dns_names=frozenset({"a", "b", "old"}),
    addresses=frozenset({"127.0.0.1", "::1"}),
    not_before=NOW - 100 * DAY,
    not_after=NOW + 265 * DAY,
    fits_key=True,
    signed_by_ca=True,
)


def test_what_is_good_is_kept() -> None:
    assert decide(WANTED, GOOD, NOW) == KEEP
    assert decide_ca(GOOD, NOW) == KEEP


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"signed_by_ca": False}, "it was not signed by this CA"),
        ({"fits_key": False}, "it does not belong to its key"),
        ({"common_name": "someone"}, "it is for someone"),
        ({"organization": "system:masters"}, "it is for kube-apiserver"),
        ({"server": False, "client": True}, "it is for kube-apiserver"),
        ({"dns_names": frozenset({"a"})}, "it lacks b"),
        ({"addresses": frozenset()}, "it lacks 127.0.0.1, ::1"),
        ({"not_after": NOW - 1}, "it has expired"),
        ({"not_after": NOW + 40 * DAY}, "it expires in 40 days"),
    ],
)
def test_what_is_not_is_issued(change: dict[str, object], reason: str) -> None:
    decision = decide(WANTED, dataclasses.replace(GOOD, **change), NOW)  # type: ignore[arg-type]
    assert (decision.action, decision.reason) == (Action.ISSUE, reason)


def test_a_certificate_from_the_future_is_kept_as_the_clock_is_wrong() -> None:
    assert decide(WANTED, GOOD, 0.0) == KEEP


def test_damage_is_set_aside() -> None:
    assert decide(WANTED, Unreadable("no PEM"), NOW).action is Action.REPLACE_DAMAGED
    assert decide_ca(Unreadable("no PEM"), NOW).action is Action.REPLACE_DAMAGED
    assert decide_ca(dataclasses.replace(GOOD, fits_key=False), NOW).action is Action.REPLACE_DAMAGED


def test_the_api_server_answers_to_all_its_names() -> None:
    wanted = {profile.name: profile for profile in profiles("node-1", ["10.0.0.5", "fd00::5"], "10.43.0.0/16")}
    server = wanted["apiserver"]
    assert server.dns_names == (
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
        "node-1",
    )
    assert server.addresses == ("127.0.0.1", "::1", "10.0.0.5", "fd00::5", "10.43.0.1")
    assert wanted["kubelet-client"].common_name == "system:node:node-1"
    assert wanted["kubelet-client"].organization == "system:nodes"


def test_malformed_addresses_are_refused() -> None:
    with pytest.raises(ValueError, match="not-an-address"):
        profiles("n", ["not-an-address"], "10.43.0.0/16")
