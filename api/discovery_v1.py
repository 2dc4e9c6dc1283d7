"""Types of discovery/v1, written by api.generator; api.declarations says how to read them."""

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Atomic, Int32, Required, SetOf, Struct, always, atomic, constant

DEFINITIONS = "io.k8s.api.discovery.v1"


class EndpointConditions(Struct):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(Struct):
    name: Required[str] = always(str)


class ForNode(Struct):
    name: Required[str] = always(str)


class EndpointHints(Struct):
    for_zones: Atomic[list[ForZone]] = []
    for_nodes: Atomic[list[ForNode]] = []


class Endpoint(Struct):
    addresses: Required[SetOf[list[str]]] = always(list)
    conditions: EndpointConditions = always(EndpointConditions)
    hostname: str | None = None
    target_ref: core.ObjectReference | None = None
    deprecated_topology: dict[str, str] = {}
    node_name: str | None = None
    zone: str | None = None
    hints: EndpointHints | None = None


@atomic
class EndpointPort(Struct):
    name: str | None = None
    protocol: str | None = None
    port: Int32 | None = None
    app_protocol: str | None = None


class EndpointSlice(meta.Object):
    api_version: str = constant("discovery.k8s.io/v1")
    kind: str = constant("EndpointSlice")
    address_type: Required[str] = always(str)
    endpoints: Atomic[list[Endpoint]] = always(list)
    ports: Atomic[list[EndpointPort]] = always(list)


class EndpointSliceList(meta.ObjectList):
    api_version: str = constant("discovery.k8s.io/v1")
    kind: str = constant("EndpointSliceList")
    items: Required[list[EndpointSlice]] = always(list)
