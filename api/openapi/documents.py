"""Whole documents: /openapi/v2 of everything, /openapi/v3 as an index, and one v3 document for each group-version.

A document's validator is a digest of what it is made from, the sources of this package and of those it draws on, so
that the index can name all of them without rendering any.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec

from api import meta_v1 as meta
from api.declarations import Struct
from api.openapi import gnostic
from api.openapi.operations import JSON, PATCH_TYPES, Operation, operations, root, tag, title
from api.openapi.schemas import PATCH_DEFINITION, V2, V3, Dialect, schemas
from api.scheme import SCHEME, Resource
from api.shapes import struct_shape
from api.version import Info

Tree = dict[str, Any]

_INFO = {"title": "Kubernetes", "version": "unversioned"}
_UNAUTHORIZED = {"description": "Unauthorized"}
_DESCRIPTIONS = {200: "OK", 201: "Created", 202: "Accepted"}
_TOKEN = {"description": "Bearer Token authentication", "in": "header", "name": "authorization", "type": "apiKey"}
_V2_FRAME = {
    "swagger": "2.0",
    "info": _INFO,
    "securityDefinitions": {"BearerToken": _TOKEN},
    "security": [{"BearerToken": []}],
}


@dataclass(frozen=True, slots=True)
class Document:
    """JSON as it is served, and its entity tag (upper-case hex, without quotes)."""

    body: bytes
    etag: str


@lru_cache(maxsize=1)
def v2_document() -> Document:
    """The one document of OpenAPI v2."""
    paths, definitions = _v2_parts()
    tree = {**_V2_FRAME, "paths": dict(paths), "definitions": dict(definitions)}
    return Document(msgspec.json.encode(tree), _digest("v2"))


def v2_protobuf() -> bytes:
    """The same as a message of protobuf; rendered anew each time, since it is asked for seldom."""
    return gnostic.document(_V2_FRAME, *_v2_parts())


def v2_protobuf_etag() -> str:
    """The entity tag of that message, which needs no rendering."""
    return _digest("v2 in protobuf")


@lru_cache(maxsize=1)
def v3_index() -> Document:
    """Where the documents of OpenAPI v3 are: path → relative URL, which changes when the document does."""
    tree = {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_digest(path)}"}
            for path in sorted(_group_versions())
        }
    }
    return Document(msgspec.json.encode(tree), _digest("v3"))


@lru_cache(maxsize=4)
def v3_document(path: str) -> Document | None:
    """The document of a group-version, named as in the index (``api/v1``, ``apis/apps/v1``); None if there is none."""
    served = _group_versions().get(path)
    if served is None:
        return None
    found = [item for resource in served for item in operations(resource)]
    found.append(_resource_list(served[0]))
    tree = {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(_paths(found, _v3_operation, _v3_parameter)),
        "components": {
            "schemas": dict(schemas(V3, [*_types(found), meta.WatchEvent])),
            "securitySchemes": {"BearerToken": _TOKEN},
        },
    }
    return Document(msgspec.json.encode(tree), _digest(path))


def _v2_parts() -> tuple[gnostic.Entries, gnostic.Entries]:
    """Paths and definitions, each rendered when it is reached."""
    found = [*_discovery(), *(item for resource in SCHEME.resources() for item in operations(resource))]
    return _paths(found, _v2_operation, _v2_parameter), schemas(V2, [*_types(found), meta.WatchEvent])


def _group_versions() -> dict[str, list[Resource]]:
    found: dict[str, list[Resource]] = {}
    for resource in SCHEME.resources():
        found.setdefault(root(resource).strip("/"), []).append(resource)
    return found


def _discovery() -> Iterator[Operation]:
    """The paths that say what there is."""
    kind = ("", "", "")
    yield Operation("/api/", "get", "getCoreAPIVersions", "core", "", kind, (), meta.APIVersions)
    yield Operation("/apis/", "get", "getAPIVersions", "apis", "", kind, (), meta.APIGroupList)
    yield Operation("/version/", "get", "getCodeVersion", "version", "", kind, (), Info, produces=JSON[:1])
    for group in dict.fromkeys(resource.group for resource in SCHEME.resources() if resource.group):
        identifier = f"get{title(group, '')}APIGroup"
        yield Operation(f"/apis/{group}/", "get", identifier, tag(group, ""), "", kind, (), meta.APIGroup)
    for served in _group_versions().values():
        yield _resource_list(served[0])


def _resource_list(resource: Resource) -> Operation:
    identifier = f"get{title(resource.group, resource.version)}APIResources"
    place = tag(resource.group, resource.version)
    return Operation(f"{root(resource)}/", "get", identifier, place, "", ("", "", ""), (), meta.APIResourceList)


def _types(found: Iterable[Operation]) -> list[type[Struct]]:
    """The declared types that the operations mention."""
    types: dict[type[Struct], None] = {}
    for operation in found:
        for mentioned in (operation.answer, operation.body):
            if mentioned is not None and issubclass(mentioned, Struct):
                types[mentioned] = None
    return list(types)


def _paths(found: Iterable[Operation], operation: Any, parameter: Any) -> Iterator[tuple[str, Tree]]:
    """Paths with method → operation, in order; parameters that all methods of a path share stand beside the methods."""
    by_path: dict[str, list[Operation]] = {}
    for item in found:
        by_path.setdefault(item.path, []).append(item)
    for path, items in sorted(by_path.items()):
        shared = [each for each in items[0].parameters if all(each in item.parameters for item in items)]
        node: Tree = {}
        for item in sorted(items, key=lambda item: item.method):
            own = [parameter(each) for each in item.parameters if each not in shared]
            node[item.method] = operation(item, own)
        if shared:
            node["parameters"] = [parameter(each) for each in shared]
        yield path, node


def _described(operation: Operation) -> Tree:
    """What both dialects say of an operation alike."""
    node: Tree = {"operationId": operation.identifier, "tags": [operation.tag]}
    if operation.action:
        group, version, kind = operation.kind
        node["x-kubernetes-action"] = operation.action
        node["x-kubernetes-group-version-kind"] = {"group": group, "kind": kind, "version": version}
    return node


def _reference(dialect: Dialect, mentioned: type[Struct] | type[str]) -> Tree:
    return dialect.shape(struct_shape(mentioned)) if issubclass(mentioned, Struct) else {"type": "string"}


def _v2_parameter(parameter: Any) -> Tree:
    node = {"in": parameter.place, "name": parameter.name, "type": parameter.type, "uniqueItems": True}
    return {**node, "required": True} if parameter.place == "path" else node


def _v2_operation(operation: Operation, parameters: list[Tree]) -> Tree:
    node = _described(operation)
    if operation.patch:
        body = {"in": "body", "name": "body", "required": True, "schema": V2.reference(PATCH_DEFINITION)}
        parameters = [body, *parameters]
    elif operation.body is not None:
        body = {"in": "body", "name": "body", "schema": _reference(V2, operation.body)}
        if operation.body is not meta.DeleteOptions:
            body["required"] = True
        parameters = [body, *parameters]
    if parameters:
        node["parameters"] = parameters
    node["consumes"] = list(PATCH_TYPES) if operation.patch else ["*/*"]
    node["produces"] = list(operation.produces)
    node["schemes"] = ["https"]
    answer = _reference(V2, operation.answer)
    node["responses"] = {
        **{str(code): {"description": _DESCRIPTIONS[code], "schema": answer} for code in operation.codes},
        "401": _UNAUTHORIZED,
    }
    return node


def _v3_parameter(parameter: Any) -> Tree:
    schema = {"type": parameter.type, "uniqueItems": True}
    node = {"in": parameter.place, "name": parameter.name, "schema": schema}
    return {**node, "required": True} if parameter.place == "path" else node


def _v3_operation(operation: Operation, parameters: list[Tree]) -> Tree:
    node = _described(operation)
    if parameters:
        node["parameters"] = parameters
    if operation.patch:
        content = {"schema": V3.reference(PATCH_DEFINITION)}
        node["requestBody"] = {"required": True, "content": dict.fromkeys(PATCH_TYPES, content)}
    elif operation.body is not None:
        content = {"schema": _reference(V3, operation.body)}
        required = {} if operation.body is meta.DeleteOptions else {"required": True}
        node["requestBody"] = {**required, "content": {"*/*": content}}
    answer = {"schema": _reference(V3, operation.answer)}
    node["responses"] = {
        **{
            str(code): {"description": _DESCRIPTIONS[code], "content": dict.fromkeys(operation.produces, answer)}
            for code in operation.codes
        },
        "401": _UNAUTHORIZED,
    }
    return node


def _digest(name: str) -> str:
    return hashlib.sha512(_fingerprint() + name.encode()).hexdigest().upper()


@lru_cache(maxsize=1)
def _fingerprint() -> bytes:
    """A digest of the declarations and of the code that renders them."""
    digest = hashlib.sha512()
    for package in ("api", "api.openapi", "api.protobuf"):
        for source in sorted(resources.files(package).iterdir(), key=lambda source: source.name):
            if source.name.endswith(".py"):
                digest.update(source.read_bytes())
    return digest.digest()
