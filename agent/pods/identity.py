"""What tells one thing from another: the hash of a container's definition, the names messages use, the kinds of pods
by source.

The hash decides whether a running container is restarted. It covers the fields that may change in a running pod and
are fixed in a container: name and image. Whatever else were added to it would restart every container on a node the
day the agent is updated.
"""

from __future__ import annotations

import zlib
from typing import TypeAlias

from api import core_v1 as core

AnyContainer: TypeAlias = core.Container | core.EphemeralContainer

CONFIG_SOURCE_ANNOTATION = "kubernetes.io/config.source"
CONFIG_HASH_ANNOTATION = "kubernetes.io/config.hash"
CONFIG_SEEN_ANNOTATION = "kubernetes.io/config.seen"
CONFIG_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"

API_SOURCE = "api"
FILE_SOURCE = "file"


def container_hash(container: AnyContainer) -> str:
    """A short hash of what makes a container another container; kept on it as an annotation when it is created."""
    return format(zlib.crc32(b"\0".join((container.name.encode(), container.image.encode()))), "x")


def describe(pod: core.Pod) -> str:
    """`name_namespace(uid)`, the form upstream's messages use."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"


def full_name(pod: core.Pod) -> tuple[str, str]:
    """(namespace, name): what two pods of different UID may share."""
    return pod.metadata.namespace, pod.metadata.name


def is_static(pod: core.Pod) -> bool:
    """Whether the pod comes from a manifest on this machine."""
    source = pod.metadata.annotations.get(CONFIG_SOURCE_ANNOTATION, API_SOURCE)
    return source != API_SOURCE and not is_mirror(pod)


def is_mirror(pod: core.Pod) -> bool:
    """Whether the pod is the API's reflection of a static pod."""
    return CONFIG_MIRROR_ANNOTATION in pod.metadata.annotations


def is_critical(pod: core.Pod) -> bool:
    """Whether the pod may push others off the node: static, mirror, or of a system priority class (2,000,000,000 and
    up).
    """
    return is_static(pod) or is_mirror(pod) or (pod.spec.priority or 0) >= 2_000_000_000


def is_sidecar(container: AnyContainer) -> bool:
    """For an init container: whether it is restartable, that is, runs beside the app containers (KEP-753)."""
    return getattr(container, "restart_policy", None) == "Always"


def all_containers(pod: core.Pod) -> list[AnyContainer]:
    """Init, app and ephemeral containers, in this order."""
    return [*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers]


def container_named(pod: core.Pod, name: str) -> AnyContainer | None:
    for container in all_containers(pod):
        if container.name == name:
            return container
    return None


def field_path(pod: core.Pod, name: str) -> str:
    """How an event names a container of a pod: `spec.containers{app}`."""
    for kind in ("init_containers", "containers", "ephemeral_containers"):
        for container in getattr(pod.spec, kind):
            if container.name == name:
                wire = {"init_containers": "initContainers", "ephemeral_containers": "ephemeralContainers"}.get(
                    kind, kind
                )
                return f"spec.{wire}{{{name}}}"
    return ""
