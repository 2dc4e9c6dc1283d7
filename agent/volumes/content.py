"""The files of a volume that is made of objects: what is in them and with which mode. Pure.

Paths are relative and have been validated to stay inside. Messages are upstream's, since they end up in events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.runtime.downward import field_value, resource_value
from agent.runtime.errors import ConfigError
from agent.volumes.host import SetUpError
from api import core_v1 as core
from api.pods import find_container
from api.quantity import Quantity

DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file. `owner` is the user it is given to, None for root."""

    data: bytes
    mode: int
    owner: int | None = None


Files = dict[str, FileContent]


def config_map_files(
    obj: core.ConfigMap | None,
    where: str,
    items: Sequence[core.KeyToPath],
    mode: int,
    *,
    optional: bool,
) -> Files:
    """The files of a config map; `where` is its namespace/name. Raises SetUpError."""
    if obj is None:
        if optional:
            return {}
        raise SetUpError(f'configmap "{where.rpartition("/")[2]}" not found')
    values = {**{key: text.encode() for key, text in obj.data.items()}, **obj.binary_data}
    return _keyed(values, items, mode, optional=optional, missing="configmap references non-existent config key: {}")


def secret_files(
    obj: core.Secret | None, where: str, items: Sequence[core.KeyToPath], mode: int, *, optional: bool
) -> Files:
    """The files of a secret; `where` is its namespace/name. Raises SetUpError."""
    if obj is None:
        if optional:
            return {}
        raise SetUpError(f'secret "{where.rpartition("/")[2]}" not found')
    return _keyed(obj.data, items, mode, optional=optional, missing="references non-existent secret key: {}")


def _keyed(
    values: Mapping[str, bytes], items: Sequence[core.KeyToPath], mode: int, *, optional: bool, missing: str
) -> Files:
    if not items:
        return {key: FileContent(data, mode) for key, data in values.items()}
    files: Files = {}
    for item in items:
        data = values.get(item.key)
        if data is None:
            if optional:
                continue
            raise SetUpError(missing.format(item.key))
        files[item.path] = FileContent(data, mode if item.mode is None else item.mode)
    return files


def downward_files(
    pod: core.Pod,
    items: Sequence[core.DownwardAPIVolumeFile],
    mode: int,
    *,
    host_ips: Sequence[str],
    allocatable: Mapping[str, Quantity],
) -> Files:
    """The files that tell a pod about itself. Raises SetUpError."""
    files: Files = {}
    pod_ips = [each.ip for each in pod.status.pod_ips]
    for item in items:
        try:
            if item.field_ref is not None:
                text = field_value(pod, item.field_ref.field_path, pod_ips=pod_ips, host_ips=host_ips)
            elif item.resource_field_ref is not None:
                container = find_container(pod.spec, item.resource_field_ref.container_name)
                if container is None:
                    raise ConfigError(f"container {item.resource_field_ref.container_name} not found")
                text = resource_value(pod, container, item.resource_field_ref, allocatable)
            else:
                continue
        except ConfigError as error:
            raise SetUpError(str(error)) from error
        files[item.path] = FileContent(text.encode(), mode if item.mode is None else item.mode)
    return files


def token_file(path: str, token: str, mode: int, pod: core.Pod) -> Files:
    """The file of a service account token: readable by the group if the pod has one, by its one user, else by all."""
    security = pod.spec.security_context
    if security is not None and security.fs_group is not None:
        return {path: FileContent(token.encode(), 0o600)}
    users = set()
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        own = container.security_context.run_as_user if container.security_context is not None else None
        users.add(own if own is not None else security.run_as_user if security is not None else None)
    if len(users) == 1 and (user := users.pop()) is not None:
        return {path: FileContent(token.encode(), 0o600, user)}
    return {path: FileContent(token.encode(), mode)}
