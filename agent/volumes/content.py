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
    """One file. `owner` is the user it is given to, None for the agent's own (root)."""

    data: bytes
    mode: int
    owner: int | None = None


Files = dict[str, FileContent]


def config_map_files(
    obj: core.ConfigMap | None,
    name: str,
    items: Sequence[core.KeyToPath],
    mode: int,
    *,
    optional: bool,
) -> Files:
    """The files of a config map, None for one that is not there. Raises SetUpError."""
    if obj is None:
        if optional:
            return {}
        raise SetUpError(f'configmap "{name}" not found')
    values = {**{key: text.encode() for key, text in obj.data.items()}, **obj.binary_data}
    return _keyed(values, items, mode, optional=optional, missing="configmap references non-existent config key: {}")


def secret_files(
    obj: core.Secret | None, name: str, items: Sequence[core.KeyToPath], mode: int, *, optional: bool
) -> Files:
    """The files of a secret, None for one that is not there. Raises SetUpError."""
    if obj is None:
        if optional:
            return {}
        raise SetUpError(f'secret "{name}" not found')
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


def together(problems: Sequence[str]) -> str:
    """Several problems in one text, each once, as upstream's aggregated errors read."""
    once = list(dict.fromkeys(problems))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]"


def downward_files(
    pod: core.Pod,
    items: Sequence[core.DownwardAPIVolumeFile],
    mode: int,
    *,
    host_ips: Sequence[str],
    allocatable: Mapping[str, Quantity],
) -> Files:
    """The files that tell a pod about itself. Raises SetUpError for all that cannot be told together."""
    files: Files = {}
    problems: list[str] = []
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
            problems.append(str(error))
            continue
        files[item.path] = FileContent(text.encode(), mode if item.mode is None else item.mode)
    if problems:
        raise SetUpError(together(problems))
    return files


def token_file(path: str, token: str, mode: int, pod: core.Pod) -> Files:
    """The file of a service account token: where the pod has a group or all its containers one user, nobody else's."""
    security = pod.spec.security_context
    user = _only_user(pod)
    if user is not None or (security is not None and security.fs_group is not None):
        mode = 0o600
    return {path: FileContent(token.encode(), mode, user)}


def _only_user(pod: core.Pod) -> int | None:
    """The user that every container of the pod runs as, None when one says nothing or they differ."""
    security = pod.spec.security_context
    default = security.run_as_user if security is not None else None
    users = set()
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        own = container.security_context.run_as_user if container.security_context is not None else None
        users.add(default if own is None else own)
    return users.pop() if len(users) == 1 else None
