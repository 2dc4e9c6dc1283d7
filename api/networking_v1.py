"""Types of networking/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Atomic, Int32, ListMap, Merge, Required, Struct, always, atomic, constant, none
from api.int_or_string import IntOrString

DEFINITIONS = "io.k8s.api.networking.v1"


class NetworkPolicyPort(Struct):
    protocol: str | None = None
    port: IntOrString | None = None
    end_port: Int32 | None = None


class IPBlock(Struct):
    cidr: Required[str] = always(str)
    except_: Atomic[list[str]] = []


class NetworkPolicyPeer(Struct):
    pod_selector: meta.LabelSelector | None = None
    namespace_selector: meta.LabelSelector | None = None
    ip_block: IPBlock | None = None


class NetworkPolicyIngressRule(Struct):
    ports: Atomic[list[NetworkPolicyPort]] = []
    from_: Atomic[list[NetworkPolicyPeer]] = []


class NetworkPolicyEgressRule(Struct):
    ports: Atomic[list[NetworkPolicyPort]] = []
    to: Atomic[list[NetworkPolicyPeer]] = []


class NetworkPolicySpec(Struct):
    pod_selector: meta.LabelSelector = always(meta.LabelSelector)
    ingress: Atomic[list[NetworkPolicyIngressRule]] = []
    egress: Atomic[list[NetworkPolicyEgressRule]] = []
    policy_types: Atomic[list[str]] = []


class NetworkPolicy(meta.Object):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("NetworkPolicy")
    spec: NetworkPolicySpec = always(NetworkPolicySpec)


class NetworkPolicyList(meta.ObjectList):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("NetworkPolicyList")
    items: Required[list[NetworkPolicy]] = always(list)


@atomic
class ServiceBackendPort(Struct):
    name: str = ""
    number: Int32 = 0


class IngressServiceBackend(Struct):
    name: Required[str] = always(str)
    port: ServiceBackendPort = always(ServiceBackendPort)


class IngressBackend(Struct):
    service: IngressServiceBackend | None = None
    resource: core.TypedLocalObjectReference | None = None


class IngressTLS(Struct):
    hosts: Atomic[list[str]] = []
    secret_name: str = ""


class HTTPIngressPath(Struct):
    path: str = ""
    path_type: Required[str | None] = always(none)
    backend: Required[IngressBackend] = always(IngressBackend)


class HTTPIngressRuleValue(Struct):
    paths: Required[Atomic[list[HTTPIngressPath]]] = always(list)


class IngressRule(Struct):
    host: str = ""
    http: HTTPIngressRuleValue | None = None


class IngressSpec(Struct):
    ingress_class_name: str | None = None
    default_backend: IngressBackend | None = None
    tls: Atomic[list[IngressTLS]] = []
    rules: Atomic[list[IngressRule]] = []


class IngressPortStatus(Struct):
    port: Required[Int32] = always(int)
    protocol: Required[str] = always(str)
    error: str | None = None


class IngressLoadBalancerIngress(Struct):
    ip: str = ""
    hostname: str = ""
    ports: Atomic[list[IngressPortStatus]] = []


class IngressLoadBalancerStatus(Struct):
    ingress: Atomic[list[IngressLoadBalancerIngress]] = []


class IngressStatus(Struct):
    load_balancer: IngressLoadBalancerStatus = always(IngressLoadBalancerStatus)


class Ingress(meta.Object):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("Ingress")
    spec: IngressSpec = always(IngressSpec)
    status: IngressStatus = always(IngressStatus)


class IngressList(meta.ObjectList):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("IngressList")
    items: Required[list[Ingress]] = always(list)


class IngressClassParametersReference(Struct):
    api_group: str | None = None
    kind: Required[str] = always(str)
    name: Required[str] = always(str)
    scope: str | None = always(none)
    namespace: str | None = None


class IngressClassSpec(Struct):
    controller: str = ""
    parameters: IngressClassParametersReference | None = None


class IngressClass(meta.Object):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("IngressClass")
    spec: IngressClassSpec = always(IngressClassSpec)


class IngressClassList(meta.ObjectList):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("IngressClassList")
    items: Required[list[IngressClass]] = always(list)


class ParentReference(Struct):
    group: str = ""
    resource: Required[str] = ""
    namespace: str = ""
    name: Required[str] = ""


class IPAddressSpec(Struct):
    parent_ref: Required[ParentReference | None] = None


class IPAddress(meta.Object):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("IPAddress")
    spec: Required[IPAddressSpec] = always(IPAddressSpec)


class IPAddressList(meta.ObjectList):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("IPAddressList")
    items: Required[list[IPAddress]] = always(list)


class ServiceCIDRSpec(Struct):
    cidrs: Atomic[list[str]] = []


class ServiceCIDRStatus(Struct):
    conditions: Annotated[list[meta.Condition], ListMap("type"), Merge("type")] = []


class ServiceCIDR(meta.Object):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("ServiceCIDR")
    spec: ServiceCIDRSpec = always(ServiceCIDRSpec)
    status: ServiceCIDRStatus = always(ServiceCIDRStatus)


class ServiceCIDRList(meta.ObjectList):
    api_version: str = constant("networking.k8s.io/v1")
    kind: str = constant("ServiceCIDRList")
    items: Required[list[ServiceCIDR]] = always(list)
