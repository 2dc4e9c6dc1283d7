"""Tables of volumes, claims and their drivers."""

from __future__ import annotations

from collections.abc import Sequence

from api import core_v1 as core
from api import storage_v1 as storage
from controlplane.apiserver.tables.ages import since
from controlplane.apiserver.tables.columns import AGE, NAME, NONE, UNSET, Cell, Printer, column, flag, number

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_ACCESS_MODES = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def _modes(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES if mode in modes)


def _volume(item: core.PersistentVolume, now: float) -> list[Cell]:
    spec = item.spec
    claim = "" if spec.claim_ref is None else f"{spec.claim_ref.namespace}/{spec.claim_ref.name}"
    return [
        item.metadata.name,
        str(spec.capacity.get("storage", 0)),
        _modes(spec.access_modes),
        spec.persistent_volume_reclaim_policy,
        "Terminating" if item.metadata.deletion_timestamp is not None else item.status.phase,
        claim,
        item.metadata.annotations.get(_CLASS_ANNOTATION, spec.storage_class_name),
        UNSET if spec.volume_attributes_class_name is None else spec.volume_attributes_class_name,
        item.status.reason,
        since(item.metadata.creation_timestamp, now),
        UNSET if spec.volume_mode is None else spec.volume_mode,
    ]


def _claim(item: core.PersistentVolumeClaim, now: float) -> list[Cell]:
    spec, bound = item.spec, bool(item.spec.volume_name)
    return [
        item.metadata.name,
        "Terminating" if item.metadata.deletion_timestamp is not None else item.status.phase,
        spec.volume_name,
        str(item.status.capacity.get("storage", 0)) if bound else "",
        _modes(item.status.access_modes) if bound else "",
        item.metadata.annotations.get(_CLASS_ANNOTATION, spec.storage_class_name or ""),
        UNSET if spec.volume_attributes_class_name is None else spec.volume_attributes_class_name,
        since(item.metadata.creation_timestamp, now),
        UNSET if spec.volume_mode is None else spec.volume_mode,
    ]


def _storage_class(item: storage.StorageClass, now: float) -> list[Cell]:
    default = any(item.metadata.annotations.get(annotation) == "true" for annotation in _DEFAULT_CLASS)
    return [
        f"{item.metadata.name} (default)" if default else item.metadata.name,
        item.provisioner,
        item.reclaim_policy or "Delete",
        item.volume_binding_mode or "Immediate",
        bool(item.allow_volume_expansion),
        since(item.metadata.creation_timestamp, now),
    ]


def _attributes_class(item: storage.VolumeAttributesClass, now: float) -> list[Cell]:
    return [item.metadata.name, item.driver_name, since(item.metadata.creation_timestamp, now)]


def _attachment(item: storage.VolumeAttachment, now: float) -> list[Cell]:
    return [
        item.metadata.name,
        item.spec.attacher,
        item.spec.source.persistent_volume_name or "",
        item.spec.node_name,
        item.status.attached,
        since(item.metadata.creation_timestamp, now),
    ]


def _csi_node(item: storage.CSINode, now: float) -> list[Cell]:
    return [item.metadata.name, len(item.spec.drivers), since(item.metadata.creation_timestamp, now)]


def _csi_driver(item: storage.CSIDriver, now: float) -> list[Cell]:
    spec = item.spec
    return [
        item.metadata.name,
        spec.attach_required is not False,
        bool(spec.pod_info_on_mount),
        bool(spec.storage_capacity),
        ",".join(request.audience for request in spec.token_requests) or UNSET,
        bool(spec.requires_republish),
        ",".join(spec.volume_lifecycle_modes) or NONE,
        since(item.metadata.creation_timestamp, now),
    ]


def _capacity(item: storage.CSIStorageCapacity, _now: float) -> list[Cell]:
    return [item.metadata.name, item.storage_class_name, UNSET if item.capacity is None else str(item.capacity)]


_CLASS = column("StorageClass", "Class of the storage.")
_ATTRIBUTES_CLASS = column("VolumeAttributesClass", "Class of attributes that can change.")
_VOLUME_MODE = column("VolumeMode", "File system or block device.", wide=True)

VOLUMES = Printer(
    (
        NAME,
        column("Capacity", "Size of the volume."),
        column("Access Modes", "How it can be mounted."),
        column("Reclaim Policy", "What becomes of it when its claim goes."),
        column("Status", "What state it is in."),
        column("Claim", "Claim it is bound to."),
        _CLASS,
        _ATTRIBUTES_CLASS,
        column("Reason", "Why it is in that state."),
        AGE,
        _VOLUME_MODE,
    ),
    _volume,
)
CLAIMS = Printer(
    (
        NAME,
        column("Status", "What state it is in."),
        column("Volume", "Volume it is bound to."),
        column("Capacity", "Size of that volume."),
        column("Access Modes", "How it can be mounted."),
        _CLASS,
        _ATTRIBUTES_CLASS,
        AGE,
        _VOLUME_MODE,
    ),
    _claim,
)
STORAGE_CLASSES = Printer(
    (
        NAME,
        column("Provisioner", "Driver that makes the volumes."),
        column("ReclaimPolicy", "What becomes of a volume when its claim goes."),
        column("VolumeBindingMode", "When a claim is bound."),
        column("AllowVolumeExpansion", "Whether volumes can grow."),
        AGE,
    ),
    _storage_class,
)
ATTRIBUTES_CLASSES = Printer((NAME, column("DriverName", "Driver of the class."), AGE), _attributes_class)
ATTACHMENTS = Printer(
    (
        NAME,
        column("Attacher", "Driver that attaches.", format_="name"),
        column("PV", "Volume that is attached."),
        column("Node", "Node it is attached to."),
        flag("Attached", "Whether it is attached by now."),
        AGE,
    ),
    _attachment,
)
CSI_NODES = Printer((NAME, number("Drivers", "Number of CSI drivers on the node."), AGE), _csi_node)
CSI_DRIVERS = Printer(
    (
        NAME,
        flag("AttachRequired", "Whether volumes are attached before they are mounted."),
        flag("PodInfoOnMount", "Whether the driver is told about the pod."),
        flag("StorageCapacity", "Whether the driver publishes capacity."),
        column("TokenRequests", "Audiences of the tokens the driver is given."),
        flag("RequiresRepublish", "Whether volumes are published again and again."),
        column("Modes", "Life cycles of volumes it supports."),
        AGE,
    ),
    _csi_driver,
)
CAPACITIES = Printer(
    (NAME, column("StorageClassName", "Class the capacity is for."), column("Capacity", "Storage that is left.")),
    _capacity,
)
