"""The vocabulary in which every Kubernetes type is declared.

A declaration is a msgspec struct whose fields carry everything the rest of the house needs to know: the Python type,
whether the field is encoded when it holds its zero value, whether the published schema demands it, and how lists and
maps are merged. Codec, patches, server-side apply and OpenAPI read these declarations; none of them keeps a second
copy.

How a Go field reads here (the Go struct tags decide what an explicit zero means on the wire):

=============================  =======================================  =============================
Go                             here                                     on the wire when zero
=============================  =======================================  =============================
``string  json:",omitempty"``  ``image: str = ""``                      left out
``string  json:""``            ``name: str = always(str)``              ``"name": ""``
``*int32  json:",omitempty"``  ``replicas: Int32 | None = None``        0 is kept, None is left out
``*string json:""``            ``api_group: str | None = always(none)``  ``"apiGroup": null``
``PodSpec json:",omitempty"``  ``spec: PodSpec = always(PodSpec)``      ``"spec": {}``
=============================  =======================================  =============================

Python names are snake_case; the wire name is the camelCase of it, or is given as ``name=`` where that rule does not
hold (podIP). This module must not know any particular type.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")
StructType = TypeVar("StructType", bound="type[msgspec.Struct]")


class Struct(msgspec.Struct, omit_defaults=True, repr_omit_defaults=True, kw_only=True, rename="camel", gc=False):
    """Base of every declared type.

    ``gc=False``: API objects are trees, so reference counting frees them; leaving them out of the cycle collector
    saves 16 bytes each and keeps full collections short in processes that cache many objects.
    """


def none() -> None:
    """Factory of an explicit null: the zero of a pointer, time or free-form JSON without ``omitempty``."""


def always(factory: Callable[[], T], *, name: str | None = None) -> T:
    """A field that is encoded even when it holds its zero value.

    msgspec leaves a default out only when it recognises it: the same object as ``default``, or an empty collection
    made by the bare type ``list`` or ``dict``. A factory it does not know defeats that, which is what is wanted here.
    """
    value: T = msgspec.field(default_factory=_HIDDEN.get(factory, factory), name=name)
    return value


def _new_list() -> list[Any]:
    return []


def _new_dict() -> dict[str, Any]:
    return {}


_HIDDEN: dict[Any, Callable[[], Any]] = {list: _new_list, dict: _new_dict}


def constant(value: T, *, name: str | None = None) -> T:
    """A field that starts as ``value`` and is always encoded: the apiVersion and kind of a kind."""
    field: T = msgspec.field(default_factory=lambda: value, name=name)
    return field


def wire(name: str, default: T) -> T:
    """A field whose wire name is not the camelCase of its Python name; left out when it equals ``default``."""
    field: T
    if type(default) is list or type(default) is dict:
        field = msgspec.field(default_factory=type(default), name=name)
    else:
        field = msgspec.field(default=default, name=name)
    return field


# Facts about a field, as annotations on its type.


@dataclass(frozen=True, slots=True)
class Requirement:
    """The published schema lists the field under ``required``."""


@dataclass(frozen=True, slots=True)
class ListType:
    """How server-side apply treats a list: ``atomic``, ``set``, or ``map`` keyed by ``keys`` (wire names)."""

    kind: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MapType:
    """How server-side apply treats a map or struct: ``atomic`` (replaced as a whole) or ``granular``."""

    kind: str


@dataclass(frozen=True, slots=True)
class PatchStrategy:
    """How strategic merge patch treats a field: ``merge``, ``replace``, ``retainKeys``; ``key`` names the merge key
    (wire name).
    """

    strategies: tuple[str, ...]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A published definition that has no struct of its own (Quantity, Time, RawExtension …): its full name and its
    schema.
    """

    name: str
    type: str = ""
    format: str = ""


Required = Annotated[T, Requirement()]
Atomic = Annotated[T, ListType("atomic")]
SetOf = Annotated[T, ListType("set")]


def ListMap(*keys: str) -> ListType:  # noqa: N802 - reads as an annotation beside the list's type
    """A list whose items are told apart by ``keys`` (wire names)."""
    return ListType("map", keys)


def Merge(key: str = "", *, retain_keys: bool = False) -> PatchStrategy:  # noqa: N802
    """Strategic merge patch merges the list: items by ``key``, scalars as a set; ``retain_keys`` honours
    ``$retainKeys``.
    """
    return PatchStrategy(("merge", "retainKeys") if retain_keys else ("merge",), key)


REPLACE = PatchStrategy(("replace",))
RETAIN_KEYS = PatchStrategy(("retainKeys",))
ATOMIC_MAP = MapType("atomic")
GRANULAR_MAP = MapType("granular")

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1, extra_json_schema={"format": "int32"})]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1, extra_json_schema={"format": "int64"})]


# Facts about a type as a whole, as decorators.


@dataclass(frozen=True, slots=True)
class Union:
    """A struct of which at most one of ``members`` (wire name → discriminator value) is set."""

    discriminator: str
    members: tuple[tuple[str, str], ...]


_ATOMIC_STRUCTS: set[type] = set()
_UNIONS: dict[type, Union] = {}


def atomic(struct: StructType) -> StructType:
    """Class decorator: server-side apply replaces values of this struct as a whole."""
    _ATOMIC_STRUCTS.add(struct)
    return struct


def union(discriminator: str, **members: str) -> Callable[[StructType], StructType]:
    """Class decorator: at most one of ``members`` is set, and ``discriminator`` (if any) says which."""

    def declare(struct: StructType) -> StructType:
        _UNIONS[struct] = Union(discriminator, tuple(sorted(members.items())))
        return struct

    return declare


def is_atomic(struct: type) -> bool:
    """Whether values of the struct are replaced as a whole by server-side apply."""
    return struct in _ATOMIC_STRUCTS


def union_of(struct: type) -> Union | None:
    """The union declared on the struct, if any."""
    return _UNIONS.get(struct)
