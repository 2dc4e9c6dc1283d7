"""Types of policy/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import REPLACE, Int32, Int64, ListMap, Merge, Required, Struct, always, constant
from api.int_or_string import IntOrString
from api.times import Time

DEFINITIONS = "io.k8s.api.policy.v1"


class PodDisruptionBudgetSpec(Struct):
    min_available: IntOrString | None = None
    selector: Annotated[meta.LabelSelector | None, REPLACE] = None
    max_unavailable: IntOrString | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct):
    observed_generation: Int64 = 0
    disrupted_pods: dict[str, Time] = {}
    disruptions_allowed: Int32 = always(int)
    current_healthy: Int32 = always(int)
    desired_healthy: Int32 = always(int)
    expected_pods: Int32 = always(int)
    conditions: Annotated[list[meta.Condition], ListMap("type"), Merge("type")] = []


class PodDisruptionBudget(meta.Object):
    api_version: str = constant("policy/v1")
    kind: str = constant("PodDisruptionBudget")
    spec: PodDisruptionBudgetSpec = always(PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = always(PodDisruptionBudgetStatus)


class PodDisruptionBudgetList(meta.ObjectList):
    api_version: str = constant("policy/v1")
    kind: str = constant("PodDisruptionBudgetList")
    items: Required[list[PodDisruptionBudget]] = always(list)


class Eviction(meta.Object):
    api_version: str = constant("policy/v1")
    kind: str = constant("Eviction")
    delete_options: meta.DeleteOptions | None = None
