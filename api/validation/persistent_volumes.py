"""PersistentVolumes: one source, a size, access modes; the source is fixed once made."""

from __future__ import annotations

import msgspec

from api import core_v1 as core
from api import names
from api.codec import deepcopy
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.validation import storage_sources as storage
from api.validation.checks import IMMUTABLE, complain, immutable, no_backsteps, one_of, required_text
from api.validation.claims import VOLUME_MODES, validate_access_modes
from api.validation.differences import describe
from api.validation.resources import validate_positive_amount
from api.validation.scheduling import validate_node_selector
from api.validation.volumes import Check, validate_host_path

_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")


def validate_persistent_volume(volume: core.PersistentVolume, out: FieldErrors) -> None:
    spec = volume.spec
    if not spec.access_modes:
        out.append(required("spec.accessModes"))
    validate_access_modes(spec.access_modes, "spec.accessModes", out)
    if not spec.capacity:
        out.append(required("spec.capacity"))
    if set(spec.capacity) != {"storage"}:
        shown = {name: str(amount) for name, amount in spec.capacity.items()} or None
        out.append(not_supported("spec.capacity", shown, ("storage",)))
    for name, amount in spec.capacity.items():
        validate_positive_amount(amount, f"spec.capacity[{name}]", out)
    if spec.persistent_volume_reclaim_policy:
        one_of(spec.persistent_volume_reclaim_policy, _RECLAIM_POLICIES, "spec.persistentVolumeReclaimPolicy", out)
    if spec.node_affinity is not None:
        if spec.node_affinity.required is None:
            detail = "must specify required node constraints"
            out.append(required("spec.nodeAffinity.required", detail))
        else:
            validate_node_selector(spec.node_affinity.required, "spec.nodeAffinity.required", out)
    _validate_source(volume, out)
    if spec.storage_class_name and (bad := names.dns1123_subdomain(spec.storage_class_name)):
        complain(out, "spec.storageClassName", spec.storage_class_name, bad)
    if spec.volume_mode is not None:
        one_of(spec.volume_mode, VOLUME_MODES, "spec.volumeMode", out)
    recycled = spec.persistent_volume_reclaim_policy == "Recycle"
    if spec.host_path is not None and spec.host_path.path == "/" and recycled:
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        out.append(forbidden("spec.persistentVolumeReclaimPolicy", detail))
    attributes = spec.volume_attributes_class_name
    if attributes is None:
        return
    if not attributes:
        out.append(required("spec.volumeAttributesClassName", "an empty string is disallowed"))
    elif bad := names.dns1123_subdomain(attributes):
        complain(out, "spec.volumeAttributesClassName", attributes, bad)
    if spec.csi is None:
        out.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))


def _validate_source(volume: core.PersistentVolume, out: FieldErrors) -> None:
    found = False
    for attribute, wire, check in _SOURCES:
        source = getattr(volume.spec, attribute)
        if source is None:
            continue
        if found:
            out.append(forbidden(f"spec.{wire}", "may not specify more than 1 volume type"))
            continue
        found = True
        check(source, f"spec.{wire}", out)
    iscsi = volume.spec.iscsi
    if iscsi is not None and iscsi.initiator_name is not None:
        portal = iscsi.target_portal
        storage.validate_iscsi_name_length(volume.metadata.name, portal, "spec.iscsi.targetportal", portal, out)
    if volume.spec.local is not None and volume.spec.node_affinity is None:
        out.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    if not found:
        out.append(required("spec", "must specify a volume type"))


def _validate_local(source: core.LocalVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.path, f"{path}.path", out)
    no_backsteps(source.path, f"{path}.path", out)


def _validate_csi(source: core.CSIPersistentVolumeSource, path: str, out: FieldErrors) -> None:
    storage.validate_csi_driver_name(source.driver, f"{path}.driver", out)
    required_text(source.volume_handle, f"{path}.volumeHandle", out)
    refs = (
        (source.controller_publish_secret_ref, "controllerPublishSecretRef"),
        (source.controller_expand_secret_ref, "controllerExpandSecretRef"),
        (source.node_publish_secret_ref, "nodePublishSecretRef"),
        (source.node_expand_secret_ref, "nodeExpandSecretRef"),
        (source.node_stage_secret_ref, "nodeStageSecretRef"),
    )
    for ref, wire in refs:
        if ref is None:
            continue
        if not ref.name:
            out.append(required(f"{path}.{wire}.name"))
        elif bad := names.dns1123_subdomain(ref.name):
            complain(out, f"{path}.{wire}.name", ref.name, bad)
        if not ref.namespace:
            out.append(required(f"{path}.{wire}.namespace"))
        elif bad := names.dns1123_label(ref.namespace):
            complain(out, f"{path}.{wire}.namespace", ref.namespace, bad)


_SOURCES: tuple[tuple[str, str, Check], ...] = (
    ("host_path", "hostPath", validate_host_path),
    ("gce_persistent_disk", "persistentDisk", storage.validate_gce_disk),
    ("aws_elastic_block_store", "awsElasticBlockStore", storage.validate_aws_disk),
    ("glusterfs", "glusterfs", storage.validate_glusterfs),
    ("flocker", "flocker", storage.validate_flocker),
    ("nfs", "nfs", storage.validate_nfs),
    ("rbd", "rbd", storage.validate_rbd),
    ("quobyte", "quobyte", storage.validate_quobyte),
    ("cephfs", "cephfs", storage.validate_cephfs),
    ("iscsi", "iscsi", storage.validate_iscsi),
    ("cinder", "cinder", storage.validate_cinder),
    ("fc", "fc", storage.validate_fc),
    ("flex_volume", "flexVolume", storage.validate_flex),
    ("azure_file", "azureFile", storage.validate_azure_file),
    ("vsphere_volume", "vsphereVolume", storage.validate_vsphere),
    ("photon_persistent_disk", "photonPersistentDisk", storage.validate_photon),
    ("portworx_volume", "portworxVolume", storage.validate_portworx),
    ("azure_disk", "azureDisk", storage.validate_azure_disk),
    ("scale_io", "scaleIO", storage.validate_scale_io),
    ("local", "local", _validate_local),
    ("storageos", "storageos", storage.validate_storageos),
    ("csi", "csi", _validate_csi),
)


def validate_persistent_volume_update(new: core.PersistentVolume, old: core.PersistentVolume, out: FieldErrors) -> None:
    validate_persistent_volume(new, out)
    changed = _with_source_of(new, old)
    if changed != old.spec:
        detail = f"spec.persistentvolumesource is immutable after creation\n{describe(old.spec, changed)}"
        out.append(forbidden("spec.persistentvolumesource", detail))
    immutable(new.spec.volume_mode, old.spec.volume_mode, "volumeMode", out)
    if old.spec.node_affinity is not None and new.spec.node_affinity != old.spec.node_affinity:
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        out.append(invalid("nodeAffinity", new.spec.node_affinity, detail))
    if old.spec.volume_attributes_class_name is not None and new.spec.volume_attributes_class_name is None:
        out.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))


def _with_source_of(new: core.PersistentVolume, old: core.PersistentVolume) -> core.PersistentVolumeSpec:
    """The old spec with the new source, but for a secret to expand it with, which may be named later."""
    spec = deepcopy(old.spec)
    for attribute, _, _ in _SOURCES:
        setattr(spec, attribute, getattr(new.spec, attribute))
    if spec.csi is not None and old.spec.csi is not None and old.spec.csi.controller_expand_secret_ref is None:
        spec.csi = msgspec.structs.replace(spec.csi, controller_expand_secret_ref=None)
    return spec
