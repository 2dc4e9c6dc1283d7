"""The environment variables of a container, in all the forms the API has for them.

Later definitions win: the objects named by `envFrom` in their order, then `env` in its order. Services fill in names
that are still free. A value may refer to what was defined before it. `gather` looks up the objects beforehand, so that
building is pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.runtime.downward import field_value, resource_value
from agent.runtime.env_files import EnvFileError, parse_env_file
from agent.runtime.errors import ConfigError
from agent.runtime.expansion import expand
from api import core_v1 as core
from api.pods import AnyContainer
from api.quantity import Quantity

# Printable ASCII but "=" (KEP-4369).
_NAME = re.compile(r"[ -<>-~]+")


class Objects(Protocol):
    """Config maps and secrets by name; None when there is none. Raises ConfigError when that cannot be told."""

    async def config_map(self, namespace: str, name: str) -> core.ConfigMap | None: ...

    async def secret(self, namespace: str, name: str) -> core.Secret | None: ...


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """What variables are made from beside the pod's own definition."""

    config_maps: Mapping[str, core.ConfigMap] = field(default_factory=dict)
    secrets: Mapping[str, core.Secret] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    """Service variables (`agent.runtime.service_variables`)."""
    pod_ips: Sequence[str] = ()
    host_ips: Sequence[str] = ()
    allocatable: Mapping[str, Quantity] = field(default_factory=dict)
    read_file: Callable[[str, str], str | None] = lambda volume, path: None
    """Content of a file in a volume of the pod, None when it is not there (`fileKeyRef`)."""


@dataclass(slots=True)
class Environment:
    """Variables in order, and the events that making them calls for."""

    variables: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """Texts of InvalidEnvironmentVariableNames events."""


async def gather(
    container: AnyContainer, namespace: str, objects: Objects
) -> tuple[dict[str, core.ConfigMap], dict[str, core.Secret]]:
    """The config maps and secrets that a container's variables refer to; those that do not exist are left out."""
    config_maps: dict[str, core.ConfigMap] = {}
    secrets: dict[str, core.Secret] = {}
    for name in _config_map_names(container):
        config_map = await objects.config_map(namespace, name)
        if config_map is not None:
            config_maps[name] = config_map
    for name in _secret_names(container):
        secret = await objects.secret(namespace, name)
        if secret is not None:
            secrets[name] = secret
    return config_maps, secrets


def reads_files(container: AnyContainer) -> bool:
    """Whether building the environment reads files of volumes, which may hang."""
    return any(one.value_from is not None and one.value_from.file_key_ref is not None for one in container.env)


def build_environment(pod: core.Pod, container: AnyContainer, facts: EnvironmentFacts) -> Environment:
    """Raises ConfigError for what is missing and not optional."""
    result = Environment()
    variables = result.variables
    for source in container.env_from:
        _take_all(pod, source, facts, result)
    for variable in container.env:
        if variable.value_from is None or variable.value:
            value: str | None = expand(variable.value, {**facts.services, **variables})
        else:
            value = _referred(pod, container, variable.value_from, facts)
        if value is not None:
            variables[variable.name] = value
    for name, value in facts.services.items():
        variables.setdefault(name, value)
    return result


def _take_all(pod: core.Pod, source: core.EnvFromSource, facts: EnvironmentFacts, result: Environment) -> None:
    kind, name, values = _values_of(source, facts)
    if values is None:
        return
    invalid = []
    for key, value in values.items():
        variable = f"{source.prefix}{key}"
        if _NAME.fullmatch(variable):
            result.variables[variable] = value
        else:
            invalid.append(variable)
    if invalid:
        result.warnings.append(
            f"Keys [{', '.join(sorted(invalid))}] from the EnvFrom {kind} {pod.metadata.namespace}/{name} were skipped "
            "since they are considered invalid environment variable names."
        )


def _values_of(source: core.EnvFromSource, facts: EnvironmentFacts) -> tuple[str, str, dict[str, str] | None]:
    if source.config_map_ref is not None:
        name = source.config_map_ref.name
        config_map = facts.config_maps.get(name)
        if config_map is None:
            _require("configmap", name, source.config_map_ref.optional)
            return "configMap", name, None
        return "configMap", name, config_map.data
    if source.secret_ref is not None:
        name = source.secret_ref.name
        secret = facts.secrets.get(name)
        if secret is None:
            _require("secret", name, source.secret_ref.optional)
            return "secret", name, None
        return "secret", name, {key: _text(value) for key, value in secret.data.items()}
    return "", "", None


def _require(kind: str, name: str, optional: bool | None) -> None:
    if not optional:
        raise ConfigError(f'{kind} "{name}" not found')


def _referred(pod: core.Pod, container: AnyContainer, source: core.EnvVarSource, facts: EnvironmentFacts) -> str | None:
    """The value a source refers to; None leaves the variable out."""
    if source.field_ref is not None:
        path = source.field_ref.field_path
        return field_value(pod, path, pod_ips=facts.pod_ips, host_ips=facts.host_ips)
    if source.resource_field_ref is not None:
        return resource_value(pod, container, source.resource_field_ref, facts.allocatable)
    if source.config_map_key_ref is not None:
        return _config_map_key(pod, source.config_map_key_ref, facts)
    if source.secret_key_ref is not None:
        return _secret_key(pod, source.secret_key_ref, facts)
    if source.file_key_ref is not None:
        return _file_key(source.file_key_ref, facts)
    return ""


def _config_map_key(pod: core.Pod, selector: core.ConfigMapKeySelector, facts: EnvironmentFacts) -> str | None:
    config_map = facts.config_maps.get(selector.name)
    if config_map is None:
        _require("configmap", selector.name, selector.optional)
        return None
    if selector.key in config_map.data:
        return config_map.data[selector.key]
    if selector.optional:
        return None
    where = f"{pod.metadata.namespace}/{selector.name}"
    raise ConfigError(f"couldn't find key {selector.key} in ConfigMap {where}")


def _secret_key(pod: core.Pod, selector: core.SecretKeySelector, facts: EnvironmentFacts) -> str | None:
    secret = facts.secrets.get(selector.name)
    if secret is None:
        _require("secret", selector.name, selector.optional)
        return None
    if selector.key in secret.data:
        return _text(secret.data[selector.key])
    if selector.optional:
        return None
    raise ConfigError(f"couldn't find key {selector.key} in Secret {pod.metadata.namespace}/{selector.name}")


def _file_key(selector: core.FileKeySelector, facts: EnvironmentFacts) -> str | None:
    content = facts.read_file(selector.volume_name, selector.path)
    if content is None:
        if selector.optional:
            return None
        raise ConfigError(f"environment file {selector.path} not found in volume {selector.volume_name}")
    try:
        values = parse_env_file(content)
    except EnvFileError as error:
        raise ConfigError(f"couldn't parse env file {selector.path}: {error}") from error
    if selector.key in values:
        return values[selector.key]
    if selector.optional:
        return None
    raise ConfigError(f"environment variable key {selector.key} not found in file {selector.path}")


def _text(value: bytes) -> str:
    # A secret may hold any bytes; the runtime takes bytes, and this keeps them as they are on the way.
    return value.decode("utf-8", "surrogateescape")


def _config_map_names(container: AnyContainer) -> list[str]:
    names = {source.config_map_ref.name for source in container.env_from if source.config_map_ref is not None}
    references = [one.value_from.config_map_key_ref for one in container.env if one.value_from is not None]
    return sorted(names | {one.name for one in references if one is not None})


def _secret_names(container: AnyContainer) -> list[str]:
    names = {source.secret_ref.name for source in container.env_from if source.secret_ref is not None}
    references = [one.value_from.secret_key_ref for one in container.env if one.value_from is not None]
    return sorted(names | {one.name for one in references if one is not None})
