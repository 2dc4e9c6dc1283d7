"""Bringing the keys on disk to what they should be: idempotent, and safe to be killed at any line.

Each file is whole or not there, a key comes before its certificate and the CA before all, and every step looks at what
is on disk and not at what the last run meant to do. So the next run finishes what a crash has cut short. A damaged file
is set aside, never deleted.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from client.clock import Clock
from client.files import make_directory, set_aside, write_atomically
from controlplane.pki import certificates
from controlplane.pki.kubeconfigs import ensure_kubeconfig
from controlplane.pki.paths import KeyPair, Pki
from controlplane.pki.planning import Action, Decision, Found, Unreadable, decide, decide_ca
from controlplane.pki.profiles import Profile, profiles

_log = logging.getLogger(__name__)

LOCK_DEADLINE = 30.0
"""Seconds another process may take over the same work."""


def ensure_pki(
    data_dir: Path,
    config_dir: Path,
    node_name: str,
    node_ips: Iterable[str],
    service_cidr: str,
    clock: Clock,
    *,
    server: str = "https://127.0.0.1:6443",
) -> Pki:
    """Make, renew or repair all keys, certificates and kubeconfigs of this node, and return where they are.

    `server` is the URL in the kubeconfigs. What is valid is left alone; a certificate is issued anew when it is
    missing, damaged, about to expire, or no longer says what it should (a new node address, say). A new CA, which only
    a lost or damaged CA key brings about, renews everything below it. Blocks for some milliseconds; safe against other
    processes doing the same. Raises OSError when the disk refuses, TimeoutError, ValueError for malformed addresses.
    """
    pki = Pki(data_dir, config_dir)
    wanted = profiles(node_name, node_ips, service_cidr)
    make_directory(pki.directory, mode=0o700)
    with _locked(pki.directory / ".lock"):
        now = clock.now()
        _ensure_ca(pki.ca, now)
        for profile in wanted:
            _ensure_pair(profile, pki.pair(profile.name), pki.ca, now)
        _ensure_service_account_keys(pki, now)
        for path, pair, user in (
            (pki.admin_kubeconfig, pki.admin, "admin"),
            (pki.controller_kubeconfig, pki.controller, "controller"),
            (pki.scheduler_kubeconfig, pki.scheduler, "scheduler"),
            (pki.agent_kubeconfig, pki.kubelet_client, "agent"),
        ):
            reason = ensure_kubeconfig(path, pki.ca.certificate, pair, server, user)
            if reason:
                _log.info("write kubeconfig file=%s reason=%r", path, reason)
    return pki


def _ensure_ca(pair: KeyPair, now: float) -> None:
    key = _ensure_key(pair.key, now)
    found = _look(pair.certificate, key, None)
    decision = decide_ca(found, now)
    if decision.action is Action.KEEP:
        return
    _announce(pair.certificate, decision, now)
    # A CA with another key gets another name, or verifiers that know both could not tell which to try.
    name = found.common_name if isinstance(found, Found) and found.fits_key else f"orlop-ca@{now:.0f}"
    write_atomically(pair.certificate, certificates.issue_ca(key, now, name), mode=0o644)


def _ensure_pair(profile: Profile, pair: KeyPair, ca: KeyPair, now: float) -> None:
    key = _ensure_key(pair.key, now)
    ca_certificate = ca.certificate.read_bytes()
    decision = decide(profile, _look(pair.certificate, key, ca_certificate), now)
    if decision.action is Action.KEEP:
        return
    _announce(pair.certificate, decision, now)
    issued = certificates.issue(profile, key, ca_certificate, ca.key.read_bytes(), now)
    write_atomically(pair.certificate, issued, mode=0o644)


def _ensure_service_account_keys(pki: Pki, now: float) -> None:
    public = certificates.public_key(_ensure_key(pki.service_account_key, now))
    path = pki.service_account_public_key
    if not path.exists() or path.read_bytes() != public:
        write_atomically(path, public, mode=0o644)


def _ensure_key(path: Path, now: float) -> bytes:
    """The private key in a file, made if there is none or it cannot be used."""
    if path.exists():
        key = path.read_bytes()
        problem = certificates.key_problem(key)
        if not problem:
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
            return key
        kept = set_aside(path, now)
        _log.error("damaged key replaced file=%s kept=%s cause=%r", path, kept, problem)
    key = certificates.new_key()
    write_atomically(path, key, mode=0o600)
    return key


def _look(path: Path, key: bytes, ca_certificate: bytes | None) -> Found | Unreadable | None:
    return certificates.inspect(path.read_bytes(), key, ca_certificate) if path.exists() else None


def _announce(path: Path, decision: Decision, now: float) -> None:
    """Say why a certificate is issued, and move what is damaged out of its way."""
    if decision.action is Action.REPLACE_DAMAGED:
        kept = set_aside(path, now)
        _log.error("damaged certificate replaced file=%s kept=%s cause=%r", path, kept, decision.reason)
    else:
        _log.info("issue certificate file=%s reason=%r", path, decision.reason)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes out for the time of the block. Raises TimeoutError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + LOCK_DEADLINE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"lock {path}: held by another process") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)
