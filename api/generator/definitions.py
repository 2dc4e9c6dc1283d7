"""Reads the published definitions of 1.36 from kubernetes-validate and restores what that package bends for JSON
schema.

It adds null to every optional type, and spells IntOrString and Quantity as alternatives; both are undone here. Only
what differs from one type to another is read: descriptions are not.
"""

import json
from importlib import resources
from typing import Any

from api.generator import facts
from api.generator.model import Expression, Field, ListOf, MapOf, Package, Ref, Scalar, Type

DATA = "kubernetes-json-schema/v1.36.0-local/_definitions.json"

_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

# Published definitions that are scalars or free-form JSON here: their full name and what declares them.
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "Time",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "RawExtension",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    f"{_EXTENSIONS}.JSON": "JSON",
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": "JSONSchemaPropsOrArray",
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": "JSONSchemaPropsOrBool",
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": "JSONSchemaPropsOrStringArray",
}

# Definitions that describe a request body, not a type.
_NOT_TYPES = {"io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}


class Disagreement(Exception):
    """The facts and the definitions do not speak of the same fields."""


def read() -> list[Package]:
    """All packages of packages.txt with their types; raises Disagreement when the sources contradict one another."""
    text = resources.files("kubernetes_validate").joinpath(DATA).read_text(encoding="utf-8")
    definitions: dict[str, dict[str, Any]] = json.loads(text)["$defs"]
    names = facts.packages()
    prefixes = {name.definition_prefix: name.path for name in names}
    ordered = facts.fields()
    packages = [Package(name.path, name.definition_prefix) for name in names]
    by_path = {package.path: package for package in packages}
    for (path, name), flags in ordered.items():
        definition = definitions.pop(f"{by_path[path].definition_prefix}.{name}")
        by_path[path].types[name] = _type(path, name, definition, flags, prefixes)
    for full_name, definition in definitions.items():
        prefix, _, name = full_name.rpartition(".")
        if prefix in prefixes and full_name not in SCALARS and full_name not in _NOT_TYPES:
            by_path[prefixes[prefix]].types[name] = _type(prefixes[prefix], name, definition, [], prefixes)
    for declared in facts.unpublished():
        by_path[declared.package].types[declared.name] = declared
    return packages


def _type(
    path: str, name: str, definition: dict[str, Any], flags: list[tuple[str, str]], prefixes: dict[str, str]
) -> Type:
    properties = dict(definition.get("properties", {}))
    api_version = _api_version(path, definition)
    if api_version:
        del properties["apiVersion"], properties["kind"]
    if {wire for wire, _ in flags} != set(properties):
        raise Disagreement(f"{path} {name}: fields {sorted({wire for wire, _ in flags} ^ set(properties))}")
    required = set(definition.get("required", ()))
    unions = definition.get("x-kubernetes-unions", ())
    return Type(
        package=path,
        name=name,
        fields=tuple(_field(wire, properties[wire], flag, wire in required, prefixes) for wire, flag in flags),
        api_version=api_version,
        atomic=definition.get("x-kubernetes-map-type") == "atomic",
        union=_union(unions[0]) if unions else None,
    )


def _api_version(path: str, definition: dict[str, Any]) -> str:
    """The one apiVersion of a kind; the options and lists that every group serves go by ``v1``."""
    kinds = definition.get("x-kubernetes-group-version-kind", ())
    if not kinds or "apiVersion" not in definition["properties"]:
        return ""
    if len(kinds) > 1 or path == "meta/v1":
        return "v1"
    return f"{kinds[0]['group']}/{kinds[0]['version']}".lstrip("/")


def _union(union: dict[str, Any]) -> tuple[str, tuple[tuple[str, str], ...]]:
    return union.get("discriminator", ""), tuple(union["fields-to-discriminateBy"].items())


def _field(wire: str, schema: dict[str, Any], flags: str, required: bool, prefixes: dict[str, str]) -> Field:
    return Field(
        wire=wire,
        type=_expression(schema, prefixes),
        required=required,
        pointer="*" in flags,
        always="!" in flags,
        omit_zero="~" in flags,
        list_type=schema.get("x-kubernetes-list-type", ""),
        map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        map_type=schema.get("x-kubernetes-map-type", ""),
        patch_strategy=schema.get("x-kubernetes-patch-strategy", ""),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
    )


def _expression(schema: dict[str, Any], prefixes: dict[str, str]) -> Expression:
    if reference := schema.get("$ref"):
        full_name = reference.removeprefix("#/$defs/")
        if full_name in SCALARS:
            return Scalar(SCALARS[full_name])
        prefix, _, name = full_name.rpartition(".")
        return Ref(prefixes[prefix], name)
    match _without_null(schema["type"]), schema.get("format", ""):
        case "array", _:
            return ListOf(_expression(schema["items"], prefixes))
        case "object", _:
            return MapOf(_expression(schema["additionalProperties"], prefixes))
        case "string", "byte":
            return Scalar("bytes")
        case "string" | "boolean" as name, "":
            return Scalar(name)
        case ("integer", "int32" | "int64" as name) | ("number", "double" as name):
            return Scalar(name)
        case unknown:
            raise Disagreement(f"no type is known for {unknown}")


def _without_null(types: str | list[str]) -> str:
    if isinstance(types, str):
        return types
    (name,) = (item for item in types if item != "null")
    return name
