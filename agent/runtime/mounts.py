"""What is mounted into a container: its volumes, the pod's /etc/hosts, and the file for its last words.

Sub-paths are named here and bound by whoever acts on the plan (`subpaths`); the mounts refer to the places they are
bound to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent.runtime.errors import ConfigError
from agent.runtime.expansion import expand, without_value
from agent.runtime.facts import NodeFacts, Places
from agent.runtime.hosts import HOSTS_PATH
from agent.runtime.subpaths import is_outside
from api import core_v1 as core
from api.pods import AnyContainer
from proto import cri_pb2 as cri


class HostVolume(Protocol):
    """A volume of the pod as it is on the node."""

    @property
    def path(self) -> str:
        """Where it is on the host."""

    @property
    def read_only(self) -> bool:
        """Nothing may write to it, whatever the container says."""

    @property
    def selinux_relabel(self) -> bool:
        """It belongs to the pod alone and may take the pod's SELinux label."""


@dataclass(frozen=True, slots=True)
class SubPathBind:
    """A part of a volume that has to be bound to `target` before the container is created."""

    volume: Path
    sub_path: str
    target: Path
    mount: str
    """Name of the volume, for messages."""


@dataclass(slots=True)
class Mounts:
    mounts: list[cri.Mount] = field(default_factory=list)
    binds: list[SubPathBind] = field(default_factory=list)


_PROPAGATION = {
    "": cri.PROPAGATION_PRIVATE,
    "None": cri.PROPAGATION_PRIVATE,
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


def volume_mounts(
    pod: core.Pod,
    container: AnyContainer,
    volumes: Mapping[str, HostVolume],
    variables: Mapping[str, str],
    facts: NodeFacts,
    places: Places,
) -> Mounts:
    """The container's own mounts. Raises ConfigError."""
    result = Mounts()
    images = {one.name for one in pod.spec.volumes if one.image is not None}
    for index, mount in enumerate(container.volume_mounts):
        if mount.name in images:
            result.mounts.append(_image_mount(pod, mount))
            continue
        volume = volumes.get(mount.name)
        if volume is None:
            raise ConfigError(f'cannot find volume "{mount.name}" to mount into container "{container.name}"')
        host_path = volume.path
        sub_path = _sub_path(mount, variables)
        if sub_path:
            target = sub_path_place(places, pod.metadata.uid, mount.name, container.name, index)
            result.binds.append(SubPathBind(Path(volume.path), sub_path, target, mount.name))
            host_path = str(target)
        read_only = mount.read_only or volume.read_only
        result.mounts.append(
            cri.Mount(
                container_path=_absolute(mount.mount_path),
                host_path=host_path,
                readonly=read_only,
                recursive_read_only=read_only and _recursive(mount, facts),
                selinux_relabel=volume.selinux_relabel,
                propagation=_propagation(mount),
            )
        )
    return result


def own_mounts(container: AnyContainer, hosts_file: Path | None, termination_file: Path | None) -> list[cri.Mount]:
    """The files the agent adds; a mount of the container's own at /etc/hosts is left alone."""
    mounts = []
    taken = {mount.mount_path for mount in container.volume_mounts}
    if hosts_file is not None and HOSTS_PATH not in taken:
        mounts.append(cri.Mount(container_path=HOSTS_PATH, host_path=str(hosts_file), selinux_relabel=True))
    if termination_file is not None and container.termination_message_path:
        path = container.termination_message_path
        mounts.append(cri.Mount(container_path=path, host_path=str(termination_file), selinux_relabel=True))
    return mounts


def sub_path_folder(places: Places, uid: str) -> Path:
    """Where the sub-path binds of a pod are; to be released before the pod's folder goes."""
    return places.pod(uid) / "volume-subpaths"


def sub_path_place(places: Places, uid: str, volume: str, container: str, index: int) -> Path:
    return sub_path_folder(places, uid) / volume / container / str(index)


def _image_mount(pod: core.Pod, mount: core.VolumeMount) -> cri.Mount:
    """The runtime itself mounts images (KEP-4639)."""
    source = next(one.image for one in pod.spec.volumes if one.name == mount.name)
    reference = source.reference if source is not None else ""
    return cri.Mount(
        container_path=_absolute(mount.mount_path),
        image=cri.ImageSpec(image=reference, user_specified_image=reference),
        image_sub_path=mount.sub_path,
        readonly=True,
    )


def _sub_path(mount: core.VolumeMount, variables: Mapping[str, str]) -> str:
    if not mount.sub_path_expr:
        sub_path = mount.sub_path
    else:
        missing = without_value(mount.sub_path_expr, variables)
        if missing:
            raise ConfigError(f"missing value for {', '.join(missing)}")
        sub_path = expand(mount.sub_path_expr, variables)
    if sub_path.startswith("/"):
        raise ConfigError(f"error SubPath `{sub_path}` must not be an absolute path")
    if is_outside(sub_path):
        raise ConfigError(f"unable to provision SubPath `{sub_path}`: must not contain '..'")
    return sub_path


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _propagation(mount: core.VolumeMount) -> cri.MountPropagation:
    wanted = mount.mount_propagation or ""
    if wanted not in _PROPAGATION:
        raise ConfigError(f'invalid MountPropagation mode: "{wanted}"')
    return _PROPAGATION[wanted]


def _recursive(mount: core.VolumeMount, facts: NodeFacts) -> bool:
    wanted = mount.recursive_read_only or "Disabled"
    if wanted == "Enabled" and not facts.recursive_read_only:
        raise ConfigError(
            f'volume "{mount.name}" requested recursive read-only mode, but it is not supported by the runtime'
        )
    return wanted != "Disabled" and facts.recursive_read_only
