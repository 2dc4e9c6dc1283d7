"""URL paths, derived from the scheme: nothing here knows a resource by name."""

from __future__ import annotations

from urllib.parse import quote

from api import meta_v1 as meta
from api.scheme import SCHEME, Resource


def resource_of(cls: type[meta.Object]) -> Resource:
    """The resource that serves objects of this class."""
    return SCHEME.of(cls)


def collection(resource: Resource, namespace: str = "") -> str:
    """The path of a collection: of one namespace, or of the whole cluster when none is named."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    if namespace and resource.namespaced:
        return f"{root}/namespaces/{quote(namespace, safe='')}/{resource.plural}"
    return f"{root}/{resource.plural}"


def item(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object, or of a subresource of it.

    Raises ValueError where name or namespace is missing: the path would mean something else.
    """
    if not name:
        raise ValueError(f"{resource.plural}: a name is required")
    if resource.namespaced and not namespace:
        raise ValueError(f'{resource.plural} "{name}": a namespace is required')
    path = f"{collection(resource, namespace)}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path
