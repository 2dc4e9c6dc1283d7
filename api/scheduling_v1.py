"""Types of scheduling/v1, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Int32, Required, always, constant

DEFINITIONS = "io.k8s.api.scheduling.v1"


class PriorityClass(meta.Object):
    api_version: str = constant("scheduling.k8s.io/v1")
    kind: str = constant("PriorityClass")
    value: Int32 = always(int)
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None


class PriorityClassList(meta.ObjectList):
    api_version: str = constant("scheduling.k8s.io/v1")
    kind: str = constant("PriorityClassList")
    items: Required[list[PriorityClass]] = always(list)
