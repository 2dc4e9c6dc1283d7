"""Second look at a body that does not convert as it stands: lenient where Go is lenient, and in Go's words where it
is not.

Go takes ``null`` anywhere for "not given" and ignores line breaks in base64. Everything else that does not fit is an
error that names the innermost struct, the path of fields and the Go type.
"""

import sys
from typing import Any, Never

from api.decoding.errors import DecodeError, illegal_base64
from api.quantity import Quantity
from api.shapes import Alternatives, FreeForm, ListOf, MapOf, Scalar, Shape, StructShape
from api.times import MicroTime, Time

_RANGES = {"int32": 2**31, "int64": 2**63}
_GO_SCALARS = {str: "string", bool: "bool", float: "float64", bytes: "[]uint8"}


def admitted(value: Any, shape: Shape) -> Any:
    """The value with nulls dropped or replaced by zeros; raises DecodeError at the first thing of a wrong type."""
    return _zero(shape) if value is None else _Walk().walk(value, shape)


class _Walk:
    """Where the walk stands: the innermost struct, and the fields passed on the way (as Go tells it, without
    indices).
    """

    def __init__(self) -> None:
        self._structs: list[str] = []
        self._path: list[str] = []

    def walk(self, value: Any, shape: Shape) -> Any:
        match shape:
            case FreeForm():
                return value
            case Scalar():
                return self._scalar(value, shape)
            case StructShape():
                return self._struct(value, shape)
            case ListOf(item):
                if not isinstance(value, list):
                    self._refuse(value, shape)
                return [_zero(item) if entry is None else self.walk(entry, item) for entry in value]
            case MapOf(inner):
                if not isinstance(value, dict):
                    self._refuse(value, shape)
                return {key: _zero(inner) if entry is None else self.walk(entry, inner) for key, entry in value.items()}
            case Alternatives():
                return self._alternative(value, shape)

    def _struct(self, value: Any, shape: StructShape) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._refuse(value, shape)
        kept = {}
        self._structs.append(shape.struct.__name__)
        for key, entry in value.items():
            field = shape.fields.get(key)
            if field is None or entry is None:
                continue
            self._path.append(key)
            kept[key] = self.walk(entry, field.shape)
            self._path.pop()
        self._structs.pop()
        return kept

    def _scalar(self, value: Any, shape: Scalar) -> Any:
        if shape.python is Quantity:
            return _quantity(value)
        if shape.python in (Time, MicroTime):
            if not isinstance(value, str):
                raise DecodeError(f"json: cannot unmarshal {_kind(value)} into Go value of type string")
            return _checked(shape.python, value)
        if shape.python is bytes:
            return self._base64(value, shape)
        if shape.python is int:
            if not isinstance(value, int) or isinstance(value, bool):
                self._refuse(value, shape, literal=True)
            limit = _RANGES[shape.format or "int32"]  # an IntOrString names no format
            if not -limit <= value < limit:
                self._refuse(value, shape, literal=True)
        elif shape.python is float:
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                self._refuse(value, shape)
        elif not isinstance(value, shape.python):
            self._refuse(value, shape)
        return value

    def _base64(self, value: Any, shape: Scalar) -> str:
        if not isinstance(value, str):
            self._refuse(value, shape)
        complaint = illegal_base64(value)
        if complaint is not None:
            raise DecodeError(complaint)
        return value.replace("\n", "").replace("\r", "")

    def _alternative(self, value: Any, shape: Alternatives) -> Any:
        for choice in shape.choices:
            if _suits(value, choice):
                return self.walk(value, choice)
        if shape.choices and isinstance(shape.choices[0], Scalar):
            raise DecodeError(f"json: cannot unmarshal {_kind(value, literal=True)} into Go value of type int32")
        raise DecodeError(f"json: cannot unmarshal {_kind(value)} into Go value of type {_go_type(shape.choices[0])}")

    def _refuse(self, value: Any, shape: Shape, *, literal: bool = False) -> Never:
        what = f"json: cannot unmarshal {_kind(value, literal=literal)} into Go"
        if not self._path:
            raise DecodeError(f"{what} value of type {_go_type(shape)}")
        where = ".".join([self._structs[-1], *self._path])
        raise DecodeError(f"{what} struct field {where} of type {_go_type(shape)}")


def _suits(value: Any, shape: Shape) -> bool:
    match shape:
        case Scalar(python):
            return isinstance(value, python) and (python is bool or not isinstance(value, bool))
        case ListOf():
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _zero(shape: Shape) -> Any:
    """What Go leaves in a list or map where ``null`` stood."""
    match shape:
        case Scalar(python):
            return "0" if python is Quantity else "" if python is bytes else python()
        case StructShape() | MapOf():
            return {}
        case ListOf():
            return []
        case Alternatives(choices):
            return _zero(choices[0])
        case FreeForm():
            return None


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        value = "?"
    return _checked(Quantity, str(value).strip())


def _checked(python: type, text: str) -> str:
    try:
        python(text)
    except ValueError as error:
        raise DecodeError(str(error)) from None
    return text


def _kind(value: Any, *, literal: bool = False) -> str:
    """The JSON kind of a value; a number that does not fit an integer is quoted."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return f"number {value}" if literal else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _go_type(shape: Shape) -> str:
    match shape:
        case Scalar(python, text_format):
            return text_format if python is int else _GO_SCALARS.get(python, python.__name__)
        case ListOf(item):
            return f"[]{_go_type(item)}"
        case MapOf(value):
            return f"map[string]{_go_type(value)}"
        case StructShape(struct=struct):
            package: str = sys.modules[struct.__module__].DEFINITIONS
            return f"{package.rpartition('.')[2]}.{struct.__name__}"
        case Alternatives(_, definition) | FreeForm(definition):
            return definition.name.rpartition(".")[2] if definition else "interface {}"
