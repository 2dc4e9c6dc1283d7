"""The credentials as kubeconfig files, key material inline, so that each can be copied as one file."""

from __future__ import annotations

from pathlib import Path

from client import kubeconfig
from client.errors import ConfigError
from client.files import make_directory, write_atomically
from controlplane.pki.paths import KeyPair


def ensure_kubeconfig(path: Path, ca: Path, pair: KeyPair, server: str, user: str) -> str:
    """Write the file unless it already lets this user in by this server; returns why it was written, or "".

    What else an operator has put into the file (namespace, other contexts) stays as long as the credentials are
    current. The file is private to its owner (0600).
    """
    wanted = kubeconfig.Config(
        server=server,
        ca=ca.read_bytes(),
        client_certificate=pair.certificate.read_bytes(),
        client_key=pair.key.read_bytes(),
    )
    reason = _problem(path, wanted)
    if reason:
        make_directory(path.parent, mode=0o755)
        write_atomically(path, kubeconfig.render(wanted, user=user), mode=0o600)
    elif path.stat().st_mode & 0o077:
        path.chmod(0o600)
        reason = "it was readable by others"
    return reason


def _problem(path: Path, wanted: kubeconfig.Config) -> str:
    if not path.exists():
        return "there is none"
    try:
        found = kubeconfig.load(path)
    except ConfigError as error:
        return str(error)
    current = (wanted.server, wanted.ca, wanted.client_certificate, wanted.client_key)
    if (found.server, found.ca, found.client_certificate, found.client_key) != current:
        return "its credentials are not the current ones"
    return ""
