"""Types of autoscaling/v1, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Int32, Int64, Required, Struct, always, atomic, constant, wire
from api.times import Time

DEFINITIONS = "io.k8s.api.autoscaling.v1"


@atomic
class CrossVersionObjectReference(Struct):
    kind: Required[str] = always(str)
    name: Required[str] = always(str)
    api_version: str = ""


class HorizontalPodAutoscalerSpec(Struct):
    scale_target_ref: Required[CrossVersionObjectReference] = always(CrossVersionObjectReference)
    min_replicas: Int32 | None = None
    max_replicas: Required[Int32] = always(int)
    target_cpu_utilization_percentage: Int32 | None = wire("targetCPUUtilizationPercentage", None)


class HorizontalPodAutoscalerStatus(Struct):
    observed_generation: Int64 | None = None
    last_scale_time: Time | None = None
    current_replicas: Required[Int32] = always(int)
    desired_replicas: Required[Int32] = always(int)
    current_cpu_utilization_percentage: Int32 | None = wire("currentCPUUtilizationPercentage", None)


class HorizontalPodAutoscaler(meta.Object):
    api_version: str = constant("autoscaling/v1")
    kind: str = constant("HorizontalPodAutoscaler")
    spec: Required[HorizontalPodAutoscalerSpec] = always(HorizontalPodAutoscalerSpec)
    status: HorizontalPodAutoscalerStatus = always(HorizontalPodAutoscalerStatus)


class HorizontalPodAutoscalerList(meta.ObjectList):
    api_version: str = constant("autoscaling/v1")
    kind: str = constant("HorizontalPodAutoscalerList")
    items: Required[list[HorizontalPodAutoscaler]] = always(list)


class ScaleSpec(Struct):
    replicas: Int32 = 0


class ScaleStatus(Struct):
    replicas: Required[Int32] = always(int)
    selector: str = ""


class Scale(meta.Object):
    api_version: str = constant("autoscaling/v1")
    kind: str = constant("Scale")
    spec: ScaleSpec = always(ScaleSpec)
    status: ScaleStatus = always(ScaleStatus)
