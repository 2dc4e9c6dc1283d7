"""Schemas of declared types, as OpenAPI v2 or v3 writes them.

Everything said here is read off the declarations; descriptions there are none. The two dialects differ in where a
reference points, in how it may stand beside other keys, and in whether alternatives can be said at all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from api import meta_v1 as meta
from api.declarations import Definition, Struct, is_atomic, union_of
from api.quantity import Quantity
from api.scheme import SCHEME, split_api_version
from api.shapes import Alternatives, Field, FreeForm, ListOf, MapOf, Scalar, Shape, StructShape, struct_shape

Schema = dict[str, Any]

# What a request body of PATCH is; no struct, since its form depends on the content type.
PATCH_DEFINITION = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"

_JSON_TYPES = {str: "string", bytes: "string", bool: "boolean", int: "integer", float: "number"}

# Kinds that are part of every group-version: their schemas name them all.
_EVERYWHERE: tuple[type[Struct], ...] = (meta.DeleteOptions, meta.WatchEvent)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A version of OpenAPI: its number, and the prefix of references to schemas."""

    version: int
    prefix: str

    def reference(self, name: str) -> Schema:
        """A pointer to a named schema."""
        return {"$ref": self.prefix + name}

    def field(self, field: Field) -> Schema:
        """The schema of one field, with what lists and patches need to know."""
        schema = self.shape(field.shape)
        extensions: Schema = {}
        if field.list_type:
            extensions["x-kubernetes-list-type"] = field.list_type.kind
            if field.list_type.keys:
                extensions["x-kubernetes-list-map-keys"] = list(field.list_type.keys)
        if field.map_type:
            extensions["x-kubernetes-map-type"] = field.map_type.kind
        if field.patch:
            extensions["x-kubernetes-patch-strategy"] = ",".join(field.patch.strategies)
            if field.patch.key:
                extensions["x-kubernetes-patch-merge-key"] = field.patch.key
        if extensions and "$ref" in schema and self.version == 3:
            schema = {"allOf": [schema]}
        return {**schema, **extensions}

    def shape(self, shape: Shape) -> Schema:
        """The schema of a value; named types become references."""
        match shape:
            case StructShape():
                return self.reference(shape.definition)
            case ListOf(item):
                return {"items": self.shape(item), "type": "array"}
            case MapOf(value):
                return {"additionalProperties": self.shape(value), "type": "object"}
            case Scalar(definition=Definition(name=name)) | Alternatives(definition=Definition(name=name)):
                return self.reference(name)
            case FreeForm(definition=Definition(name=name)):
                return self.reference(name)
            case Scalar(python, text_format):
                return _typed(_JSON_TYPES[python], text_format)
            case _:
                return {}

    def definition(self, definition: Definition) -> Schema:
        """The schema of a definition that has no struct."""
        if self.version == 3 and definition.name == Quantity.definition.name:
            return {"oneOf": [{"type": "string"}, {"type": "number"}]}
        if self.version == 3 and definition.format == "int-or-string":
            return {"format": definition.format, "oneOf": [{"type": "integer"}, {"type": "string"}]}
        return _typed(definition.type, definition.format)

    def struct(self, shape: StructShape) -> Schema:
        """The schema of a struct."""
        schema: Schema = {"type": "object"}
        if shape.fields:
            schema["properties"] = {wire: self.field(field) for wire, field in shape.fields.items()}
        required = [wire for wire, field in shape.fields.items() if field.required]
        if required:
            schema["required"] = required
        if is_atomic(shape.struct):
            schema["x-kubernetes-map-type"] = "atomic"
        if union := union_of(shape.struct):
            discriminator = {"discriminator": union.discriminator} if union.discriminator else {}
            schema["x-kubernetes-unions"] = [{**discriminator, "fields-to-discriminateBy": dict(union.members)}]
        if kinds := list(_kinds(shape.struct)):
            schema["x-kubernetes-group-version-kind"] = kinds
        return schema


V2 = Dialect(2, "#/definitions/")
V3 = Dialect(3, "#/components/schemas/")


def schemas(dialect: Dialect, roots: Iterable[type[Struct]]) -> Iterator[tuple[str, Schema]]:
    """The schemas of the types and of all they mention, in the order of their full names; each made when it is due."""
    found: dict[str, StructShape | Definition | None] = {PATCH_DEFINITION: None}
    pending: list[Shape] = [struct_shape(root) for root in roots]
    while pending:
        match pending.pop():
            case StructShape() as shape:
                if shape.definition not in found:
                    found[shape.definition] = shape
                    pending.extend(field.shape for field in shape.fields.values())
            case ListOf(inner) | MapOf(inner):
                pending.append(inner)
            case Scalar(definition=Definition() as definition) | FreeForm(definition=Definition() as definition):
                found[definition.name] = definition
            case Alternatives(choices, Definition() as definition) if definition.name not in found:
                found[definition.name] = definition
                pending.extend(choices)
    for name, described in sorted(found.items(), key=lambda item: item[0]):
        match described:
            case StructShape():
                yield name, dialect.struct(described)
            case Definition():
                yield name, dialect.definition(described)
            case None:
                yield name, {"type": "object"}


def _typed(json_type: str, text_format: str) -> Schema:
    schema: Schema = {}
    if text_format:
        schema["format"] = text_format
    if json_type:
        schema["type"] = json_type
    return schema


def _kinds(struct: type[Struct]) -> Iterator[dict[str, str]]:
    """The groups, versions and kinds under which values of the struct travel on their own."""
    if struct in _EVERYWHERE:
        for api_version in sorted({resource.api_version for resource in SCHEME.resources()}):
            yield _kind(api_version, struct.__name__)
    elif issubclass(struct, meta.TypeMeta):
        blank = struct()
        yield _kind(blank.api_version, blank.kind)


def _kind(api_version: str, kind: str) -> dict[str, str]:
    group, version = split_api_version(api_version)
    return {"group": group, "kind": kind, "version": version}
