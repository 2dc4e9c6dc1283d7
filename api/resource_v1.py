"""Types of resource/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Atomic, Int64, ListMap, Merge, Required, Struct, always, constant, none, wire
from api.free_form import RawExtension
from api.quantity import Quantity
from api.times import Time

DEFINITIONS = "io.k8s.api.resource.v1"


class ResourcePool(Struct):
    name: Required[str] = always(str)
    generation: Required[Int64] = always(int)
    resource_slice_count: Required[Int64] = always(int)


class DeviceAttribute(Struct):
    int_: Int64 | None = None
    bool_: bool | None = None
    string: str | None = None
    version: str | None = None
    ints: Atomic[list[Int64]] = []
    bools: Atomic[list[bool]] = []
    strings: Atomic[list[str]] = []
    versions: Atomic[list[str]] = []


class CapacityRequestPolicyRange(Struct):
    min: Required[Quantity | None] = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Struct):
    default: Quantity | None = always(none)
    valid_values: Atomic[list[Quantity]] = []
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Struct):
    value: Required[Quantity] = always(Quantity)
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct):
    value: Required[Quantity] = always(Quantity)


class DeviceCounterConsumption(Struct):
    counter_set: Required[str] = always(str)
    counters: Required[dict[str, Counter]] = {}


class DeviceTaint(Struct):
    key: Required[str] = always(str)
    value: str = ""
    effect: Required[str] = always(str)
    time_added: Time | None = None


class NodeAllocatableResourceMapping(Struct):
    capacity_key: str | None = None
    allocation_multiplier: Quantity | None = None


class Device(Struct):
    name: Required[str] = always(str)
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: Atomic[list[DeviceCounterConsumption]] = []
    node_name: str | None = None
    node_selector: core.NodeSelector | None = None
    all_nodes: bool | None = None
    taints: Atomic[list[DeviceTaint]] = []
    binds_to_node: bool | None = None
    binding_conditions: Atomic[list[str]] = []
    binding_failure_conditions: Atomic[list[str]] = []
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = {}


class CounterSet(Struct):
    name: Required[str] = always(str)
    counters: Required[dict[str, Counter]] = {}


class ResourceSliceSpec(Struct):
    driver: Required[str] = always(str)
    pool: Required[ResourcePool] = always(ResourcePool)
    node_name: str | None = None
    node_selector: core.NodeSelector | None = None
    all_nodes: bool | None = None
    devices: Atomic[list[Device]] = []
    per_device_node_selection: bool | None = None
    shared_counters: Atomic[list[CounterSet]] = []


class ResourceSlice(meta.Object):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("ResourceSlice")
    spec: Required[ResourceSliceSpec] = always(ResourceSliceSpec)


class ResourceSliceList(meta.ObjectList):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("ResourceSliceList")
    items: Required[list[ResourceSlice]] = always(list)


class CELDeviceSelector(Struct):
    expression: Required[str] = always(str)


class DeviceSelector(Struct):
    cel: CELDeviceSelector | None = None


class DeviceToleration(Struct):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Struct):
    requests: dict[str, Quantity] = {}


class ExactDeviceRequest(Struct):
    device_class_name: Required[str] = always(str)
    selectors: Atomic[list[DeviceSelector]] = []
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: Atomic[list[DeviceToleration]] = []
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Struct):
    name: Required[str] = always(str)
    device_class_name: Required[str] = always(str)
    selectors: Atomic[list[DeviceSelector]] = []
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: Atomic[list[DeviceToleration]] = []
    capacity: CapacityRequirements | None = None


class DeviceRequest(Struct):
    name: Required[str] = always(str)
    exactly: ExactDeviceRequest | None = None
    first_available: Atomic[list[DeviceSubRequest]] = []


class DeviceConstraint(Struct):
    requests: Atomic[list[str]] = []
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(Struct):
    driver: Required[str] = always(str)
    parameters: Required[RawExtension] = always(none)


class DeviceClaimConfiguration(Struct):
    requests: Atomic[list[str]] = []
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Struct):
    requests: Atomic[list[DeviceRequest]] = always(list)
    constraints: Atomic[list[DeviceConstraint]] = []
    config: Atomic[list[DeviceClaimConfiguration]] = []


class ResourceClaimSpec(Struct):
    devices: DeviceClaim = always(DeviceClaim)


class DeviceRequestAllocationResult(Struct):
    request: Required[str] = always(str)
    driver: Required[str] = always(str)
    pool: Required[str] = always(str)
    device: Required[str] = always(str)
    admin_access: bool | None = None
    tolerations: Atomic[list[DeviceToleration]] = []
    binding_conditions: Atomic[list[str]] = []
    binding_failure_conditions: Atomic[list[str]] = []
    share_id: str | None = wire("shareID", None)
    consumed_capacity: dict[str, Quantity] = {}


class DeviceAllocationConfiguration(Struct):
    source: Required[str] = always(str)
    requests: Atomic[list[str]] = []
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Struct):
    results: Atomic[list[DeviceRequestAllocationResult]] = []
    config: Atomic[list[DeviceAllocationConfiguration]] = []


class AllocationResult(Struct):
    devices: DeviceAllocationResult = always(DeviceAllocationResult)
    node_selector: core.NodeSelector | None = None
    allocation_timestamp: Time | None = None


class ResourceClaimConsumerReference(Struct):
    api_group: str = ""
    resource: Required[str] = always(str)
    name: Required[str] = always(str)
    uid: Required[str] = always(str)


class NetworkDeviceData(Struct):
    interface_name: str = ""
    ips: Atomic[list[str]] = []
    hardware_address: str = ""


class AllocatedDeviceStatus(Struct):
    driver: Required[str] = always(str)
    pool: Required[str] = always(str)
    device: Required[str] = always(str)
    share_id: str | None = wire("shareID", None)
    conditions: Annotated[list[meta.Condition], ListMap("type")] = always(list)
    data: RawExtension = None
    network_data: NetworkDeviceData | None = None


class ResourceClaimStatus(Struct):
    allocation: AllocationResult | None = None
    reserved_for: Annotated[list[ResourceClaimConsumerReference], ListMap("uid"), Merge("uid")] = []
    devices: Annotated[list[AllocatedDeviceStatus], ListMap("driver", "device", "pool", "shareID")] = []


class ResourceClaim(meta.Object):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("ResourceClaim")
    spec: Required[ResourceClaimSpec] = always(ResourceClaimSpec)
    status: ResourceClaimStatus = always(ResourceClaimStatus)


class ResourceClaimList(meta.ObjectList):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("ResourceClaimList")
    items: Required[list[ResourceClaim]] = always(list)


class DeviceClassConfiguration(Struct):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Struct):
    selectors: Atomic[list[DeviceSelector]] = []
    config: Atomic[list[DeviceClassConfiguration]] = []
    extended_resource_name: str | None = None


class DeviceClass(meta.Object):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("DeviceClass")
    spec: Required[DeviceClassSpec] = always(DeviceClassSpec)


class DeviceClassList(meta.ObjectList):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("DeviceClassList")
    items: Required[list[DeviceClass]] = always(list)


class ResourceClaimTemplateSpec(Struct):
    metadata: meta.ObjectMeta = always(meta.ObjectMeta)
    spec: Required[ResourceClaimSpec] = always(ResourceClaimSpec)


class ResourceClaimTemplate(meta.Object):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("ResourceClaimTemplate")
    spec: Required[ResourceClaimTemplateSpec] = always(ResourceClaimTemplateSpec)


class ResourceClaimTemplateList(meta.ObjectList):
    api_version: str = constant("resource.k8s.io/v1")
    kind: str = constant("ResourceClaimTemplateList")
    items: Required[list[ResourceClaimTemplate]] = always(list)
