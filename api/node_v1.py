"""Types of node/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import ATOMIC_MAP, Atomic, Required, Struct, always, constant
from api.quantity import Quantity

DEFINITIONS = "io.k8s.api.node.v1"


class Overhead(Struct):
    pod_fixed: dict[str, Quantity] = {}


class Scheduling(Struct):
    node_selector: Annotated[dict[str, str], ATOMIC_MAP] = {}
    tolerations: Atomic[list[core.Toleration]] = []


class RuntimeClass(meta.Object):
    api_version: str = constant("node.k8s.io/v1")
    kind: str = constant("RuntimeClass")
    handler: Required[str] = always(str)
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None


class RuntimeClassList(meta.ObjectList):
    api_version: str = constant("node.k8s.io/v1")
    kind: str = constant("RuntimeClassList")
    items: Required[list[RuntimeClass]] = always(list)
