"""What tells one thing from another: the hash of a container's definition, and the names that messages use.

The hash decides whether a running container is restarted. It covers the fields that may change in a running pod and are
fixed in a container: name and image. Whatever else were added to it would restart every container on a node the day the
agent is updated.
"""

from __future__ import annotations

import zlib

from api import core_v1 as core
from api.pods import AnyContainer as AnyContainer

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


def field_path(pod: core.Pod, name: str) -> str:
    """How an event names a container of a pod: `spec.containers{app}`."""
    kinds = (
        ("initContainers", pod.spec.init_containers),
        ("containers", pod.spec.containers),
        ("ephemeralContainers", pod.spec.ephemeral_containers),
    )
    for wire, containers in kinds:
        if any(one.name == name for one in containers):
            return f"spec.{wire}{{{name}}}"
    return ""
