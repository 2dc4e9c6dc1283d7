"""Image pull secrets for tests."""

from __future__ import annotations

import base64
import json

from api import core_v1 as core
from api import meta_v1 as meta


def docker_secret(auths: dict[str, tuple[str, str]], *, encoded: bool = False, legacy: bool = False) -> core.Secret:
    """A secret of registries with (user, password); `encoded` as `auth`, `legacy` in the .dockercfg form."""
    entries = {}
    for registry, (username, password) in auths.items():
        if encoded:
            entries[registry] = {"auth": base64.b64encode(f"{username}:{password}".encode()).decode()}
        else:
            entries[registry] = {"username": username, "password": password}
    name = meta.ObjectMeta(name="pull", namespace="default")
    if legacy:
        data = {".dockercfg": json.dumps(entries).encode()}
        return core.Secret(metadata=name, type="kubernetes.io/dockercfg", data=data)
    data = {".dockerconfigjson": json.dumps({"auths": entries}).encode()}
    return core.Secret(metadata=name, type="kubernetes.io/dockerconfigjson", data=data)
