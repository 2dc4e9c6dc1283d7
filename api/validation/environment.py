"""Environment variables and the downward API: `env`, `envFrom`, and references to fields, resources and keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, invalid, not_supported, required
from api.quantity import Quantity
from api.validation.checks import complain, local_path, qualified, required_text
from api.validation.resources import ZERO

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS = frozenset(ENV_FIELDS + VOLUME_FIELDS)
"""Every path the downward API can convert; `spec.host` is an old name of `spec.nodeName`."""

_RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGEPAGE_FIELDS = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS = {
    "cpu": (("1m", "1"), "1m and 1", "cpu"),
    "memory": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "memory"),
    "ephemeral-storage": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "local ephemeral storage"),
    "hugepages": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "hugepages"),
}
_ONE_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"


def validate_env(variables: Sequence[core.EnvVar], path: str, out: FieldErrors) -> None:
    for index, variable in enumerate(variables):
        if not variable.name:
            out.append(required(f"{path}[{index}].name"))
        elif bad := names.relaxed_env_var_name(variable.name):
            complain(out, f"{path}[{index}].name", variable.name, bad)
        if variable.value_from is not None:
            _validate_source(variable, variable.value_from, f"{path}[{index}].valueFrom", out)


def _validate_source(variable: core.EnvVar, source: core.EnvVarSource, path: str, out: FieldErrors) -> None:
    count = 0
    if source.field_ref is not None:
        count += 1
        validate_field_ref(source.field_ref, ENV_FIELDS, f"{path}.fieldRef", out)
    if source.resource_field_ref is not None:
        count += 1
        validate_resource_ref(source.resource_field_ref, f"{path}.resourceFieldRef", out, in_volume=False)
    if source.config_map_key_ref is not None:
        count += 1
        ref = source.config_map_key_ref
        validate_key_ref(ref.name, ref.key, f"{path}.configMapKeyRef", out)
    if source.secret_key_ref is not None:
        count += 1
        validate_key_ref(source.secret_key_ref.name, source.secret_key_ref.key, f"{path}.secretKeyRef", out)
    if source.file_key_ref is not None:
        count += 1
        _validate_file_ref(source.file_key_ref, f"{path}.fileKeyRef", out)
    if count == 0:
        out.append(invalid(path, "", _ONE_SOURCE))
    elif variable.value:
        out.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        out.append(invalid(path, "", "may not have more than one field specified at a time"))


def validate_key_ref(name: str, key: str, path: str, out: FieldErrors) -> None:
    """A key of a ConfigMap or Secret."""
    if bad := names.dns1123_subdomain(name):
        complain(out, f"{path}.name", name, bad)
    if not key:
        out.append(required(f"{path}.key"))
    elif bad := names.config_map_key(key):
        complain(out, f"{path}.key", key, bad)


def _validate_file_ref(ref: core.FileKeySelector, path: str, out: FieldErrors) -> None:
    """A variable in a file of an emptyDir that an init container wrote (KEP-3721)."""
    if not ref.key:
        out.append(required(f"{path}.key"))
    elif bad := names.relaxed_env_var_name(ref.key):
        complain(out, f"{path}.key", ref.key, bad)
    required_text(ref.volume_name, f"{path}.volumeName", out)
    if not ref.path:
        out.append(required(f"{path}.path"))
    else:
        local_path(ref.path, f"{path}.path", out)


def validate_field_ref(ref: core.ObjectFieldSelector, supported: Collection[str], path: str, out: FieldErrors) -> None:
    """A field of the pod itself; labels and annotations may be subscripted (`metadata.labels['app']`)."""
    if not ref.api_version:
        out.append(required(f"{path}.apiVersion"))
        return
    if not ref.field_path:
        out.append(required(f"{path}.fieldPath"))
        return
    if ref.api_version != "v1":
        detail = f"error converting fieldPath: unsupported pod version: {ref.api_version}"
        out.append(invalid(f"{path}.fieldPath", ref.field_path, detail))
        return
    field, subscript = split_subscript(ref.field_path)
    if subscript is not None:
        if field == "metadata.annotations":
            qualified(subscript.lower(), path, out)
        elif field == "metadata.labels":
            qualified(subscript, path, out)
        else:
            detail = f"error converting fieldPath: field label does not support subscript: {ref.field_path}"
            out.append(invalid(f"{path}.fieldPath", ref.field_path, detail))
        return
    if field == "spec.host":
        field = "spec.nodeName"
    if field not in _KNOWN_FIELDS:
        detail = f"error converting fieldPath: field label not supported: {ref.field_path}"
        out.append(invalid(f"{path}.fieldPath", ref.field_path, detail))
    elif field not in supported:
        out.append(not_supported(f"{path}.fieldPath", field, sorted(supported)))


def split_subscript(field_path: str) -> tuple[str, str | None]:
    """`metadata.labels['a']` as ("metadata.labels", "a"); a path without subscript comes back with None."""
    if field_path.endswith("']"):
        field, opened, subscript = field_path[:-2].partition("['")
        if opened and field:
            return field, subscript
    return field_path, None


def validate_resource_ref(ref: core.ResourceFieldSelector, path: str, out: FieldErrors, *, in_volume: bool) -> None:
    """A request or limit of a container; a volume must say of which one."""
    if in_volume and not ref.container_name:
        out.append(required(f"{path}.containerName"))
    elif not ref.resource:
        out.append(required(f"{path}.resource"))
    elif ref.resource not in _RESOURCE_FIELDS and not ref.resource.startswith(_HUGEPAGE_FIELDS):
        out.append(not_supported(f"{path}.resource", ref.resource, _RESOURCE_FIELDS))
    divisor = ref.divisor
    if isinstance(divisor, Quantity) and divisor != ZERO:
        resource = ref.resource.partition(".")[2]
        allowed = _DIVISORS.get("hugepages" if ref.resource.startswith(_HUGEPAGE_FIELDS) else resource)
        if allowed is not None and str(divisor) not in allowed[0]:
            detail = f"only divisor's values {allowed[1]} are supported with the {allowed[2]} resource"
            out.append(invalid(f"{path}.divisor", ref.resource, detail))


def validate_env_from(sources: Sequence[core.EnvFromSource], path: str, out: FieldErrors) -> None:
    for index, source in enumerate(sources):
        where = f"{path}[{index}]"
        if source.prefix and (bad := names.relaxed_env_var_name(source.prefix)):
            complain(out, f"{where}.prefix", source.prefix, bad)
        if source.config_map_ref is not None:
            _validate_source_name(source.config_map_ref.name, f"{where}.configMapRef.name", out)
        if source.secret_ref is not None:
            _validate_source_name(source.secret_ref.name, f"{where}.secretRef.name", out)
        count = (source.config_map_ref is not None) + (source.secret_ref is not None)
        if count == 0:
            out.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif count > 1:
            out.append(invalid(path, "", "may not have more than one field specified at a time"))


def _validate_source_name(name: str, path: str, out: FieldErrors) -> None:
    if not name:
        out.append(required(path))
    elif bad := names.name_is_subdomain(name, True):
        complain(out, path, name, bad)
