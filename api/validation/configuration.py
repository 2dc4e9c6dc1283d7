"""ConfigMaps and Secrets: keys, sizes, what a secret of a known type must hold, and immutability."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from api import core_v1 as core
from api import names
from api.fields import WHOLE, FieldErrors, forbidden, invalid, required, too_long
from api.validation.checks import complain, immutable

SIZE_LIMIT = 1024 * 1024
_SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_JSON_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED = "<secret contents redacted>"
_IMMUTABLE = "field is immutable when `immutable` is set"


def _validate_keys(data: Mapping[str, object], path: str, out: FieldErrors) -> None:
    for key in data:
        if bad := names.config_map_key(key):
            complain(out, f"{path}[{key}]", key, bad)


def validate_config_map(config: core.ConfigMap, out: FieldErrors) -> None:
    _validate_keys(config.data, "data", out)
    for key in config.data.keys() & config.binary_data.keys():
        out.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    _validate_keys(config.binary_data, "binaryData", out)
    size = sum(map(names.byte_length, config.data.values())) + sum(map(len, config.binary_data.values()))
    if size > SIZE_LIMIT:
        out.append(too_long(WHOLE, SIZE_LIMIT))


def validate_config_map_update(new: core.ConfigMap, old: core.ConfigMap, out: FieldErrors) -> None:
    if old.immutable:
        if not new.immutable:
            out.append(forbidden("immutable", _IMMUTABLE))
        if new.data != old.data:
            out.append(forbidden("data", _IMMUTABLE))
        if new.binary_data != old.binary_data:
            out.append(forbidden("binaryData", _IMMUTABLE))
    validate_config_map(new, out)


def validate_secret(secret: core.Secret, out: FieldErrors) -> None:
    """`stringData` must have been merged into `data` before."""
    _validate_keys(secret.data, "data", out)
    if sum(map(len, secret.data.values())) > SIZE_LIMIT:
        out.append(too_long("data", SIZE_LIMIT))
    kind, data = secret.type, secret.data
    if kind == "kubernetes.io/service-account-token":
        if not secret.metadata.annotations.get(_SERVICE_ACCOUNT_NAME):
            out.append(required(f"metadata.annotations[{_SERVICE_ACCOUNT_NAME}]"))
    elif kind in _JSON_KEYS:
        key = _JSON_KEYS[kind]
        if key not in data:
            out.append(required(f"data[{key}]"))
        elif problem := _json_object_problem(data[key]):
            out.append(invalid(f"data[{key}]", _REDACTED, problem))
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            out.append(required("data[username]"))
            out.append(required("data[password]"))
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            out.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/tls":
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                out.append(required(f"data[{key}]"))


def _json_object_problem(raw: bytes) -> str:
    """Why these bytes are no JSON object, in the words of the reference decoder where they are known."""
    if not raw.strip():
        return "unexpected end of JSON input"
    try:
        msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return "json: cannot unmarshal value into Go value of type map[string]interface {}"
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            return "unexpected end of JSON input"
        return f"invalid character {chr(raw.lstrip()[0])!r} looking for beginning of value"
    return ""


def validate_secret_update(new: core.Secret, old: core.Secret, out: FieldErrors) -> None:
    immutable(new.type, old.type, "type", out)
    if old.immutable:
        if not new.immutable:
            out.append(forbidden("immutable", _IMMUTABLE))
        if new.data != old.data:
            out.append(forbidden("data", _IMMUTABLE))
    validate_secret(new, out)
