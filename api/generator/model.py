"""What the generator knows of a type once its sources are read, and before any Python is written.

Knows neither where the facts come from nor how they are written down.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scalar:
    """A built-in or hand-written type: ``string boolean int32 int64 double bytes any`` or a name of
    SCALAR_DEFINITIONS.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Ref:
    """Another declared type: its package (``core/v1``) and name."""

    package: str
    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "Expression"


@dataclass(frozen=True, slots=True)
class MapOf:
    value: "Expression"


Expression = Scalar | Ref | ListOf | MapOf


@dataclass(frozen=True, slots=True)
class Field:
    """One field; the flags are those of ``facts/fields.txt``."""

    wire: str
    type: Expression
    required: bool = False
    pointer: bool = False
    always: bool = False
    omit_zero: bool = False
    list_type: str = ""
    map_keys: tuple[str, ...] = ()
    map_type: str = ""
    patch_strategy: str = ""
    merge_key: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """One struct. ``api_version`` is empty unless it is a kind."""

    package: str
    name: str
    fields: tuple[Field, ...]
    api_version: str = ""
    atomic: bool = False
    union: tuple[str, tuple[tuple[str, str], ...]] | None = None

    def references(self) -> "set[Ref]":
        """The declared types its fields mention."""
        found: set[Ref] = set()
        pending = [field.type for field in self.fields]
        while pending:
            match pending.pop():
                case Ref() as ref:
                    found.add(ref)
                case ListOf(inner) | MapOf(inner):
                    pending.append(inner)
        return found


@dataclass(slots=True)
class Package:
    """A group-version's types in the order of their facts."""

    path: str
    definition_prefix: str
    types: dict[str, Type] = field(default_factory=dict)
