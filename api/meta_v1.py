"""Types of meta/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated, Any

from api.declarations import (
    Atomic,
    Int32,
    Int64,
    ListMap,
    ListType,
    Merge,
    Required,
    Struct,
    always,
    atomic,
    constant,
    none,
    wire,
)
from api.free_form import FieldsV1, RawExtension
from api.times import Time

DEFINITIONS = "io.k8s.apimachinery.pkg.apis.meta.v1"


class ShardInfo(Struct):
    selector: Required[str] = always(str)


class ListMeta(Struct):
    self_link: str = ""
    resource_version: str = ""
    continue_: str = ""
    remaining_item_count: Int64 | None = None
    shard_info: ShardInfo | None = None


@atomic
class OwnerReference(Struct):
    api_version: Required[str] = always(str)
    kind: Required[str] = always(str)
    name: Required[str] = always(str)
    uid: Required[str] = always(str)
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Struct):
    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: Time | None = None
    fields_type: str = ""
    fields_v1: FieldsV1 = None
    subresource: str = ""


class ObjectMeta(Struct):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    self_link: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: Annotated[list[OwnerReference], ListMap("uid"), Merge("uid")] = []
    finalizers: Annotated[list[str], ListType("set"), Merge()] = []
    managed_fields: Atomic[list[ManagedFieldsEntry]] = []


class TypeMeta(Struct):
    """What every kind begins with; each kind has its own values as defaults."""

    api_version: str = always(str)
    kind: str = always(str)


class Object(TypeMeta):
    """A kind that is stored under a name."""

    metadata: ObjectMeta = always(ObjectMeta)


class ObjectList(TypeMeta):
    """A list of one kind."""

    metadata: ListMeta = always(ListMeta)
    items: Required[list[Any]] = always(list)


class Preconditions(Struct):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("DeleteOptions")
    grace_period_seconds: Int64 | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: Atomic[list[str]] = []
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None


class StatusCause(Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: Atomic[list[StatusCause]] = []
    retry_after_seconds: Int32 = 0


class Status(TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("Status")
    metadata: ListMeta = always(ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: Int32 = 0


class ServerAddressByClientCIDR(Struct):
    client_cidr: Required[str] = always(str, name="clientCIDR")
    server_address: Required[str] = always(str)


class APIVersions(TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("APIVersions")
    versions: Required[Atomic[list[str]]] = always(list)
    server_address_by_client_cidrs: Required[Atomic[list[ServerAddressByClientCIDR]]] = always(
        list, name="serverAddressByClientCIDRs"
    )


class GroupVersionForDiscovery(Struct):
    group_version: Required[str] = always(str)
    version: Required[str] = always(str)


class APIGroup(TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("APIGroup")
    name: Required[str] = always(str)
    versions: Required[Atomic[list[GroupVersionForDiscovery]]] = always(list)
    preferred_version: GroupVersionForDiscovery = always(GroupVersionForDiscovery)
    server_address_by_client_cidrs: Atomic[list[ServerAddressByClientCIDR]] = wire("serverAddressByClientCIDRs", [])


class APIGroupList(TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("APIGroupList")
    groups: Required[Atomic[list[APIGroup]]] = always(list)


class APIResource(Struct):
    name: Required[str] = always(str)
    singular_name: Required[str] = always(str)
    namespaced: Required[bool] = always(bool)
    group: str = ""
    version: str = ""
    kind: Required[str] = always(str)
    verbs: Required[list[str]] = always(list)
    short_names: Atomic[list[str]] = []
    categories: Atomic[list[str]] = []
    storage_version_hash: str = ""


class APIResourceList(TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("APIResourceList")
    group_version: Required[str] = always(str)
    resources: Required[Atomic[list[APIResource]]] = always(list)


class LabelSelectorRequirement(Struct):
    key: Required[str] = always(str)
    operator: Required[str] = always(str)
    values: Atomic[list[str]] = []


@atomic
class LabelSelector(Struct):
    match_labels: dict[str, str] = {}
    match_expressions: Atomic[list[LabelSelectorRequirement]] = []


class FieldSelectorRequirement(Struct):
    key: Required[str] = always(str)
    operator: Required[str] = always(str)
    values: Atomic[list[str]] = []


class Condition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    observed_generation: Int64 = 0
    last_transition_time: Required[Time | None] = always(none)
    reason: Required[str] = always(str)
    message: Required[str] = always(str)


class WatchEvent(Struct):
    type: Required[str] = always(str)
    object: Required[RawExtension] = always(none)


class GroupResource(Struct):
    group: Required[str] = always(str)
    resource: Required[str] = always(str)


class GroupVersionKind(Struct):
    group: Required[str] = always(str)
    version: Required[str] = always(str)
    kind: Required[str] = always(str)


class GroupVersionResource(Struct):
    group: Required[str] = always(str)
    version: Required[str] = always(str)
    resource: Required[str] = always(str)


class PartialObjectMetadata(Object):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("PartialObjectMetadata")


class PartialObjectMetadataList(ObjectList):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("PartialObjectMetadataList")
    items: Required[list[PartialObjectMetadata]] = always(list)


class List(ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("List")
    items: Required[list[RawExtension]] = always(list)


class RootPaths(Struct):
    paths: Required[list[str]] = always(list)


class TableColumnDefinition(Struct):
    name: Required[str] = always(str)
    type: Required[str] = always(str)
    format: Required[str] = always(str)
    description: Required[str] = always(str)
    priority: Required[Int32] = always(int)


class TableRowCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    reason: str = ""
    message: str = ""


class TableRow(Struct):
    cells: Required[list[Any]] = always(list)
    conditions: list[TableRowCondition] = []
    object: RawExtension = always(none)


class Table(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("Table")
    metadata: ListMeta = always(ListMeta)
    column_definitions: Required[list[TableColumnDefinition]] = always(list)
    rows: Required[list[TableRow]] = always(list)


class TableOptions(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("TableOptions")
    include_object: str = ""


class GetOptions(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("GetOptions")
    resource_version: str = ""


class ListOptions(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("ListOptions")
    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: Int64 | None = None
    limit: Int64 = 0
    continue_: str = ""
    send_initial_events: bool | None = None
    shard_selector: str = ""


class CreateOptions(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("CreateOptions")
    dry_run: list[str] = []
    field_manager: str = ""
    field_validation: str = ""


class UpdateOptions(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("UpdateOptions")
    dry_run: list[str] = []
    field_manager: str = ""
    field_validation: str = ""


class PatchOptions(TypeMeta):
    api_version: str = constant("meta.k8s.io/v1")
    kind: str = constant("PatchOptions")
    dry_run: list[str] = []
    force: bool | None = None
    field_manager: str = ""
    field_validation: str = ""
