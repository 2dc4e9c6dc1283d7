"""The keys on disk: made, kept, renewed, repaired, whatever happened before."""

from __future__ import annotations

import base64
import datetime
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import jwt
import pytest
import yaml
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from client.clock import FakeClock
from client.files import write_atomically
from controlplane.pki import KeyPair, Pki, ensure_pki
from controlplane.pki.profiles import profiles

NODE = "node-1"
IPS = ["192.0.2.7"]
CIDR = "10.43.0.0/16"
YEAR = 365 * 86400.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(autojump=False)


@pytest.fixture
def ensure(tmp_path: Path, clock: FakeClock) -> Callable[..., Pki]:
    def run(ips: list[str] = IPS) -> Pki:
        return ensure_pki(tmp_path / "lib", tmp_path / "etc", NODE, ips, CIDR, clock)

    return run


def contents(pki: Pki) -> dict[str, bytes]:
    files = [*pki.directory.iterdir(), *pki.config_dir.iterdir(), *(pki.data_dir / "kubeconfigs").iterdir()]
    return {path.name: path.read_bytes() for path in files}


def shake_hands(pki: Pki, client: KeyPair, server: KeyPair, name: str) -> str:
    """A TLS handshake in memory, both sides checked; returns the client's common name as the server saw it."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(server.certificate, server.key)
    serving.load_verify_locations(pki.ca.certificate)
    serving.verify_mode = ssl.CERT_REQUIRED
    calling = ssl.create_default_context(cafile=str(pki.ca.certificate))
    calling.load_cert_chain(client.certificate, client.key)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        calling.wrap_bio(back, there, server_hostname=name),
        serving.wrap_bio(there, back, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    seen = ends[1].getpeercert()
    assert seen
    subject = {key: value for parts in seen["subject"] for key, value in parts}  # type: ignore[str-unpack]
    return str(subject["commonName"])


def verify_all(pki: Pki, clock: FakeClock) -> None:
    """Everything belongs together: judged by the library's own path validation and by what the files grant."""
    authority = x509.load_pem_x509_certificate(pki.ca.certificate.read_bytes())
    for profile in profiles(NODE, IPS, CIDR):
        pair = pki.pair(profile.name)
        leaf = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        leaf.verify_directly_issued_by(authority)
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair.certificate, pair.key)
        assert leaf.not_valid_after_utc.timestamp() > clock.now() + YEAR / 3 - 1
        assert pair.key.stat().st_mode & 0o777 == 0o600
    token = jwt.encode({"sub": "x"}, pki.service_account_key.read_bytes(), "ES256")
    assert jwt.decode(token, pki.service_account_public_key.read_bytes(), ["ES256"]) == {"sub": "x"}
    for path, pair in (
        (pki.admin_kubeconfig, pki.admin),
        (pki.controller_kubeconfig, pki.controller),
        (pki.scheduler_kubeconfig, pki.scheduler),
        (pki.agent_kubeconfig, pki.kubelet_client),
    ):
        document = yaml.safe_load(path.read_bytes())
        user = document["users"][0]["user"]
        assert base64.b64decode(user["client-certificate-data"]) == pair.certificate.read_bytes()
        assert base64.b64decode(user["client-key-data"]) == pair.key.read_bytes()
        cluster = document["clusters"][0]["cluster"]
        assert base64.b64decode(cluster["certificate-authority-data"]) == pki.ca.certificate.read_bytes()
        assert path.stat().st_mode & 0o777 == 0o600


def test_the_first_start_makes_a_working_set(ensure: Callable[..., Pki], clock: FakeClock) -> None:
    pki = ensure()
    verify_all(pki, clock)
    assert pki.directory.stat().st_mode & 0o777 == 0o700


def test_clients_and_servers_accept_each_other(tmp_path: Path) -> None:
    clock = FakeClock(time.time(), autojump=False)
    pki = ensure_pki(tmp_path, tmp_path / "etc", NODE, IPS, CIDR, clock)
    for name in ("kubernetes.default.svc", "localhost", "127.0.0.1", "10.43.0.1", "192.0.2.7", "::1", NODE):
        assert shake_hands(pki, pki.admin, pki.apiserver, name) == "kubernetes-admin"
    assert shake_hands(pki, pki.kubelet_client, pki.apiserver, "localhost") == "system:node:node-1"
    assert shake_hands(pki, pki.apiserver_kubelet_client, pki.kubelet, NODE) == "kube-apiserver-kubelet-client"
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(pki, pki.admin, pki.apiserver, "example.org")
    with pytest.raises(ssl.SSLError):
        shake_hands(pki, pki.admin, pki.controller, "localhost")


def test_the_chain_satisfies_a_strict_verifier(ensure: Callable[..., Pki], clock: FakeClock) -> None:
    pki = ensure()
    authority = x509.load_pem_x509_certificate(pki.ca.certificate.read_bytes())
    leaf = x509.load_pem_x509_certificate(pki.apiserver.certificate.read_bytes())
    at = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
    verifier = PolicyBuilder().store(Store([authority])).time(at).build_server_verifier(x509.DNSName("localhost"))
    assert verifier.verify(leaf, []) == [leaf, authority]


def test_a_second_start_changes_nothing(ensure: Callable[..., Pki]) -> None:
    before = contents(ensure())
    assert contents(ensure()) == before


def test_a_new_node_address_renews_what_names_it(ensure: Callable[..., Pki]) -> None:
    before = contents(ensure())
    after = contents(ensure([*IPS, "192.0.2.8"]))
    assert {name for name in before if after[name] != before[name]} == {"apiserver.crt", "kubelet.crt"}


async def test_what_is_about_to_expire_is_renewed_with_its_key(ensure: Callable[..., Pki], clock: FakeClock) -> None:
    before = contents(ensure())
    await clock.advance(YEAR * 0.8)
    pki = ensure()
    after = contents(pki)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {f"{profile.name}.crt" for profile in profiles(NODE, IPS, CIDR)} | {
        name for name in before if name.endswith(".kubeconfig")
    }
    verify_all(pki, clock)


async def test_an_old_ca_is_renewed_so_that_what_it_signed_stays_good(
    ensure: Callable[..., Pki], clock: FakeClock
) -> None:
    pki = ensure()
    old = x509.load_pem_x509_certificate(pki.ca.certificate.read_bytes())
    await clock.advance(YEAR * 9)
    ensure()
    new = x509.load_pem_x509_certificate(pki.ca.certificate.read_bytes())
    assert new != old
    assert new.subject == old.subject
    x509.load_pem_x509_certificate(pki.admin.certificate.read_bytes()).verify_directly_issued_by(old)
    verify_all(pki, clock)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "apiserver.crt", "admin.key", "sa.key", "sa.pub"])
def test_damage_is_set_aside_and_repaired(
    ensure: Callable[..., Pki], clock: FakeClock, name: str, content: bytes
) -> None:
    pki = ensure()
    (pki.directory / name).write_bytes(content)
    ensure()
    verify_all(pki, clock)
    kept = [path.read_bytes() for path in pki.directory.glob(f"{name}.damaged-*")]
    assert kept == ([content] if name != "sa.pub" else [])


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "sa.pub", "sa.key"])
def test_lost_files_are_made_again(ensure: Callable[..., Pki], clock: FakeClock, name: str) -> None:
    pki = ensure()
    (pki.directory / name).unlink()
    ensure()
    verify_all(pki, clock)


def test_the_certificate_of_a_ca_whose_key_is_lost_is_not_thrown_away(ensure: Callable[..., Pki]) -> None:
    pki = ensure()
    old = pki.ca.certificate.read_bytes()
    pki.ca.key.unlink()
    ensure()
    assert [path.read_bytes() for path in pki.directory.glob("ca.crt.damaged-*")] == [old]


def test_keys_that_others_can_read_are_closed(ensure: Callable[..., Pki], clock: FakeClock) -> None:
    pki = ensure()
    for path in (pki.admin.key, pki.service_account_key, pki.admin_kubeconfig):
        path.chmod(0o644)
    ensure()
    verify_all(pki, clock)


def test_what_an_operator_adds_to_the_kubeconfig_stays(ensure: Callable[..., Pki]) -> None:
    pki = ensure()
    document = yaml.safe_load(pki.admin_kubeconfig.read_bytes())
    document["contexts"][0]["context"]["namespace"] = "work"
    edited = yaml.safe_dump(document).encode()
    pki.admin_kubeconfig.write_bytes(edited)
    ensure()
    assert pki.admin_kubeconfig.read_bytes() == edited


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_at_any_write_converges_at_the_next_start(
    ensure: Callable[..., Pki], clock: FakeClock, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    class Crash(BaseException):
        pass

    crashes = 0
    while True:
        left = 1

        def write(path: Path, data: bytes, *, mode: int) -> None:
            nonlocal left
            left -= 1
            if left < 0 and moment == "before":
                raise Crash
            write_atomically(path, data, mode=mode)
            if left < 0:
                raise Crash

        monkeypatch.setattr("controlplane.pki.ensuring.write_atomically", write)
        monkeypatch.setattr("controlplane.pki.kubeconfigs.write_atomically", write)
        try:
            pki = ensure()
            break
        except Crash:
            crashes += 1
    assert crashes >= 10
    verify_all(pki, clock)
    assert not list(pki.directory.glob("*.damaged-*"))
