"""Defaults of storage classes, CSI drivers and volume attachments."""

from __future__ import annotations

from api import storage_v1 as storage


def default_storage_class(storage_class: storage.StorageClass) -> None:
    if storage_class.reclaim_policy is None:
        storage_class.reclaim_policy = "Delete"
    if storage_class.volume_binding_mode is None:
        storage_class.volume_binding_mode = "Immediate"


def default_csi_driver(driver: storage.CSIDriver) -> None:
    spec = driver.spec
    if spec.attach_required is None:
        spec.attach_required = True
    if spec.pod_info_on_mount is None:
        spec.pod_info_on_mount = False
    if spec.storage_capacity is None:
        spec.storage_capacity = False
    if spec.fs_group_policy is None:
        spec.fs_group_policy = "ReadWriteOnceWithFSType"
    if not spec.volume_lifecycle_modes:
        spec.volume_lifecycle_modes = ["Persistent"]
    if spec.requires_republish is None:
        spec.requires_republish = False
    if spec.se_linux_mount is None:
        spec.se_linux_mount = False


DEFAULTS = {
    ("storage.k8s.io/v1", "StorageClass"): default_storage_class,
    ("storage.k8s.io/v1", "CSIDriver"): default_csi_driver,
}
