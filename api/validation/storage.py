"""StorageClasses, CSIDrivers, CSINodes and VolumeAttachments: what they name, and what is fixed once made."""

from __future__ import annotations

from api import names
from api import storage_v1 as storage
from api.fields import FieldErrors, duplicate, forbidden, invalid, required
from api.names import Messages
from api.validation.checks import complain, dns_subdomain, immutable, one_of, qualified, required_text
from api.validation.rules import Rules
from api.validation.storage_sources import validate_csi_driver_name

_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Ephemeral", "Persistent")
_NODE_ID_LIMIT = 256


def validate_storage_class(storage_class: storage.StorageClass, out: FieldErrors) -> None:
    provisioner = storage_class.provisioner
    if not provisioner:
        out.append(required("provisioner"))
    elif bad := names.qualified_name(provisioner.lower()):
        complain(out, "provisioner", provisioner, bad)
    if any(not key for key in storage_class.parameters):
        out.append(invalid("parameters", "", "field can not be empty."))
    if storage_class.reclaim_policy:
        one_of(storage_class.reclaim_policy, _RECLAIM_POLICIES, "reclaimPolicy", out)
    if storage_class.volume_binding_mode is None:
        out.append(required("volumeBindingMode"))
    else:
        one_of(storage_class.volume_binding_mode, _BINDING_MODES, "volumeBindingMode", out)


def validate_storage_class_update(new: storage.StorageClass, old: storage.StorageClass, out: FieldErrors) -> None:
    if new.parameters != old.parameters:
        out.append(forbidden("parameters", "updates to parameters are forbidden."))
    if new.provisioner != old.provisioner:
        out.append(forbidden("provisioner", "updates to provisioner are forbidden."))
    if new.reclaim_policy != old.reclaim_policy:
        out.append(forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
    immutable(new.volume_binding_mode, old.volume_binding_mode, "volumeBindingMode", out)


def _driver_name(name: str, prefix: bool) -> Messages:
    """A CSIDriver is named as its driver: a domain, in any case, of at most 63 bytes."""
    if names.byte_length(name) > 63:
        return (names.max_length_error(63),)
    return names.name_is_subdomain(name.lower(), prefix)


def validate_csi_driver(driver: storage.CSIDriver, out: FieldErrors) -> None:
    spec = driver.spec
    for value, wire in (
        (spec.attach_required, "attachedRequired"),
        (spec.pod_info_on_mount, "podInfoOnMount"),
        (spec.storage_capacity, "storageCapacity"),
    ):
        if value is None:
            out.append(required(f"spec.{wire}"))
    if spec.fs_group_policy is not None:
        one_of(spec.fs_group_policy, _FS_GROUP_POLICIES, "spec.fsGroupPolicy", out)
    seen: set[str] = set()
    for index, request in enumerate(spec.token_requests):
        where = f"spec.tokenRequests[{index}]"
        if request.audience in seen:
            out.append(duplicate(f"{where}.audience", request.audience))
        seen.add(request.audience)
        if request.expiration_seconds is None:
            continue
        if request.expiration_seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            out.append(invalid(f"{where}.expirationSeconds", request.expiration_seconds, detail))
        if request.expiration_seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            out.append(invalid(f"{where}.expirationSeconds", request.expiration_seconds, detail))
    for mode in spec.volume_lifecycle_modes:
        one_of(mode, _LIFECYCLE_MODES, "spec.volumeLifecycleModes", out)


def validate_csi_driver_update(new: storage.CSIDriver, old: storage.CSIDriver, out: FieldErrors) -> None:
    validate_csi_driver(new, out)
    immutable(new.spec.attach_required, old.spec.attach_required, "spec.attachedRequired", out)
    immutable(
        sorted(new.spec.volume_lifecycle_modes),
        sorted(old.spec.volume_lifecycle_modes),
        "spec.volumeLifecycleModes",
        out,
    )


def validate_csi_node(node: storage.CSINode, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, driver in enumerate(node.spec.drivers):
        where = f"spec.drivers[{index}]"
        validate_csi_driver_name(driver.name, f"{where}.name", out)
        if driver.name in seen:
            out.append(duplicate(f"{where}.name", driver.name))
        seen.add(driver.name)
        if not driver.node_id:
            out.append(required(f"{where}.nodeID"))
        elif names.byte_length(driver.node_id) > _NODE_ID_LIMIT:
            detail = f"must be {_NODE_ID_LIMIT} characters or less"
            out.append(invalid(f"{where}.nodeID", driver.node_id, detail))
        for key in driver.topology_keys:
            qualified(key, where, out)
            if driver.topology_keys.count(key) > 1:
                out.append(duplicate(f"{where}.topologyKeys", key))
        if driver.allocatable is not None and (driver.allocatable.count or 0) < 0:
            detail = "must be greater than or equal to 0"
            out.append(invalid(f"{where}.allocatable.count", driver.allocatable.count, detail))


def validate_attachment(attachment: storage.VolumeAttachment, out: FieldErrors) -> None:
    spec = attachment.spec
    validate_csi_driver_name(spec.attacher, "spec.attacher", out)
    if not spec.node_name:
        out.append(required("spec.nodeName"))
    else:
        dns_subdomain(spec.node_name, "spec.nodeName", out)
    volume, inline = spec.source.persistent_volume_name, spec.source.inline_volume_spec
    if volume is None and inline is None:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        out.append(required("spec.source", detail))
    elif volume is not None and inline is not None:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        out.append(forbidden("spec.source", detail))
    elif volume is not None:
        required_text(volume, "spec.source.persistentVolumeName", out)


def validate_attachment_update(new: storage.VolumeAttachment, old: storage.VolumeAttachment, out: FieldErrors) -> None:
    validate_attachment(new, out)
    immutable(new.spec, old.spec, "spec", out)


RULES = {
    "StorageClass": Rules(create=validate_storage_class, update=validate_storage_class_update),
    "CSIDriver": Rules(name=_driver_name, create=validate_csi_driver, update=validate_csi_driver_update),
    "CSINode": Rules(create=validate_csi_node),
    "VolumeAttachment": Rules(create=validate_attachment, update=validate_attachment_update),
}
