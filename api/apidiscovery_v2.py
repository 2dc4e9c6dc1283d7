"""Types of apidiscovery/v2, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Required, Struct, always, constant

DEFINITIONS = "io.k8s.api.apidiscovery.v2"


class APISubresourceDiscovery(Struct):
    subresource: Required[str] = always(str)
    response_kind: meta.GroupVersionKind | None = None
    accepted_types: list[meta.GroupVersionKind] = []
    verbs: Required[list[str]] = always(list)


class APIResourceDiscovery(Struct):
    resource: Required[str] = always(str)
    response_kind: meta.GroupVersionKind | None = None
    scope: Required[str] = always(str)
    singular_resource: Required[str] = always(str)
    verbs: Required[list[str]] = always(list)
    short_names: list[str] = []
    categories: list[str] = []
    subresources: list[APISubresourceDiscovery] = []


class APIVersionDiscovery(Struct):
    version: Required[str] = always(str)
    resources: list[APIResourceDiscovery] = []
    freshness: str = ""


class APIGroupDiscovery(meta.Object):
    api_version: str = constant("apidiscovery.k8s.io/v2")
    kind: str = constant("APIGroupDiscovery")
    versions: list[APIVersionDiscovery] = []


class APIGroupDiscoveryList(meta.ObjectList):
    api_version: str = constant("apidiscovery.k8s.io/v2")
    kind: str = constant("APIGroupDiscoveryList")
    items: Required[list[APIGroupDiscovery]] = always(list)
