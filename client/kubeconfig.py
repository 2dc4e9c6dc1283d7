"""Where the API server is and who we are: kubeconfig files, and the service account of a pod.

The file format is kubectl's (client.authentication and `v1 Config`), in YAML or JSON. Several files merge as kubectl
merges them: for each name the first file that has it wins, and the first `current-context` that is set. Exec and
auth-provider plugins are not run: an entry that relies on one is refused with words, not ignored. Nothing here opens
a connection.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from client.errors import ConfigError

SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Config:
    """All it takes to reach one API server as one user.

    PEM material is held as bytes, files having been read at load time, except `token_file`: projected tokens rotate
    and are read again as they age.
    """

    server: str
    namespace: str = "default"
    ca: bytes = b""
    client_certificate: bytes = b""
    client_key: bytes = b""
    token: str = ""
    token_file: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    username: str = ""
    password: str = ""
    proxy_url: str = ""


def default_paths(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The files kubectl would read: $KUBECONFIG, a colon-separated list, or ~/.kube/config."""
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return listed or [Path.home() / ".kube" / "config"]


def load(*paths: str | os.PathLike[str], context: str = "") -> Config:
    """Merge kubeconfig files and resolve one context (the current one unless named).

    With no path given, the default ones are used. Files that do not exist are passed over as long as one does. Raises
    ConfigError.
    """
    candidates = [Path(path) for path in paths] or default_paths()
    present = [path for path in candidates if path.exists()]
    if not present:
        raise ConfigError(f"kubeconfig {', '.join(map(str, candidates))}: no such file")
    return _resolve(_merge(present), context)


def in_cluster(directory: Path = SERVICE_ACCOUNT_DIR, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration of a pod: its service account, and the `kubernetes` Service from the environment.

    Raises ConfigError.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    token_file = directory / "token"
    if not host or not token_file.exists():
        raise ConfigError("in-cluster configuration: KUBERNETES_SERVICE_HOST or the service account token is missing")
    namespace_file = directory / "namespace"
    return Config(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace_file.read_text().strip() if namespace_file.exists() else "default",
        ca=_read(directory / "ca.crt"),
        token_file=str(token_file),
    )


def render(config: Config, *, cluster: str = "orlop", user: str = "admin") -> bytes:
    """A self-contained kubeconfig file (YAML, key material inline) that `load` and kubectl read back as `config`."""
    cluster_entry: dict[str, Any] = {"server": config.server}
    if config.ca:
        cluster_entry["certificate-authority-data"] = _b64(config.ca)
    if config.insecure_skip_tls_verify:
        cluster_entry["insecure-skip-tls-verify"] = True
    if config.tls_server_name:
        cluster_entry["tls-server-name"] = config.tls_server_name
    if config.proxy_url:
        cluster_entry["proxy-url"] = config.proxy_url
    secrets = {
        "token": config.token,
        "tokenFile": config.token_file,
        "username": config.username,
        "password": config.password,
    }
    user_entry = {key: value for key, value in secrets.items() if value}
    if config.client_certificate:
        user_entry["client-certificate-data"] = _b64(config.client_certificate)
        user_entry["client-key-data"] = _b64(config.client_key)
    context_entry = {"cluster": cluster, "user": user}
    if config.namespace != "default":
        context_entry["namespace"] = config.namespace
    context = f"{user}@{cluster}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": cluster_entry}],
        "users": [{"name": user, "user": user_entry}],
        "contexts": [{"name": context, "context": context_entry}],
        "current-context": context,
    }
    return yaml.safe_dump(document, sort_keys=False).encode()


def ssl_context(config: Config) -> ssl.SSLContext:
    """A client-side TLS context: at least TLS 1.2, HTTP/1.1 only, the configured CA instead of the system's.

    Raises ConfigError.
    """
    try:
        context = ssl.create_default_context(cadata=config.ca.decode() if config.ca else None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        if config.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if config.client_certificate:
            _load_pair(context, config.client_certificate, config.client_key)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"kubeconfig: TLS material for {config.server}: {error}") from error
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL takes a certificate and key by path only; the file is private and gone again at once."""
    descriptor, path = tempfile.mkstemp(prefix="orlop-client-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


def _merge(paths: Iterable[Path]) -> dict[str, Any]:
    """First file wins, name by name. Relative paths in an entry are relative to the file it stands in."""
    merged: dict[str, Any] = {"clusters": {}, "users": {}, "contexts": {}, "current-context": "", "files": []}
    for path in paths:
        document = _parse(path)
        merged["files"].append(str(path))
        merged["current-context"] = merged["current-context"] or document.get("current-context") or ""
        for section, key in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            for entry in document.get(section) or []:
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise ConfigError(f"kubeconfig {path}: {section}: an entry has no name")
                body = dict(entry.get(key) or {})
                body["directory"] = str(path.parent)
                merged[section].setdefault(entry["name"], body)
    return merged


def _parse(path: Path) -> dict[str, Any]:
    raw = _read(path)
    try:
        # Every JSON document is YAML, but the JSON parser is a hundred times faster.
        document = json.loads(raw) if raw.lstrip().startswith(b"{") else yaml.safe_load(raw)
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"kubeconfig {path}: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"kubeconfig {path}: not a mapping")
    return document


def _resolve(merged: dict[str, Any], context: str) -> Config:
    where = f"kubeconfig {', '.join(merged['files'])}"
    name = context or merged["current-context"]
    if not name:
        raise ConfigError(f"{where}: no current-context is set")
    chosen = merged["contexts"].get(name)
    if chosen is None:
        raise ConfigError(f'{where}: context "{name}" does not exist')
    cluster = merged["clusters"].get(chosen.get("cluster", ""))
    if cluster is None or not cluster.get("server"):
        raise ConfigError(
            f'{where}: context "{name}": cluster "{chosen.get("cluster", "")}" does not exist or has no server'
        )
    user_name = chosen.get("user", "")
    user = merged["users"].get(user_name, {} if not user_name else None)
    if user is None:
        raise ConfigError(f'{where}: context "{name}": user "{user_name}" does not exist')
    for plugin in ("exec", "auth-provider"):
        if plugin in user:
            raise ConfigError(f'{where}: user "{user_name}": {plugin} credentials are not supported')
    return Config(
        server=str(cluster["server"]).rstrip("/"),
        namespace=chosen.get("namespace") or "default",
        ca=_material(cluster, "certificate-authority", where),
        client_certificate=_material(user, "client-certificate", where),
        client_key=_material(user, "client-key", where),
        token=user.get("token") or "",
        token_file=_path(user, user["tokenFile"]) if user.get("tokenFile") and not user.get("token") else "",
        insecure_skip_tls_verify=bool(cluster.get("insecure-skip-tls-verify", False)),
        tls_server_name=cluster.get("tls-server-name") or "",
        username=user.get("username") or "",
        password=user.get("password") or "",
        proxy_url=cluster.get("proxy-url") or "",
    )


def _material(entry: dict[str, Any], key: str, where: str) -> bytes:
    """PEM bytes of an entry, inline data before a file."""
    if inline := entry.get(f"{key}-data"):
        try:
            return base64.b64decode(inline, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise ConfigError(f"{where}: {key}-data: {error}") from error
    if path := entry.get(key):
        return _read(Path(_path(entry, path)))
    return b""


def _path(entry: dict[str, Any], path: str) -> str:
    return os.path.join(entry["directory"], path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"kubeconfig: {path}: {error.strerror}") from error


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
