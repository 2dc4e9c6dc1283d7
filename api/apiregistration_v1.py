"""Types of apiregistration/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import Atomic, Int32, ListMap, Merge, Required, Struct, always, constant, none, wire
from api.times import Time

DEFINITIONS = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"


class ServiceReference(Struct):
    namespace: str = ""
    name: str = ""
    port: Int32 | None = None


class APIServiceSpec(Struct):
    service: ServiceReference | None = None
    group: str = ""
    version: str = ""
    insecure_skip_tls_verify: bool = wire("insecureSkipTLSVerify", False)
    ca_bundle: Atomic[bytes] = b""
    group_priority_minimum: Required[Int32] = always(int)
    version_priority: Required[Int32] = always(int)


class APIServiceCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class APIServiceStatus(Struct):
    conditions: Annotated[list[APIServiceCondition], ListMap("type"), Merge("type")] = []


class APIService(meta.Object):
    api_version: str = constant("apiregistration.k8s.io/v1")
    kind: str = constant("APIService")
    spec: APIServiceSpec = always(APIServiceSpec)
    status: APIServiceStatus = always(APIServiceStatus)


class APIServiceList(meta.ObjectList):
    api_version: str = constant("apiregistration.k8s.io/v1")
    kind: str = constant("APIServiceList")
    items: Required[list[APIService]] = always(list)
