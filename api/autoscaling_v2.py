"""Types of autoscaling/v2, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import Atomic, Int32, Int64, ListMap, Merge, Required, Struct, always, constant, none
from api.quantity import Quantity
from api.times import Time

DEFINITIONS = "io.k8s.api.autoscaling.v2"


class CrossVersionObjectReference(Struct):
    kind: Required[str] = always(str)
    name: Required[str] = always(str)
    api_version: str = ""


class MetricTarget(Struct):
    type: Required[str] = always(str)
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class MetricIdentifier(Struct):
    name: Required[str] = always(str)
    selector: meta.LabelSelector | None = None


class ObjectMetricSource(Struct):
    described_object: Required[CrossVersionObjectReference] = always(CrossVersionObjectReference)
    target: Required[MetricTarget] = always(MetricTarget)
    metric: Required[MetricIdentifier] = always(MetricIdentifier)


class PodsMetricSource(Struct):
    metric: Required[MetricIdentifier] = always(MetricIdentifier)
    target: Required[MetricTarget] = always(MetricTarget)


class ResourceMetricSource(Struct):
    name: Required[str] = always(str)
    target: Required[MetricTarget] = always(MetricTarget)


class ContainerResourceMetricSource(Struct):
    name: Required[str] = always(str)
    target: Required[MetricTarget] = always(MetricTarget)
    container: Required[str] = always(str)


class ExternalMetricSource(Struct):
    metric: Required[MetricIdentifier] = always(MetricIdentifier)
    target: Required[MetricTarget] = always(MetricTarget)


class MetricSpec(Struct):
    type: Required[str] = always(str)
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None


class HPAScalingPolicy(Struct):
    type: Required[str] = always(str)
    value: Required[Int32] = always(int)
    period_seconds: Required[Int32] = always(int)


class HPAScalingRules(Struct):
    stabilization_window_seconds: Int32 | None = None
    select_policy: str | None = None
    policies: Atomic[list[HPAScalingPolicy]] = []
    tolerance: Quantity | None = None


class HorizontalPodAutoscalerBehavior(Struct):
    scale_up: HPAScalingRules | None = None
    scale_down: HPAScalingRules | None = None


class HorizontalPodAutoscalerSpec(Struct):
    scale_target_ref: Required[CrossVersionObjectReference] = always(CrossVersionObjectReference)
    min_replicas: Int32 | None = None
    max_replicas: Required[Int32] = always(int)
    metrics: Atomic[list[MetricSpec]] = []
    behavior: HorizontalPodAutoscalerBehavior | None = None


class MetricValueStatus(Struct):
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: Int32 | None = None


class ObjectMetricStatus(Struct):
    metric: Required[MetricIdentifier] = always(MetricIdentifier)
    current: Required[MetricValueStatus] = always(MetricValueStatus)
    described_object: Required[CrossVersionObjectReference] = always(CrossVersionObjectReference)


class PodsMetricStatus(Struct):
    metric: Required[MetricIdentifier] = always(MetricIdentifier)
    current: Required[MetricValueStatus] = always(MetricValueStatus)


class ResourceMetricStatus(Struct):
    name: Required[str] = always(str)
    current: Required[MetricValueStatus] = always(MetricValueStatus)


class ContainerResourceMetricStatus(Struct):
    name: Required[str] = always(str)
    current: Required[MetricValueStatus] = always(MetricValueStatus)
    container: Required[str] = always(str)


class ExternalMetricStatus(Struct):
    metric: Required[MetricIdentifier] = always(MetricIdentifier)
    current: Required[MetricValueStatus] = always(MetricValueStatus)


class MetricStatus(Struct):
    type: Required[str] = always(str)
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None


class HorizontalPodAutoscalerCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class HorizontalPodAutoscalerStatus(Struct):
    observed_generation: Int64 | None = None
    last_scale_time: Time | None = None
    current_replicas: Int32 = 0
    desired_replicas: Required[Int32] = always(int)
    current_metrics: Atomic[list[MetricStatus]] = always(list)
    conditions: Annotated[list[HorizontalPodAutoscalerCondition], ListMap("type"), Merge("type")] = []


class HorizontalPodAutoscaler(meta.Object):
    api_version: str = constant("autoscaling/v2")
    kind: str = constant("HorizontalPodAutoscaler")
    spec: Required[HorizontalPodAutoscalerSpec] = always(HorizontalPodAutoscalerSpec)
    status: HorizontalPodAutoscalerStatus = always(HorizontalPodAutoscalerStatus)


class HorizontalPodAutoscalerList(meta.ObjectList):
    api_version: str = constant("autoscaling/v2")
    kind: str = constant("HorizontalPodAutoscalerList")
    items: Required[list[HorizontalPodAutoscaler]] = always(list)
