"""Credentials for registries, out of image pull secrets.

Which entry fits an image is decided as upstream's keyring does it: the host name by parts, each of which may hold
wildcards, the port exactly, and the path as a prefix; of several the more specific comes first.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent.images.references import DEFAULT_DOMAIN
from api import core_v1 as core
from proto import cri_pb2 as cri

log = logging.getLogger(__name__)

_DOCKER_CONFIG_JSON = "kubernetes.io/dockerconfigjson"
_DOCKER_CFG = "kubernetes.io/dockercfg"
_DEFAULT_REGISTRY_KEY = "index.docker.io"


class InvalidSecret(ValueError):
    """A pull secret does not hold what its type says."""


@dataclass(frozen=True, slots=True)
class Credential:
    username: str
    password: str

    def auth_config(self) -> cri.AuthConfig:
        return cri.AuthConfig(username=self.username, password=self.password)

    def __repr__(self) -> str:
        return f"Credential(username={self.username!r})"  # the password stays out of logs


class Keyring:
    """Credentials by registry."""

    def __init__(self, secrets: Iterable[core.Secret] = ()) -> None:
        """Secrets that cannot be read are left out, with a line in the log: another may do."""
        self._credentials: dict[str, list[Credential]] = {}
        for secret in secrets:
            try:
                self.add(_entries(secret))
            except InvalidSecret as error:
                name = f"{secret.metadata.namespace}/{secret.metadata.name}"
                log.warning("image pull secret is not used: secret=%s error=%s", name, error)

    def add(self, entries: Mapping[str, Credential]) -> None:
        for location, credential in entries.items():
            held = self._credentials.setdefault(_key(location), [])
            if credential not in held:
                held.append(credential)

    def lookup(self, repository: str) -> list[Credential]:
        """Credentials to try for a repository (`docker.io/library/busybox`), best first."""
        found: list[Credential] = []
        for key in sorted(self._credentials, reverse=True):
            if _fits(key, repository):
                found += self._credentials[key]
        if not found and repository.startswith(f"{DEFAULT_DOMAIN}/"):
            found += self._credentials.get(_DEFAULT_REGISTRY_KEY, [])
        return list(dict.fromkeys(found))


def _entries(secret: core.Secret) -> dict[str, Credential]:
    if secret.type == _DOCKER_CONFIG_JSON:
        held = _json(secret.data.get(".dockerconfigjson", b"")).get("auths", {})
    elif secret.type == _DOCKER_CFG:
        held = _json(secret.data.get(".dockercfg", b""))
    else:
        return {}
    if not isinstance(held, dict):
        raise InvalidSecret("registries are not an object")
    return {location: _credential(entry) for location, entry in held.items()}


def _json(raw: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(raw)
    except ValueError as error:
        raise InvalidSecret(f"not JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise InvalidSecret("not an object")
    return decoded


def _credential(entry: object) -> Credential:
    if not isinstance(entry, dict):
        raise InvalidSecret("an entry is not an object")
    encoded = entry.get("auth")
    if not encoded:
        return Credential(str(entry.get("username", "")), str(entry.get("password", "")))
    try:
        # The padding may be missing.
        text = base64.b64decode(str(encoded) + "=" * (-len(str(encoded)) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise InvalidSecret(f"auth is not base64: {error}") from error
    username, colon, password = text.partition(":")
    if not colon:
        raise InvalidSecret("unable to parse auth field, must be formatted as base64(username:password)")
    return Credential(username, password)


def _key(location: str) -> str:
    """`https://host/v1/` and `host/v2/` are the host; anything else after it is kept as a path."""
    url = urlsplit(location if location.startswith(("https://", "http://")) else f"https://{location}")
    path = url.path
    if path.startswith(("/v1/", "/v2/")):
        path = path[3:]
    return url.netloc + path if path not in ("", "/") else url.netloc


def _fits(key: str, repository: str) -> bool:
    wanted, wanted_path = _parted(key)
    given, given_path = _parted(repository)
    if wanted.port != given.port or not given_path.startswith(wanted_path):
        return False
    wanted_parts, given_parts = wanted.host.split("."), given.host.split(".")
    return len(wanted_parts) == len(given_parts) and all(
        fnmatch.fnmatchcase(part, pattern) for pattern, part in zip(wanted_parts, given_parts, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Host:
    host: str
    port: str


def _parted(location: str) -> tuple[_Host, str]:
    host, slash, path = location.partition("/")
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit():
        return _Host(name, port), slash + path
    return _Host(host, ""), slash + path
