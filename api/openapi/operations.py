"""The operations of a resource: which method on which path, called what, with which parameters and bodies.

One neutral form for both dialects. Parameters are read off the declared options (ListOptions, PodExecOptions …);
identifiers are built as upstream builds them, so that generated clients get the names they know.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Struct
from api.scheme import Resource, Subresource
from api.shapes import Field, ListOf, Scalar, struct_shape

PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
JSON = ("application/json", "application/yaml")
WATCHED = (*JSON, "application/json;stream=watch")

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer"}
_CONNECT_METHODS = {
    "get": ("get", "head", "options"),
    "create": ("post",),
    "update": ("put",),
    "patch": ("patch",),
    "delete": ("delete",),
}

# Deleting most objects is answered with a Status; these give the object back.
_ANSWERING_WITH_OBJECT = {
    "v1/persistentvolumeclaims",
    "v1/persistentvolumes",
    "v1/pods",
    "v1/podtemplates",
    "v1/resourcequotas",
    "v1/serviceaccounts",
    "v1/services",
    "resource.k8s.io/v1/deviceclasses",
    "resource.k8s.io/v1/resourceclaims",
    "resource.k8s.io/v1/resourceclaimtemplates",
    "resource.k8s.io/v1/resourceslices",
    "storage.k8s.io/v1/csidrivers",
    "storage.k8s.io/v1/csinodes",
    "storage.k8s.io/v1/storageclasses",
    "storage.k8s.io/v1/volumeattachments",
    "storage.k8s.io/v1/volumeattributesclasses",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in path or query."""

    name: str
    type: str
    place: str = "query"


_PRETTY = Parameter("pretty", "string")


@dataclass(frozen=True, slots=True)
class Operation:
    """``body`` and ``answer`` are declared types; PATCH takes the Patch definition, ``str`` answers plain text."""

    path: str
    method: str
    identifier: str
    tag: str
    action: str
    kind: tuple[str, str, str]
    parameters: tuple[Parameter, ...]
    answer: type[Struct] | type[str]
    codes: tuple[int, ...] = (200,)
    produces: tuple[str, ...] = JSON
    body: type[Struct] | None = None
    patch: bool = False


def operations(resource: Resource) -> Iterator[Operation]:
    """Everything that can be done with a resource and its subresources."""
    yield from _collection(resource)
    yield from _item(resource)
    for subresource in resource.subresources:
        yield from _of_subresource(resource, subresource)


def root(resource: Resource) -> str:
    """``/api/v1`` or ``/apis/apps/v1``."""
    return f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"


def tag(group: str, version: str) -> str:
    """``rbacAuthorization_v1``."""
    return f"{_camel(group or 'core')}_{version}" if version else _camel(group or "core")


def title(group: str, version: str) -> str:
    """``RbacAuthorizationV1``, as it stands in identifiers."""
    name = _camel(group or "core")
    return name[0].upper() + name[1:] + version.title()


@dataclass(frozen=True, slots=True)
class _Place:
    """A path with what its operations have in common: the kind they are about, and how their identifiers end."""

    resource: Resource
    path: str
    kind: tuple[str, str, str]
    suffix: str
    parameters: tuple[Parameter, ...]

    def operation(
        self, verb: str, method: str, action: str, answer: type[Struct] | type[str], **more: Any
    ) -> Operation:
        """One operation of this path; ``query`` adds parameters, ``suffix`` replaces the end of the identifier."""
        group, version = self.resource.group, self.resource.version
        return Operation(
            path=self.path,
            method=method,
            identifier=verb + title(group, version) + more.pop("suffix", self.suffix),
            tag=tag(group, version),
            action=action,
            kind=self.kind,
            parameters=(*self.parameters, *more.pop("query", ())),
            answer=answer,
            **more,
        )


def _collection_path(resource: Resource) -> str:
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    return f"{root(resource)}/{scope}{resource.plural}"


def _suffix(resource: Resource) -> str:
    return f"Namespaced{resource.kind}" if resource.namespaced else resource.kind


def _kind_of(served: Resource | Subresource) -> tuple[str, str, str]:
    return served.group, served.version, served.kind


def _collection(resource: Resource) -> Iterator[Operation]:
    kind, suffix = _kind_of(resource), _suffix(resource)
    place = _Place(resource, _collection_path(resource), kind, suffix, (*_scope(resource), _PRETTY))
    if "list" in resource.verbs:
        query = _query(meta.ListOptions)
        places = [place]
        if resource.namespaced:
            path = f"{root(resource)}/{resource.plural}"
            places.append(_Place(resource, path, kind, f"{resource.kind}ForAllNamespaces", (_PRETTY,)))
        for each in places:
            yield each.operation("list", "get", "list", resource.list_type, query=query, produces=WATCHED)
    if "create" in resource.verbs:
        yield _creation(place, resource.type)
    if "deletecollection" in resource.verbs:
        options = (*_query(meta.DeleteOptions), *_query(meta.ListOptions, "allowWatchBookmarks", "watch"))
        query = tuple({parameter.name: parameter for parameter in options}.values())
        name = f"Collection{suffix}"
        yield place.operation(
            "delete", "delete", "deletecollection", meta.Status, suffix=name, query=query, body=meta.DeleteOptions
        )


def _item(resource: Resource) -> Iterator[Operation]:
    place = _Place(
        resource, f"{_collection_path(resource)}/{{name}}", _kind_of(resource), _suffix(resource), _named(resource)
    )
    if "get" in resource.verbs:
        yield place.operation("read", "get", "get", resource.type)
    if "delete" in resource.verbs:
        gives_object = f"{resource.api_version}/{resource.plural}" in _ANSWERING_WITH_OBJECT
        answer: type[Struct] = resource.type if gives_object else meta.Status
        query = _query(meta.DeleteOptions)
        yield place.operation(
            "delete", "delete", "delete", answer, query=query, codes=(200, 202), body=meta.DeleteOptions
        )
    yield from _changes(place, resource.type, resource.verbs)


def _of_subresource(resource: Resource, subresource: Subresource) -> Iterator[Operation]:
    path = f"{_collection_path(resource)}/{{name}}/{subresource.name}"
    suffix = _suffix(resource) + subresource.name.capitalize()
    place = _Place(resource, path, _kind_of(subresource), suffix, _named(resource))
    if subresource.kind.endswith("Options"):
        yield from _connections(place, subresource)
        return
    if "create" in subresource.verbs:
        yield _creation(place, subresource.type)
    if subresource.name == "log":
        query = _query(core.PodLogOptions)
        yield place.operation("read", "get", "get", str, query=query, produces=("text/plain", *JSON))
    elif "get" in subresource.verbs:
        yield place.operation("read", "get", "get", subresource.type)
    yield from _changes(place, subresource.type, subresource.verbs)


def _creation(place: _Place, kind: type[Struct]) -> Operation:
    query = _query(meta.CreateOptions)
    return place.operation("create", "post", "post", kind, query=query, codes=(200, 201, 202), body=kind)


def _changes(place: _Place, kind: type[Struct], verbs: tuple[str, ...]) -> Iterator[Operation]:
    if "patch" in verbs:
        query = _query(meta.PatchOptions)
        yield place.operation("patch", "patch", "patch", kind, query=query, codes=(200, 201), patch=True)
    if "update" in verbs:
        query = _query(meta.UpdateOptions)
        yield place.operation("replace", "put", "put", kind, query=query, codes=(200, 201), body=kind)


def _connections(place: _Place, subresource: Subresource) -> Iterator[Operation]:
    """Streams: exec, attach, portforward; and proxies, which take every method and a path of their own."""
    plain = tuple(parameter for parameter in place.parameters if parameter is not _PRETTY)
    places = [replace(place, parameters=plain)]
    proxy = subresource.name == "proxy"
    if proxy:
        tail = Parameter("path", "string", "path")
        suffix = f"{place.suffix}WithPath"
        places.append(replace(place, path=f"{place.path}/{{path}}", suffix=suffix, parameters=(*plain, tail)))
    query = _query(subresource.type)
    for each in places:
        for verb in subresource.verbs:
            for method in _CONNECT_METHODS[verb] if proxy else _CONNECT_METHODS[verb][:1]:
                suffix = method.title() + each.suffix
                yield each.operation("connect", method, "connect", str, suffix=suffix, query=query, produces=("*/*",))


def _scope(resource: Resource) -> tuple[Parameter, ...]:
    return (Parameter("namespace", "string", "path"),) if resource.namespaced else ()


def _named(resource: Resource) -> tuple[Parameter, ...]:
    return (Parameter("name", "string", "path"), *_scope(resource), _PRETTY)


def _query(options: type[Struct], *without: str) -> tuple[Parameter, ...]:
    """The scalar fields of declared options, as query parameters."""
    found = []
    for wire, field in struct_shape(options).fields.items():
        json_type = _query_type(field)
        if json_type and wire not in ("apiVersion", "kind", *without):
            found.append(Parameter(wire, json_type))
    return tuple(found)


def _query_type(field: Field) -> str:
    shape = field.shape.item if isinstance(field.shape, ListOf) else field.shape
    if isinstance(shape, Scalar) and shape.definition is None:
        return _JSON_TYPES.get(shape.python, "")
    return ""


def _camel(group: str) -> str:
    head, *tail = group.removesuffix(".k8s.io").split(".")
    return head + "".join(word.title() for word in tail)
