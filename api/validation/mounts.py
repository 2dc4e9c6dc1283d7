"""Where a container sees its volumes: mounts and block devices."""

from __future__ import annotations

from api import core_v1 as core
from api.fields import FieldErrors, forbidden, invalid, not_found, not_supported, required
from api.validation.checks import no_backsteps, one_of, relative_path
from api.validation.volumes import Volumes

AnyContainer = core.Container | core.EphemeralContainer

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: AnyContainer, volumes: Volumes, path: str, out: FieldErrors) -> None:
    """Mounts of one container; `path` is the container's."""
    mounts = f"{path}.volumeMounts"
    paths: set[str] = set()
    devices = {device.name: device.device_path for device in container.volume_devices}
    for index, mount in enumerate(container.volume_mounts):
        volume = volumes.get(mount.name)
        if volume is None:
            if not mount.name:
                out.append(required(f"{mounts}[{index}].name"))
            out.append(not_found(f"{mounts}[{index}].name", mount.name))
        if not mount.mount_path:
            out.append(required(f"{mounts}[{index}].mountPath"))
        if mount.mount_path in paths:
            out.append(invalid(f"{mounts}[{index}].mountPath", mount.mount_path, "must be unique"))
        paths.add(mount.mount_path)
        if devices:
            _validate_against_devices(mount, devices, f"{mounts}[{index}]", out)
        if volume is not None and volume.image is not None:
            for value, wire in ((mount.sub_path, "subPath"), (mount.sub_path_expr, "subPathExpr")):
                if value:
                    detail = "not allowed in image volume sources"
                    out.append(invalid(f"{mounts}[{index}].{wire}", value, detail))
        if mount.sub_path:
            relative_path(mount.sub_path, f"{mounts}.subPath", out)
        if mount.sub_path_expr:
            if mount.sub_path:
                detail = "subPathExpr and subPath are mutually exclusive"
                out.append(invalid(f"{mounts}[{index}].subPathExpr", mount.sub_path_expr, detail))
            relative_path(mount.sub_path_expr, f"{mounts}.subPathExpr", out)
        if mount.mount_propagation is not None:
            _validate_propagation(mount.mount_propagation, container, f"{mounts}.mountPropagation", out)
        if mount.recursive_read_only is not None:
            _validate_recursion(mount, f"{mounts}.recursiveReadOnly", out)


def _validate_against_devices(mount: core.VolumeMount, devices: dict[str, str], path: str, out: FieldErrors) -> None:
    if mount.name in devices:
        out.append(invalid(f"{path}.name", mount.name, "must not already exist in volumeDevices"))
    if mount.mount_path in devices.values():
        detail = "must not already exist as a path in volumeDevices"
        out.append(invalid(f"{path}.mountPath", mount.mount_path, detail))


def _validate_propagation(mode: str, container: AnyContainer, path: str, out: FieldErrors) -> None:
    one_of(mode, _PROPAGATIONS, path, out)
    context = container.security_context
    if mode == "Bidirectional" and not (context is not None and context.privileged):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        out.append(forbidden(path, detail))


def _validate_recursion(mount: core.VolumeMount, path: str, out: FieldErrors) -> None:
    if mount.recursive_read_only == "Disabled":
        return
    if mount.recursive_read_only not in _RECURSIVE:
        out.append(not_supported(path, mount.recursive_read_only, _RECURSIVE))
        return
    if not mount.read_only:
        out.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.mount_propagation not in (None, "None"):
        out.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))


def validate_devices(container: AnyContainer, volumes: Volumes, path: str, out: FieldErrors) -> None:
    """Block devices of one container; `path` is the container's."""
    mounts = {mount.name: mount.mount_path for mount in container.volume_mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.volume_devices):
        where = f"{path}.volumeDevices[{index}]"
        volume = volumes.get(device.name)
        if not device.name:
            out.append(required(f"{where}.name"))
        if device.name in names:
            out.append(invalid(f"{where}.name", device.name, "must be unique"))
        if volume is None:
            out.append(not_found(f"{where}.name", device.name))
        elif volume.persistent_volume_claim is None and volume.ephemeral is None:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            out.append(invalid(f"{where}.name", device.name, detail))
        if not device.device_path:
            out.append(required(f"{where}.devicePath"))
        if device.device_path in paths:
            out.append(invalid(f"{where}.devicePath", device.device_path, "must be unique"))
        steps: FieldErrors = []
        no_backsteps(device.device_path, where, steps)
        if steps:
            out.append(invalid(f"{where}.devicePath", device.device_path, "can not contain backsteps ('..')"))
        else:
            paths.add(device.device_path)
        if device.name in mounts:
            out.append(invalid(f"{where}.name", device.name, "must not already exist in volumeMounts"))
        if device.device_path in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            out.append(invalid(f"{where}.devicePath", device.device_path, detail))
        if device.name:
            names.add(device.name)
