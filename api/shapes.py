"""The declarations as data: what codec, patches and OpenAPI walk along.

A shape says what JSON a field holds; a struct's shape lists its fields by wire name with all their annotations. Shapes
are read off the classes on demand and kept, so a process pays only for the types it looks into. Nothing here is
specific to any one type.
"""

import sys
import types
import typing
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from api.declarations import Definition, ListType, MapType, PatchStrategy, Requirement, Struct


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A string, boolean, number or bytes: the Python type, and the format its schema gives."""

    python: type
    format: str = ""
    definition: Definition | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FreeForm:
    """Any JSON; an object if the definition says so."""

    definition: Definition | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """A value of one of several shapes (IntOrString, JSONSchemaPropsOrBool)."""

    choices: "tuple[Shape, ...]"
    definition: Definition | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """A list of one shape."""

    item: "Shape"


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """An object whose keys are data (labels, limits)."""

    value: "Shape"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field of a struct. ``nullable``: None tells absence from zero. ``omitted``: left out when zero."""

    wire: str
    attribute: str
    shape: "Shape"
    required: bool
    nullable: bool
    omitted: bool
    list_type: ListType | None
    map_type: MapType | None
    patch: PatchStrategy | None


class StructShape:
    """A declared struct; its fields are read when first asked for, so that types may be recursive."""

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct

    @cached_property
    def fields(self) -> dict[str, Field]:
        """By wire name, in the order of declaration."""
        hints = typing.get_type_hints(self.struct, include_extras=True)
        return {field.encode_name: _field(field, hints[field.name]) for field in msgspec.structs.fields(self.struct)}

    @cached_property
    def nested(self) -> "dict[str, Shape | None]":
        """By wire name, the shapes that hold named fields further down; None where there is nothing to look into."""
        return {
            wire: None if isinstance(field.shape, (Scalar, FreeForm)) else field.shape
            for wire, field in self.fields.items()
        }

    @property
    def definition(self) -> str:
        """The full name under which the type is published: ``io.k8s.api.core.v1.Pod``."""
        return f"{sys.modules[self.struct.__module__].DEFINITIONS}.{self.struct.__name__}"


Shape = Scalar | FreeForm | Alternatives | ListOf | MapOf | StructShape

_STRUCTS: dict[type[Struct], StructShape] = {}
_FACTS = (Requirement, ListType, MapType, PatchStrategy, Definition, msgspec.Meta)


def struct_shape(struct: type[Struct]) -> StructShape:
    """The shape of a declared struct; always the same object for the same class."""
    shape = _STRUCTS.get(struct)
    if shape is None:
        shape = _STRUCTS[struct] = StructShape(struct)
    return shape


def shape_of(annotation: Any) -> Shape:
    """The shape of anything that may annotate a field: a struct class, or a list or map of them."""
    return _shape(annotation)


def _field(field: msgspec.structs.FieldInfo, annotation: Any) -> Field:
    inner, facts = _unwrapped(annotation)
    inner, nullable = _without_none(inner)
    inner, more = _unwrapped(inner)
    facts = {**more, **facts}
    return Field(
        wire=field.encode_name,
        attribute=field.name,
        shape=_shape(inner, facts.get(Definition), facts.get(msgspec.Meta)),
        required=Requirement in facts,
        nullable=nullable,
        omitted=field.default is not msgspec.NODEFAULT or field.default_factory in (list, dict),
        list_type=facts.get(ListType),
        map_type=facts.get(MapType),
        patch=facts.get(PatchStrategy),
    )


def _unwrapped(annotation: Any) -> tuple[Any, dict[type, Any]]:
    """The annotated type, and the facts about it by their class."""
    if get_origin(annotation) is not Annotated:
        return annotation, {}
    inner, *marks = get_args(annotation)
    return inner, {type(mark): mark for mark in marks if isinstance(mark, _FACTS)}


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    choices = get_args(annotation)
    rest = tuple(choice for choice in choices if choice is not type(None))
    if len(rest) == len(choices):
        return annotation, False
    return (rest[0] if len(rest) == 1 else Union[rest]), True  # noqa: UP007 - a union made at run time


def _shape(annotation: Any, definition: Definition | None = None, meta: msgspec.Meta | None = None) -> Shape:
    inner, facts = _unwrapped(annotation)
    definition = definition or facts.get(Definition)
    meta = meta or facts.get(msgspec.Meta)
    origin = get_origin(inner)
    if origin is list:
        return ListOf(_shape(get_args(inner)[0]))
    if origin is dict:
        return MapOf(_shape(get_args(inner)[1]))
    if origin in (Union, types.UnionType):
        return Alternatives(tuple(_shape(choice) for choice in get_args(inner)), definition)
    if inner is Any:
        return FreeForm(definition)
    if isinstance(inner, type) and issubclass(inner, Struct):
        return struct_shape(inner)
    if hasattr(inner, "definition"):
        return Scalar(inner, inner.definition.format, inner.definition)
    if meta is not None and meta.extra_json_schema is not None:
        return Scalar(inner, meta.extra_json_schema["format"])
    return Scalar(inner, {bytes: "byte", float: "double"}.get(inner, ""))
