"""Types of core/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import (
    ATOMIC_MAP,
    GRANULAR_MAP,
    Atomic,
    Int32,
    Int64,
    ListMap,
    ListType,
    Merge,
    Required,
    SetOf,
    Struct,
    always,
    atomic,
    constant,
    none,
    union,
    wire,
)
from api.int_or_string import IntOrString
from api.quantity import Quantity
from api.times import MicroTime, Time

DEFINITIONS = "io.k8s.api.core.v1"


class HostPathVolumeSource(Struct):
    path: Required[str] = always(str)
    type: str | None = None


class EmptyDirVolumeSource(Struct):
    medium: str = ""
    size_limit: Quantity | None = None


class GCEPersistentDiskVolumeSource(Struct):
    pd_name: Required[str] = always(str)
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Struct):
    volume_id: Required[str] = always(str, name="volumeID")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class GitRepoVolumeSource(Struct):
    repository: Required[str] = always(str)
    revision: str = ""
    directory: str = ""


class KeyToPath(Struct):
    key: Required[str] = always(str)
    path: Required[str] = always(str)
    mode: Int32 | None = None


class SecretVolumeSource(Struct):
    secret_name: str = ""
    items: Atomic[list[KeyToPath]] = []
    default_mode: Int32 | None = None
    optional: bool | None = None


class NFSVolumeSource(Struct):
    server: Required[str] = always(str)
    path: Required[str] = always(str)
    read_only: bool = False


@atomic
class LocalObjectReference(Struct):
    name: str = ""


class ISCSIVolumeSource(Struct):
    target_portal: Required[str] = always(str)
    iqn: Required[str] = always(str)
    lun: Required[Int32] = always(int)
    iscsi_interface: str = ""
    fs_type: str = ""
    read_only: bool = False
    portals: Atomic[list[str]] = []
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: LocalObjectReference | None = None
    initiator_name: str | None = None


class GlusterfsVolumeSource(Struct):
    endpoints: Required[str] = always(str)
    path: Required[str] = always(str)
    read_only: bool = False


class PersistentVolumeClaimVolumeSource(Struct):
    claim_name: Required[str] = always(str)
    read_only: bool = False


class RBDVolumeSource(Struct):
    monitors: Required[Atomic[list[str]]] = always(list)
    image: Required[str] = always(str)
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


class FlexVolumeSource(Struct):
    driver: Required[str] = always(str)
    fs_type: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False
    options: dict[str, str] = {}


class CinderVolumeSource(Struct):
    volume_id: Required[str] = always(str, name="volumeID")
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class CephFSVolumeSource(Struct):
    monitors: Required[Atomic[list[str]]] = always(list)
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


class FlockerVolumeSource(Struct):
    dataset_name: str = ""
    dataset_uuid: str = wire("datasetUUID", "")


@atomic
class ObjectFieldSelector(Struct):
    api_version: str = ""
    field_path: Required[str] = always(str)


@atomic
class ResourceFieldSelector(Struct):
    container_name: str = ""
    resource: Required[str] = always(str)
    divisor: Quantity = always(Quantity)


class DownwardAPIVolumeFile(Struct):
    path: Required[str] = always(str)
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    mode: Int32 | None = None


class DownwardAPIVolumeSource(Struct):
    items: Atomic[list[DownwardAPIVolumeFile]] = []
    default_mode: Int32 | None = None


class FCVolumeSource(Struct):
    target_wwns: Atomic[list[str]] = wire("targetWWNs", [])
    lun: Int32 | None = None
    fs_type: str = ""
    read_only: bool = False
    wwids: Atomic[list[str]] = []


class AzureFileVolumeSource(Struct):
    secret_name: Required[str] = always(str)
    share_name: Required[str] = always(str)
    read_only: bool = False


class ConfigMapVolumeSource(Struct):
    name: str = ""
    items: Atomic[list[KeyToPath]] = []
    default_mode: Int32 | None = None
    optional: bool | None = None


class VsphereVirtualDiskVolumeSource(Struct):
    volume_path: Required[str] = always(str)
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = wire("storagePolicyID", "")


class QuobyteVolumeSource(Struct):
    registry: Required[str] = always(str)
    volume: Required[str] = always(str)
    read_only: bool = False
    user: str = ""
    group: str = ""
    tenant: str = ""


class AzureDiskVolumeSource(Struct):
    disk_name: Required[str] = always(str)
    disk_uri: Required[str] = always(str, name="diskURI")
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class PhotonPersistentDiskVolumeSource(Struct):
    pd_id: Required[str] = always(str, name="pdID")
    fs_type: str = ""


class SecretProjection(Struct):
    name: str = ""
    items: Atomic[list[KeyToPath]] = []
    optional: bool | None = None


class DownwardAPIProjection(Struct):
    items: Atomic[list[DownwardAPIVolumeFile]] = []


class ConfigMapProjection(Struct):
    name: str = ""
    items: Atomic[list[KeyToPath]] = []
    optional: bool | None = None


class ServiceAccountTokenProjection(Struct):
    audience: str = ""
    expiration_seconds: Int64 | None = None
    path: Required[str] = always(str)


class ClusterTrustBundleProjection(Struct):
    name: str | None = None
    signer_name: str | None = None
    label_selector: meta.LabelSelector | None = None
    optional: bool | None = None
    path: Required[str] = always(str)


class PodCertificateProjection(Struct):
    signer_name: Required[str] = ""
    key_type: Required[str] = ""
    max_expiration_seconds: Int32 | None = None
    credential_bundle_path: str = ""
    key_path: str = ""
    certificate_chain_path: str = ""
    user_annotations: dict[str, str] = {}


class VolumeProjection(Struct):
    secret: SecretProjection | None = None
    downward_api: DownwardAPIProjection | None = wire("downwardAPI", None)
    config_map: ConfigMapProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    pod_certificate: PodCertificateProjection | None = None


class ProjectedVolumeSource(Struct):
    sources: Atomic[list[VolumeProjection]] = always(list)
    default_mode: Int32 | None = None


class PortworxVolumeSource(Struct):
    volume_id: Required[str] = always(str, name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class ScaleIOVolumeSource(Struct):
    gateway: Required[str] = always(str)
    system: Required[str] = always(str)
    secret_ref: Required[LocalObjectReference | None] = always(none)
    ssl_enabled: bool = False
    protection_domain: str = ""
    storage_pool: str = ""
    storage_mode: str = ""
    volume_name: str = ""
    fs_type: str = ""
    read_only: bool = False


class StorageOSVolumeSource(Struct):
    volume_name: str = ""
    volume_namespace: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class CSIVolumeSource(Struct):
    driver: Required[str] = always(str)
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}
    node_publish_secret_ref: LocalObjectReference | None = None


class VolumeResourceRequirements(Struct):
    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}


@atomic
class TypedLocalObjectReference(Struct):
    api_group: str | None = always(none)
    kind: Required[str] = always(str)
    name: Required[str] = always(str)


class TypedObjectReference(Struct):
    api_group: str | None = always(none)
    kind: Required[str] = always(str)
    name: Required[str] = always(str)
    namespace: str | None = None


class PersistentVolumeClaimSpec(Struct):
    access_modes: Atomic[list[str]] = []
    selector: meta.LabelSelector | None = None
    resources: VolumeResourceRequirements = always(VolumeResourceRequirements)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Struct):
    metadata: meta.ObjectMeta = always(meta.ObjectMeta)
    spec: Required[PersistentVolumeClaimSpec] = always(PersistentVolumeClaimSpec)


class EphemeralVolumeSource(Struct):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class ImageVolumeSource(Struct):
    reference: str = ""
    pull_policy: str = ""


class Volume(Struct):
    name: Required[str] = always(str)
    host_path: HostPathVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = wire("downwardAPI", None)
    fc: FCVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = wire("scaleIO", None)
    storageos: StorageOSVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None


class GlusterfsPersistentVolumeSource(Struct):
    endpoints: Required[str] = always(str)
    path: Required[str] = always(str)
    read_only: bool = False
    endpoints_namespace: str | None = None


@atomic
class SecretReference(Struct):
    name: str = ""
    namespace: str = ""


class RBDPersistentVolumeSource(Struct):
    monitors: Required[Atomic[list[str]]] = always(list)
    image: Required[str] = always(str)
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secret_ref: SecretReference | None = None
    read_only: bool = False


class ISCSIPersistentVolumeSource(Struct):
    target_portal: Required[str] = always(str)
    iqn: Required[str] = always(str)
    lun: Required[Int32] = always(int)
    iscsi_interface: str = ""
    fs_type: str = ""
    read_only: bool = False
    portals: Atomic[list[str]] = []
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: SecretReference | None = None
    initiator_name: str | None = None


class CinderPersistentVolumeSource(Struct):
    volume_id: Required[str] = always(str, name="volumeID")
    fs_type: str = ""
    read_only: bool = False
    secret_ref: SecretReference | None = None


class CephFSPersistentVolumeSource(Struct):
    monitors: Required[Atomic[list[str]]] = always(list)
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: SecretReference | None = None
    read_only: bool = False


class FlexPersistentVolumeSource(Struct):
    driver: Required[str] = always(str)
    fs_type: str = ""
    secret_ref: SecretReference | None = None
    read_only: bool = False
    options: dict[str, str] = {}


class AzureFilePersistentVolumeSource(Struct):
    secret_name: Required[str] = always(str)
    share_name: Required[str] = always(str)
    read_only: bool = False
    secret_namespace: str | None = always(none)


class ScaleIOPersistentVolumeSource(Struct):
    gateway: Required[str] = always(str)
    system: Required[str] = always(str)
    secret_ref: Required[SecretReference | None] = always(none)
    ssl_enabled: bool = False
    protection_domain: str = ""
    storage_pool: str = ""
    storage_mode: str = ""
    volume_name: str = ""
    fs_type: str = ""
    read_only: bool = False


class LocalVolumeSource(Struct):
    path: Required[str] = always(str)
    fs_type: str | None = None


@atomic
class ObjectReference(Struct):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class StorageOSPersistentVolumeSource(Struct):
    volume_name: str = ""
    volume_namespace: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: ObjectReference | None = None


class CSIPersistentVolumeSource(Struct):
    driver: Required[str] = always(str)
    volume_handle: Required[str] = always(str)
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}
    controller_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    controller_expand_secret_ref: SecretReference | None = None
    node_expand_secret_ref: SecretReference | None = None


class NodeSelectorRequirement(Struct):
    key: Required[str] = always(str)
    operator: Required[str] = always(str)
    values: Atomic[list[str]] = []


@atomic
class NodeSelectorTerm(Struct):
    match_expressions: Atomic[list[NodeSelectorRequirement]] = []
    match_fields: Atomic[list[NodeSelectorRequirement]] = []


@atomic
class NodeSelector(Struct):
    node_selector_terms: Required[Atomic[list[NodeSelectorTerm]]] = always(list)


class VolumeNodeAffinity(Struct):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct):
    capacity: dict[str, Quantity] = {}
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    cephfs: CephFSPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    scale_io: ScaleIOPersistentVolumeSource | None = wire("scaleIO", None)
    local: LocalVolumeSource | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    csi: CSIPersistentVolumeSource | None = None
    access_modes: Atomic[list[str]] = []
    claim_ref: Annotated[ObjectReference | None, GRANULAR_MAP] = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: Atomic[list[str]] = []
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeStatus(Struct):
    phase: str = ""
    message: str = ""
    reason: str = ""
    last_phase_transition_time: Time | None = None


class PersistentVolume(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("PersistentVolume")
    spec: PersistentVolumeSpec = always(PersistentVolumeSpec)
    status: PersistentVolumeStatus = always(PersistentVolumeStatus)


class PersistentVolumeList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("PersistentVolumeList")
    items: Required[list[PersistentVolume]] = always(list)


class PersistentVolumeClaimCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_probe_time: Time | None = always(none)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class ModifyVolumeStatus(Struct):
    target_volume_attributes_class_name: str = ""
    status: Required[str] = always(str)


class PersistentVolumeClaimStatus(Struct):
    phase: str = ""
    access_modes: Atomic[list[str]] = []
    capacity: dict[str, Quantity] = {}
    conditions: Annotated[list[PersistentVolumeClaimCondition], ListMap("type"), Merge("type")] = []
    allocated_resources: dict[str, Quantity] = {}
    allocated_resource_statuses: Annotated[dict[str, str], GRANULAR_MAP] = {}
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("PersistentVolumeClaim")
    spec: PersistentVolumeClaimSpec = always(PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = always(PersistentVolumeClaimStatus)


class PersistentVolumeClaimList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("PersistentVolumeClaimList")
    items: Required[list[PersistentVolumeClaim]] = always(list)


class ContainerPort(Struct):
    name: str = ""
    host_port: Int32 = 0
    container_port: Required[Int32] = always(int)
    protocol: str = ""
    host_ip: str = wire("hostIP", "")


class VolumeMount(Struct):
    name: Required[str] = always(str)
    read_only: bool = False
    recursive_read_only: str | None = None
    mount_path: Required[str] = always(str)
    sub_path: str = ""
    mount_propagation: str | None = None
    sub_path_expr: str = ""


class VolumeDevice(Struct):
    name: Required[str] = always(str)
    device_path: Required[str] = always(str)


@atomic
class ConfigMapKeySelector(Struct):
    name: str = ""
    key: Required[str] = always(str)
    optional: bool | None = None


@atomic
class SecretKeySelector(Struct):
    name: str = ""
    key: Required[str] = always(str)
    optional: bool | None = None


@atomic
class FileKeySelector(Struct):
    volume_name: Required[str] = always(str)
    path: Required[str] = always(str)
    key: Required[str] = always(str)
    optional: bool | None = None


class EnvVarSource(Struct):
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: ConfigMapKeySelector | None = None
    secret_key_ref: SecretKeySelector | None = None
    file_key_ref: FileKeySelector | None = None


class EnvVar(Struct):
    name: Required[str] = always(str)
    value: str = ""
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(Struct):
    name: str = ""
    optional: bool | None = None


class SecretEnvSource(Struct):
    name: str = ""
    optional: bool | None = None


class EnvFromSource(Struct):
    prefix: str = ""
    config_map_ref: ConfigMapEnvSource | None = None
    secret_ref: SecretEnvSource | None = None


class HTTPHeader(Struct):
    name: Required[str] = always(str)
    value: Required[str] = always(str)


class HTTPGetAction(Struct):
    path: str = ""
    port: Required[IntOrString] = always(int)
    host: str = ""
    scheme: str = ""
    http_headers: Atomic[list[HTTPHeader]] = []


class TCPSocketAction(Struct):
    port: Required[IntOrString] = always(int)
    host: str = ""


class GRPCAction(Struct):
    port: Required[Int32] = always(int)
    service: str | None = always(none)


class ExecAction(Struct):
    command: Atomic[list[str]] = []


class SleepAction(Struct):
    seconds: Required[Int64] = always(int)


class Probe(Struct):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: Int32 = 0
    timeout_seconds: Int32 = 0
    period_seconds: Int32 = 0
    success_threshold: Int32 = 0
    failure_threshold: Int32 = 0
    termination_grace_period_seconds: Int64 | None = None


class ContainerResizePolicy(Struct):
    resource_name: Required[str] = always(str)
    restart_policy: Required[str] = always(str)


class Capabilities(Struct):
    add: Atomic[list[str]] = []
    drop: Atomic[list[str]] = []


class ResourceClaim(Struct):
    name: Required[str] = always(str)
    request: str = ""


class ResourceRequirements(Struct):
    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}
    claims: Annotated[list[ResourceClaim], ListMap("name")] = []


class ContainerRestartRuleOnExitCodes(Struct):
    operator: Required[str] = ""
    values: SetOf[list[Int32]] = []


class ContainerRestartRule(Struct):
    action: Required[str] = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class LifecycleHandler(Struct):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Struct):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class SELinuxOptions(Struct):
    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class WindowsSecurityContextOptions(Struct):
    gmsa_credential_spec_name: str | None = None
    gmsa_credential_spec: str | None = None
    run_as_user_name: str | None = None
    host_process: bool | None = None


@union("type", localhostProfile="LocalhostProfile")
class SeccompProfile(Struct):
    type: Required[str] = always(str)
    localhost_profile: str | None = None


@union("type", localhostProfile="LocalhostProfile")
class AppArmorProfile(Struct):
    type: Required[str] = always(str)
    localhost_profile: str | None = None


class SecurityContext(Struct):
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    proc_mount: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None


class Container(Struct):
    name: Required[str] = always(str)
    image: str = ""
    command: Atomic[list[str]] = []
    args: Atomic[list[str]] = []
    working_dir: str = ""
    ports: Annotated[list[ContainerPort], ListMap("containerPort", "protocol"), Merge("containerPort")] = []
    env_from: Atomic[list[EnvFromSource]] = []
    env: Annotated[list[EnvVar], ListMap("name"), Merge("name")] = []
    resources: ResourceRequirements = always(ResourceRequirements)
    resize_policy: Atomic[list[ContainerResizePolicy]] = []
    restart_policy: str | None = None
    restart_policy_rules: Atomic[list[ContainerRestartRule]] = []
    volume_mounts: Annotated[list[VolumeMount], ListMap("mountPath"), Merge("mountPath")] = []
    volume_devices: Annotated[list[VolumeDevice], ListMap("devicePath"), Merge("devicePath")] = []
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: SecurityContext | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False


class ContainerStateWaiting(Struct):
    reason: str = ""
    message: str = ""


class ContainerStateRunning(Struct):
    started_at: Time | None = always(none)


class ContainerStateTerminated(Struct):
    exit_code: Required[Int32] = always(int)
    signal: Int32 = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = always(none)
    finished_at: Time | None = always(none)
    container_id: str = wire("containerID", "")


class ContainerState(Struct):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ImageVolumeStatus(Struct):
    image_ref: Required[str] = ""


class VolumeStatus(Struct):
    image: ImageVolumeStatus | None = None


class VolumeMountStatus(Struct):
    name: Required[str] = always(str)
    mount_path: Required[str] = always(str)
    read_only: bool = False
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class LinuxContainerUser(Struct):
    uid: Required[Int64] = always(int)
    gid: Required[Int64] = always(int)
    supplemental_groups: Atomic[list[Int64]] = []


class ContainerUser(Struct):
    linux: LinuxContainerUser | None = None


class ResourceHealth(Struct):
    resource_id: Required[str] = always(str, name="resourceID")
    health: str = ""
    message: str | None = None


class ResourceStatus(Struct):
    name: Required[str] = always(str)
    resources: Annotated[list[ResourceHealth], ListMap("resourceID")] = []


class ContainerStatus(Struct):
    name: Required[str] = always(str)
    state: ContainerState = always(ContainerState)
    last_state: ContainerState = always(ContainerState)
    ready: Required[bool] = always(bool)
    restart_count: Required[Int32] = always(int)
    image: Required[str] = always(str)
    image_id: Required[str] = always(str, name="imageID")
    container_id: str = wire("containerID", "")
    started: bool | None = None
    allocated_resources: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None
    volume_mounts: Annotated[list[VolumeMountStatus], ListMap("mountPath"), Merge("mountPath")] = []
    user: ContainerUser | None = None
    allocated_resources_status: Annotated[list[ResourceStatus], ListMap("name"), Merge("name")] = []
    stop_signal: str | None = None


class PodCondition(Struct):
    type: Required[str] = always(str)
    observed_generation: Int64 = 0
    status: Required[str] = always(str)
    last_probe_time: Time | None = always(none)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class TopologySelectorLabelRequirement(Struct):
    key: Required[str] = always(str)
    values: Required[Atomic[list[str]]] = always(list)


@atomic
class TopologySelectorTerm(Struct):
    match_label_expressions: Atomic[list[TopologySelectorLabelRequirement]] = []


class PreferredSchedulingTerm(Struct):
    weight: Required[Int32] = always(int)
    preference: Required[NodeSelectorTerm] = always(NodeSelectorTerm)


class NodeAffinity(Struct):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: Atomic[list[PreferredSchedulingTerm]] = []


class PodAffinityTerm(Struct):
    label_selector: meta.LabelSelector | None = None
    namespaces: Atomic[list[str]] = []
    topology_key: Required[str] = always(str)
    namespace_selector: meta.LabelSelector | None = None
    match_label_keys: Atomic[list[str]] = []
    mismatch_label_keys: Atomic[list[str]] = []


class WeightedPodAffinityTerm(Struct):
    weight: Required[Int32] = always(int)
    pod_affinity_term: Required[PodAffinityTerm] = always(PodAffinityTerm)


class PodAffinity(Struct):
    required_during_scheduling_ignored_during_execution: Atomic[list[PodAffinityTerm]] = []
    preferred_during_scheduling_ignored_during_execution: Atomic[list[WeightedPodAffinityTerm]] = []


class PodAntiAffinity(Struct):
    required_during_scheduling_ignored_during_execution: Atomic[list[PodAffinityTerm]] = []
    preferred_during_scheduling_ignored_during_execution: Atomic[list[WeightedPodAffinityTerm]] = []


class Affinity(Struct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Taint(Struct):
    key: Required[str] = always(str)
    value: str = ""
    effect: Required[str] = always(str)
    time_added: Time | None = None


class Toleration(Struct):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class PodReadinessGate(Struct):
    condition_type: Required[str] = always(str)


class EphemeralContainer(Struct):
    name: Required[str] = always(str)
    image: str = ""
    command: Atomic[list[str]] = []
    args: Atomic[list[str]] = []
    working_dir: str = ""
    ports: Annotated[list[ContainerPort], ListMap("containerPort", "protocol"), Merge("containerPort")] = []
    env_from: Atomic[list[EnvFromSource]] = []
    env: Annotated[list[EnvVar], ListMap("name"), Merge("name")] = []
    resources: ResourceRequirements = always(ResourceRequirements)
    resize_policy: Atomic[list[ContainerResizePolicy]] = []
    restart_policy: str | None = None
    restart_policy_rules: Atomic[list[ContainerRestartRule]] = []
    volume_mounts: Annotated[list[VolumeMount], ListMap("mountPath"), Merge("mountPath")] = []
    volume_devices: Annotated[list[VolumeDevice], ListMap("devicePath"), Merge("devicePath")] = []
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: SecurityContext | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    target_container_name: str = ""


class Sysctl(Struct):
    name: Required[str] = always(str)
    value: Required[str] = always(str)


class PodSecurityContext(Struct):
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: Int64 | None = None
    run_as_group: Int64 | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: Atomic[list[Int64]] = []
    supplemental_groups_policy: str | None = None
    fs_group: Int64 | None = None
    sysctls: Atomic[list[Sysctl]] = []
    fs_group_change_policy: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None
    se_linux_change_policy: str | None = None


class HostAlias(Struct):
    ip: Required[str] = always(str)
    hostnames: Atomic[list[str]] = []


class PodDNSConfigOption(Struct):
    name: str = ""
    value: str | None = None


class PodDNSConfig(Struct):
    nameservers: Atomic[list[str]] = []
    searches: Atomic[list[str]] = []
    options: Atomic[list[PodDNSConfigOption]] = []


class TopologySpreadConstraint(Struct):
    max_skew: Required[Int32] = always(int)
    topology_key: Required[str] = always(str)
    when_unsatisfiable: Required[str] = always(str)
    label_selector: meta.LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: Atomic[list[str]] = []


class PodOS(Struct):
    name: Required[str] = always(str)


class PodSchedulingGate(Struct):
    name: Required[str] = always(str)


class PodResourceClaim(Struct):
    name: Required[str] = always(str)
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@union("", podGroupName="PodGroupName")
class PodSchedulingGroup(Struct):
    pod_group_name: str | None = None


class PodSpec(Struct):
    volumes: Annotated[list[Volume], ListMap("name"), Merge("name", retain_keys=True)] = []
    init_containers: Annotated[list[Container], ListMap("name"), Merge("name")] = []
    containers: Required[Annotated[list[Container], ListMap("name"), Merge("name")]] = always(list)
    ephemeral_containers: Annotated[list[EphemeralContainer], ListMap("name"), Merge("name")] = []
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    dns_policy: str = ""
    node_selector: Annotated[dict[str, str], ATOMIC_MAP] = {}
    service_account_name: str = ""
    service_account: str = ""
    automount_service_account_token: bool | None = None
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = wire("hostPID", False)
    host_ipc: bool = wire("hostIPC", False)
    share_process_namespace: bool | None = None
    security_context: PodSecurityContext | None = None
    image_pull_secrets: Annotated[list[LocalObjectReference], ListMap("name"), Merge("name")] = []
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: Atomic[list[Toleration]] = []
    host_aliases: Annotated[list[HostAlias], ListMap("ip"), Merge("ip")] = []
    priority_class_name: str = ""
    priority: Int32 | None = None
    dns_config: PodDNSConfig | None = None
    readiness_gates: Atomic[list[PodReadinessGate]] = []
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: dict[str, Quantity] = {}
    topology_spread_constraints: Annotated[
        list[TopologySpreadConstraint], ListMap("topologyKey", "whenUnsatisfiable"), Merge("topologyKey")
    ] = []
    set_hostname_as_fqdn: bool | None = wire("setHostnameAsFQDN", None)
    os: PodOS | None = None
    host_users: bool | None = None
    scheduling_gates: Annotated[list[PodSchedulingGate], ListMap("name"), Merge("name")] = []
    resource_claims: Annotated[list[PodResourceClaim], ListMap("name"), Merge("name", retain_keys=True)] = []
    resources: ResourceRequirements | None = None
    hostname_override: str | None = None
    scheduling_group: PodSchedulingGroup | None = None


class PodResourceClaimStatus(Struct):
    name: Required[str] = always(str)
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Struct):
    container_name: Required[str] = always(str)
    resource_name: Required[str] = always(str)
    request_name: Required[str] = always(str)


class PodExtendedResourceClaimStatus(Struct):
    request_mappings: Required[Atomic[list[ContainerExtendedResourceRequest]]] = always(list)
    resource_claim_name: Required[str] = always(str)


class PodIP(Struct):
    ip: Required[str] = always(str)


class HostIP(Struct):
    ip: Required[str] = always(str)


class NodeAllocatableResourceClaimStatus(Struct):
    resource_claim_name: Required[str] = always(str)
    containers: SetOf[list[str]] = []
    resources: Required[dict[str, Quantity]] = always(dict)


class PodStatus(Struct):
    observed_generation: Int64 = 0
    phase: str = ""
    conditions: Annotated[list[PodCondition], ListMap("type"), Merge("type")] = []
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = wire("hostIP", "")
    host_ips: Annotated[list[HostIP], ListType("atomic"), Merge("ip")] = wire("hostIPs", [])
    pod_ip: str = wire("podIP", "")
    pod_ips: Annotated[list[PodIP], ListMap("ip"), Merge("ip")] = wire("podIPs", [])
    start_time: Time | None = None
    init_container_statuses: Atomic[list[ContainerStatus]] = []
    container_statuses: Atomic[list[ContainerStatus]] = []
    qos_class: str = ""
    ephemeral_container_statuses: Atomic[list[ContainerStatus]] = []
    resize: str = ""
    resource_claim_statuses: Annotated[
        list[PodResourceClaimStatus], ListMap("name"), Merge("name", retain_keys=True)
    ] = []
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: Atomic[list[NodeAllocatableResourceClaimStatus]] = []


class Pod(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Pod")
    spec: PodSpec = always(PodSpec)
    status: PodStatus = always(PodStatus)


class PodList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("PodList")
    items: Required[list[Pod]] = always(list)


class PodTemplateSpec(Struct):
    metadata: meta.ObjectMeta = always(meta.ObjectMeta)
    spec: PodSpec = always(PodSpec)


class PodTemplate(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("PodTemplate")
    template: PodTemplateSpec = always(PodTemplateSpec)


class PodTemplateList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("PodTemplateList")
    items: Required[list[PodTemplate]] = always(list)


class ReplicationControllerSpec(Struct):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: Annotated[dict[str, str], ATOMIC_MAP] = {}
    template: PodTemplateSpec | None = None


class ReplicationControllerCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class ReplicationControllerStatus(Struct):
    replicas: Required[Int32] = always(int)
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    observed_generation: Int64 = 0
    conditions: Annotated[list[ReplicationControllerCondition], ListMap("type"), Merge("type")] = []


class ReplicationController(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("ReplicationController")
    spec: ReplicationControllerSpec = always(ReplicationControllerSpec)
    status: ReplicationControllerStatus = always(ReplicationControllerStatus)


class ReplicationControllerList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("ReplicationControllerList")
    items: Required[list[ReplicationController]] = always(list)


class ClientIPConfig(Struct):
    timeout_seconds: Int32 | None = None


class SessionAffinityConfig(Struct):
    client_ip: ClientIPConfig | None = wire("clientIP", None)


class PortStatus(Struct):
    port: Required[Int32] = always(int)
    protocol: Required[str] = always(str)
    error: str | None = None


class LoadBalancerIngress(Struct):
    ip: str = ""
    hostname: str = ""
    ip_mode: str | None = None
    ports: Atomic[list[PortStatus]] = []


class LoadBalancerStatus(Struct):
    ingress: Atomic[list[LoadBalancerIngress]] = []


class ServiceStatus(Struct):
    load_balancer: LoadBalancerStatus = always(LoadBalancerStatus)
    conditions: Annotated[list[meta.Condition], ListMap("type"), Merge("type")] = []


class ServicePort(Struct):
    name: str = ""
    protocol: str = ""
    app_protocol: str | None = None
    port: Required[Int32] = always(int)
    target_port: IntOrString = always(int)
    node_port: Int32 = 0


class ServiceSpec(Struct):
    ports: Annotated[list[ServicePort], ListMap("port", "protocol"), Merge("port")] = []
    selector: Annotated[dict[str, str], ATOMIC_MAP] = {}
    cluster_ip: str = wire("clusterIP", "")
    cluster_ips: Atomic[list[str]] = wire("clusterIPs", [])
    type: str = ""
    external_ips: Atomic[list[str]] = wire("externalIPs", [])
    session_affinity: str = ""
    load_balancer_ip: str = wire("loadBalancerIP", "")
    load_balancer_source_ranges: Atomic[list[str]] = []
    external_name: str = ""
    external_traffic_policy: str = ""
    health_check_node_port: Int32 = 0
    publish_not_ready_addresses: bool = False
    session_affinity_config: SessionAffinityConfig | None = None
    ip_families: Atomic[list[str]] = []
    ip_family_policy: str | None = None
    allocate_load_balancer_node_ports: bool | None = None
    load_balancer_class: str | None = None
    internal_traffic_policy: str | None = None
    traffic_distribution: str | None = None


class Service(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Service")
    spec: ServiceSpec = always(ServiceSpec)
    status: ServiceStatus = always(ServiceStatus)


class ServiceList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("ServiceList")
    items: Required[list[Service]] = always(list)


class ServiceAccount(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("ServiceAccount")
    secrets: Annotated[list[ObjectReference], ListMap("name"), Merge("name")] = []
    image_pull_secrets: Atomic[list[LocalObjectReference]] = []
    automount_service_account_token: bool | None = None


class ServiceAccountList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("ServiceAccountList")
    items: Required[list[ServiceAccount]] = always(list)


@atomic
class EndpointAddress(Struct):
    ip: Required[str] = always(str)
    hostname: str = ""
    node_name: str | None = None
    target_ref: ObjectReference | None = None


@atomic
class EndpointPort(Struct):
    name: str = ""
    port: Required[Int32] = always(int)
    protocol: str = ""
    app_protocol: str | None = None


class EndpointSubset(Struct):
    addresses: Atomic[list[EndpointAddress]] = []
    not_ready_addresses: Atomic[list[EndpointAddress]] = []
    ports: Atomic[list[EndpointPort]] = []


class Endpoints(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Endpoints")
    subsets: Atomic[list[EndpointSubset]] = []


class EndpointsList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("EndpointsList")
    items: Required[list[Endpoints]] = always(list)


class ConfigMapNodeConfigSource(Struct):
    namespace: Required[str] = always(str)
    name: Required[str] = always(str)
    uid: str = ""
    resource_version: str = ""
    kubelet_config_key: Required[str] = always(str)


class NodeConfigSource(Struct):
    config_map: ConfigMapNodeConfigSource | None = None


class NodeSpec(Struct):
    pod_cidr: str = wire("podCIDR", "")
    pod_cidrs: Annotated[list[str], ListType("set"), Merge()] = wire("podCIDRs", [])
    provider_id: str = wire("providerID", "")
    unschedulable: bool = False
    taints: Atomic[list[Taint]] = []
    config_source: NodeConfigSource | None = None
    external_id: str = wire("externalID", "")


class DaemonEndpoint(Struct):
    port: Required[Int32] = always(int, name="Port")


class NodeDaemonEndpoints(Struct):
    kubelet_endpoint: DaemonEndpoint = always(DaemonEndpoint)


class NodeRuntimeHandlerFeatures(Struct):
    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(Struct):
    name: str = always(str)
    features: NodeRuntimeHandlerFeatures | None = None


class NodeFeatures(Struct):
    supplemental_groups_policy: bool | None = None


class NodeSwapStatus(Struct):
    capacity: Int64 | None = None


class NodeSystemInfo(Struct):
    machine_id: Required[str] = always(str, name="machineID")
    system_uuid: Required[str] = always(str, name="systemUUID")
    boot_id: Required[str] = always(str, name="bootID")
    kernel_version: Required[str] = always(str)
    os_image: Required[str] = always(str)
    container_runtime_version: Required[str] = always(str)
    kubelet_version: Required[str] = always(str)
    kube_proxy_version: Required[str] = always(str)
    operating_system: Required[str] = always(str)
    architecture: Required[str] = always(str)
    swap: NodeSwapStatus | None = None


class NodeConfigStatus(Struct):
    assigned: NodeConfigSource | None = None
    active: NodeConfigSource | None = None
    last_known_good: NodeConfigSource | None = None
    error: str = ""


class NodeCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_heartbeat_time: Time | None = always(none)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class NodeAddress(Struct):
    type: Required[str] = always(str)
    address: Required[str] = always(str)


class ContainerImage(Struct):
    names: Atomic[list[str]] = always(list)
    size_bytes: Int64 = 0


class AttachedVolume(Struct):
    name: Required[str] = always(str)
    device_path: Required[str] = always(str)


class NodeStatus(Struct):
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    phase: str = ""
    conditions: Annotated[list[NodeCondition], ListMap("type"), Merge("type")] = []
    addresses: Annotated[list[NodeAddress], ListMap("type"), Merge("type")] = []
    daemon_endpoints: NodeDaemonEndpoints = always(NodeDaemonEndpoints)
    node_info: NodeSystemInfo = always(NodeSystemInfo)
    images: Atomic[list[ContainerImage]] = []
    volumes_in_use: Atomic[list[str]] = []
    volumes_attached: Atomic[list[AttachedVolume]] = []
    config: NodeConfigStatus | None = None
    runtime_handlers: Atomic[list[NodeRuntimeHandler]] = []
    features: NodeFeatures | None = None
    declared_features: Atomic[list[str]] = []


class Node(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Node")
    spec: NodeSpec = always(NodeSpec)
    status: NodeStatus = always(NodeStatus)


class NodeList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("NodeList")
    items: Required[list[Node]] = always(list)


class NamespaceSpec(Struct):
    finalizers: Atomic[list[str]] = []


class NamespaceCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class NamespaceStatus(Struct):
    phase: str = ""
    conditions: Annotated[list[NamespaceCondition], ListMap("type"), Merge("type")] = []


class Namespace(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Namespace")
    spec: NamespaceSpec = always(NamespaceSpec)
    status: NamespaceStatus = always(NamespaceStatus)


class NamespaceList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("NamespaceList")
    items: Required[list[Namespace]] = always(list)


class Binding(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Binding")
    target: Required[ObjectReference] = always(ObjectReference)


class EventSource(Struct):
    component: str = ""
    host: str = ""


class EventSeries(Struct):
    count: Int32 = 0
    last_observed_time: MicroTime | None = always(none)


class Event(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Event")
    metadata: Required[meta.ObjectMeta] = always(meta.ObjectMeta)
    involved_object: Required[ObjectReference] = always(ObjectReference)
    reason: str = ""
    message: str = ""
    source: EventSource = always(EventSource)
    first_timestamp: Time | None = always(none)
    last_timestamp: Time | None = always(none)
    count: Int32 = 0
    type: str = ""
    event_time: MicroTime | None = always(none)
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reporting_component: str = always(str)
    reporting_instance: str = always(str)


class EventList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("EventList")
    items: Required[list[Event]] = always(list)


class LimitRangeItem(Struct):
    type: Required[str] = always(str)
    max: dict[str, Quantity] = {}
    min: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}
    default_request: dict[str, Quantity] = {}
    max_limit_request_ratio: dict[str, Quantity] = {}


class LimitRangeSpec(Struct):
    limits: Required[Atomic[list[LimitRangeItem]]] = always(list)


class LimitRange(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("LimitRange")
    spec: LimitRangeSpec = always(LimitRangeSpec)


class LimitRangeList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("LimitRangeList")
    items: Required[list[LimitRange]] = always(list)


class ScopedResourceSelectorRequirement(Struct):
    scope_name: Required[str] = always(str)
    operator: Required[str] = always(str)
    values: Atomic[list[str]] = []


@atomic
class ScopeSelector(Struct):
    match_expressions: Atomic[list[ScopedResourceSelectorRequirement]] = []


class ResourceQuotaSpec(Struct):
    hard: dict[str, Quantity] = {}
    scopes: Atomic[list[str]] = []
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct):
    hard: dict[str, Quantity] = {}
    used: dict[str, Quantity] = {}


class ResourceQuota(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("ResourceQuota")
    spec: ResourceQuotaSpec = always(ResourceQuotaSpec)
    status: ResourceQuotaStatus = always(ResourceQuotaStatus)


class ResourceQuotaList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("ResourceQuotaList")
    items: Required[list[ResourceQuota]] = always(list)


class Secret(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("Secret")
    immutable: bool | None = None
    data: dict[str, bytes] = {}
    string_data: dict[str, str] = {}
    type: str = ""


class SecretList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("SecretList")
    items: Required[list[Secret]] = always(list)


class ConfigMap(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("ConfigMap")
    immutable: bool | None = None
    data: dict[str, str] = {}
    binary_data: dict[str, bytes] = {}


class ConfigMapList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("ConfigMapList")
    items: Required[list[ConfigMap]] = always(list)


class ComponentCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    message: str = ""
    error: str = ""


class ComponentStatus(meta.Object):
    api_version: str = constant("v1")
    kind: str = constant("ComponentStatus")
    conditions: Annotated[list[ComponentCondition], ListMap("type"), Merge("type")] = []


class ComponentStatusList(meta.ObjectList):
    api_version: str = constant("v1")
    kind: str = constant("ComponentStatusList")
    items: Required[list[ComponentStatus]] = always(list)


class PodLogOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("PodLogOptions")
    container: str = ""
    follow: bool = False
    previous: bool = False
    since_seconds: Int64 | None = None
    since_time: Time | None = None
    timestamps: bool = False
    tail_lines: Int64 | None = None
    limit_bytes: Int64 | None = None
    insecure_skip_tls_verify_backend: bool = wire("insecureSkipTLSVerifyBackend", False)
    stream: str | None = None


class PodExecOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("PodExecOptions")
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    container: str = ""
    command: Required[list[str]] = always(list)


class PodAttachOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("PodAttachOptions")
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    container: str = ""


class PodPortForwardOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("PodPortForwardOptions")
    ports: list[Int32] = []


class PodProxyOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("PodProxyOptions")
    path: str = ""


class ServiceProxyOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("ServiceProxyOptions")
    path: str = ""


class NodeProxyOptions(meta.TypeMeta):
    api_version: str = constant("v1")
    kind: str = constant("NodeProxyOptions")
    path: str = ""
