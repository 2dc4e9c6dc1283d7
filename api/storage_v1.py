"""Types of storage/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Atomic, Int32, Int64, ListMap, Merge, Required, SetOf, Struct, always, constant, none
from api.quantity import Quantity
from api.times import Time

DEFINITIONS = "io.k8s.api.storage.v1"


class StorageClass(meta.Object):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("StorageClass")
    provisioner: Required[str] = always(str)
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    mount_options: Atomic[list[str]] = []
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: Atomic[list[core.TopologySelectorTerm]] = []


class StorageClassList(meta.ObjectList):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("StorageClassList")
    items: Required[list[StorageClass]] = always(list)


class VolumeAttachmentSource(Struct):
    persistent_volume_name: str | None = None
    inline_volume_spec: core.PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Struct):
    attacher: Required[str] = always(str)
    source: Required[VolumeAttachmentSource] = always(VolumeAttachmentSource)
    node_name: Required[str] = always(str)


class VolumeError(Struct):
    time: Time | None = always(none)
    message: str = ""
    error_code: Int32 | None = None


class VolumeAttachmentStatus(Struct):
    attached: Required[bool] = always(bool)
    attachment_metadata: dict[str, str] = {}
    attach_error: VolumeError | None = None
    detach_error: VolumeError | None = None


class VolumeAttachment(meta.Object):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("VolumeAttachment")
    spec: Required[VolumeAttachmentSpec] = always(VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = always(VolumeAttachmentStatus)


class VolumeAttachmentList(meta.ObjectList):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("VolumeAttachmentList")
    items: Required[list[VolumeAttachment]] = always(list)


class TokenRequest(Struct):
    audience: Required[str] = always(str)
    expiration_seconds: Int64 | None = None


class CSIDriverSpec(Struct):
    attach_required: bool | None = None
    pod_info_on_mount: bool | None = None
    volume_lifecycle_modes: SetOf[list[str]] = []
    storage_capacity: bool | None = None
    fs_group_policy: str | None = None
    token_requests: Atomic[list[TokenRequest]] = []
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    node_allocatable_update_period_seconds: Int64 | None = None
    service_account_token_in_secrets: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(meta.Object):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("CSIDriver")
    spec: Required[CSIDriverSpec] = always(CSIDriverSpec)


class CSIDriverList(meta.ObjectList):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("CSIDriverList")
    items: Required[list[CSIDriver]] = always(list)


class VolumeNodeResources(Struct):
    count: Int32 | None = None


class CSINodeDriver(Struct):
    name: Required[str] = always(str)
    node_id: Required[str] = always(str, name="nodeID")
    topology_keys: Atomic[list[str]] = always(list)
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct):
    drivers: Required[Annotated[list[CSINodeDriver], ListMap("name"), Merge("name")]] = always(list)


class CSINode(meta.Object):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("CSINode")
    spec: Required[CSINodeSpec] = always(CSINodeSpec)


class CSINodeList(meta.ObjectList):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("CSINodeList")
    items: Required[list[CSINode]] = always(list)


class CSIStorageCapacity(meta.Object):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("CSIStorageCapacity")
    node_topology: meta.LabelSelector | None = None
    storage_class_name: Required[str] = always(str)
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class CSIStorageCapacityList(meta.ObjectList):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("CSIStorageCapacityList")
    items: Required[list[CSIStorageCapacity]] = always(list)


class VolumeAttributesClass(meta.Object):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("VolumeAttributesClass")
    driver_name: Required[str] = always(str)
    parameters: dict[str, str] = {}


class VolumeAttributesClassList(meta.ObjectList):
    api_version: str = constant("storage.k8s.io/v1")
    kind: str = constant("VolumeAttributesClassList")
    items: Required[list[VolumeAttributesClass]] = always(list)
