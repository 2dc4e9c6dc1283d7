"""Types of apps/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import RETAIN_KEYS, Atomic, Int32, Int64, ListMap, Merge, Required, Struct, always, constant, none
from api.free_form import RawExtension
from api.int_or_string import IntOrString
from api.times import Time

DEFINITIONS = "io.k8s.api.apps.v1"


class RollingUpdateStatefulSetStrategy(Struct):
    partition: Int32 | None = None
    max_unavailable: IntOrString | None = None


class StatefulSetUpdateStrategy(Struct):
    type: str = ""
    rolling_update: RollingUpdateStatefulSetStrategy | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(Struct):
    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetOrdinals(Struct):
    start: Int32 = always(int)


class StatefulSetSpec(Struct):
    replicas: Int32 | None = None
    selector: Required[meta.LabelSelector | None] = always(none)
    template: Required[core.PodTemplateSpec] = always(core.PodTemplateSpec)
    volume_claim_templates: Atomic[list[core.PersistentVolumeClaim]] = []
    service_name: str = always(str)
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy = always(StatefulSetUpdateStrategy)
    revision_history_limit: Int32 | None = None
    min_ready_seconds: Int32 = 0
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    ordinals: StatefulSetOrdinals | None = None


class StatefulSetCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class StatefulSetStatus(Struct):
    observed_generation: Int64 = 0
    replicas: Required[Int32] = always(int)
    ready_replicas: Int32 = 0
    current_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: Int32 | None = None
    conditions: Annotated[list[StatefulSetCondition], ListMap("type"), Merge("type")] = []
    available_replicas: Int32 = always(int)


class StatefulSet(meta.Object):
    api_version: str = constant("apps/v1")
    kind: str = constant("StatefulSet")
    spec: StatefulSetSpec = always(StatefulSetSpec)
    status: StatefulSetStatus = always(StatefulSetStatus)


class StatefulSetList(meta.ObjectList):
    api_version: str = constant("apps/v1")
    kind: str = constant("StatefulSetList")
    items: Required[list[StatefulSet]] = always(list)


class RollingUpdateDeployment(Struct):
    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None


class DeploymentStrategy(Struct):
    type: str = ""
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(Struct):
    replicas: Int32 | None = None
    selector: Required[meta.LabelSelector | None] = always(none)
    template: Required[core.PodTemplateSpec] = always(core.PodTemplateSpec)
    strategy: Annotated[DeploymentStrategy, RETAIN_KEYS] = always(DeploymentStrategy)
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    paused: bool = False
    progress_deadline_seconds: Int32 | None = None


class DeploymentCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_update_time: Time | None = always(none)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class DeploymentStatus(Struct):
    observed_generation: Int64 = 0
    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    conditions: Annotated[list[DeploymentCondition], ListMap("type"), Merge("type")] = []
    collision_count: Int32 | None = None


class Deployment(meta.Object):
    api_version: str = constant("apps/v1")
    kind: str = constant("Deployment")
    spec: DeploymentSpec = always(DeploymentSpec)
    status: DeploymentStatus = always(DeploymentStatus)


class DeploymentList(meta.ObjectList):
    api_version: str = constant("apps/v1")
    kind: str = constant("DeploymentList")
    items: Required[list[Deployment]] = always(list)


class RollingUpdateDaemonSet(Struct):
    max_unavailable: IntOrString | None = None
    max_surge: IntOrString | None = None


class DaemonSetUpdateStrategy(Struct):
    type: str = ""
    rolling_update: RollingUpdateDaemonSet | None = None


class DaemonSetSpec(Struct):
    selector: Required[meta.LabelSelector | None] = always(none)
    template: Required[core.PodTemplateSpec] = always(core.PodTemplateSpec)
    update_strategy: DaemonSetUpdateStrategy = always(DaemonSetUpdateStrategy)
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None


class DaemonSetCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class DaemonSetStatus(Struct):
    current_number_scheduled: Required[Int32] = always(int)
    number_misscheduled: Required[Int32] = always(int)
    desired_number_scheduled: Required[Int32] = always(int)
    number_ready: Required[Int32] = always(int)
    observed_generation: Int64 = 0
    updated_number_scheduled: Int32 = 0
    number_available: Int32 = 0
    number_unavailable: Int32 = 0
    collision_count: Int32 | None = None
    conditions: Annotated[list[DaemonSetCondition], ListMap("type"), Merge("type")] = []


class DaemonSet(meta.Object):
    api_version: str = constant("apps/v1")
    kind: str = constant("DaemonSet")
    spec: DaemonSetSpec = always(DaemonSetSpec)
    status: DaemonSetStatus = always(DaemonSetStatus)


class DaemonSetList(meta.ObjectList):
    api_version: str = constant("apps/v1")
    kind: str = constant("DaemonSetList")
    items: Required[list[DaemonSet]] = always(list)


class ReplicaSetSpec(Struct):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: Required[meta.LabelSelector | None] = always(none)
    template: core.PodTemplateSpec = always(core.PodTemplateSpec)


class ReplicaSetCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class ReplicaSetStatus(Struct):
    replicas: Required[Int32] = always(int)
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    terminating_replicas: Int32 | None = None
    observed_generation: Int64 = 0
    conditions: Annotated[list[ReplicaSetCondition], ListMap("type"), Merge("type")] = []


class ReplicaSet(meta.Object):
    api_version: str = constant("apps/v1")
    kind: str = constant("ReplicaSet")
    spec: ReplicaSetSpec = always(ReplicaSetSpec)
    status: ReplicaSetStatus = always(ReplicaSetStatus)


class ReplicaSetList(meta.ObjectList):
    api_version: str = constant("apps/v1")
    kind: str = constant("ReplicaSetList")
    items: Required[list[ReplicaSet]] = always(list)


class ControllerRevision(meta.Object):
    api_version: str = constant("apps/v1")
    kind: str = constant("ControllerRevision")
    data: RawExtension = always(none)
    revision: Required[Int64] = always(int)


class ControllerRevisionList(meta.ObjectList):
    api_version: str = constant("apps/v1")
    kind: str = constant("ControllerRevisionList")
    items: Required[list[ControllerRevision]] = always(list)
