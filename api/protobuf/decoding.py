"""A message as the JSON value it stands for, walked along the declared shape of its struct.

What is special to Kubernetes' use of protobuf is settled here: times, quantities, int-or-string and free-form JSON
are messages of their own; maps are lists of entries; lists within maps are wrapped. Unknown fields are dropped, as
upstream does. The result is for `api.codec`, which judges it like any other JSON.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from api.protobuf import numbers, wire
from api.protobuf.wire import WireError
from api.quantity import Quantity
from api.shapes import Alternatives, FreeForm, ListOf, MapOf, Scalar, Shape, StructShape
from api.times import MicroTime, Time

_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

# How deep messages may nest: schemas of schemas are the deepest there is, and recursion must end somewhere.
_DEEPEST = 100


def decode_message(data: memoryview, shape: StructShape, depth: int = 0) -> dict[str, Any]:
    """The message of a struct. Raises WireError, or LookupError for a struct whose group defines no protobuf."""
    if depth > _DEEPEST:
        raise WireError("proto: exceeded max depth")
    message = numbers.message_of(shape.struct)
    if message is None:
        raise LookupError(f"protobuf: {shape.struct.__name__} has no protobuf form")
    result: dict[str, Any] = {}
    _fill(result, data, message, shape, depth)
    return result


def _fill(result: dict[str, Any], data: memoryview, message: numbers.Message, shape: StructShape, depth: int) -> None:
    """Add the fields of *message* to *result*; those of an embedded message stand among them."""
    for number, wire_type, value in wire.fields(data):
        place = message.get(number)
        if place is None:
            continue
        if place.embedded:
            inner = numbers.embedded(shape.struct, place.embedded)
            _fill(result, _piece(value, wire_type), inner, shape, depth)
            continue
        field = shape.fields.get(place.name)
        if field is None:
            continue
        inside = field.shape
        if isinstance(inside, ListOf):
            result.setdefault(place.name, []).extend(_items(value, wire_type, inside.item, depth))
        elif isinstance(inside, MapOf):
            key, item = _entry(_piece(value, wire_type), inside.value, depth)
            result.setdefault(place.name, {})[key] = item
        else:
            decoded = _value(value, wire_type, inside, depth)
            # An empty time or extension is the zero value of Go, which is absence.
            if decoded is not None:
                result[place.name] = decoded


def _items(value: int | memoryview, wire_type: int, shape: Shape, depth: int) -> list[Any]:
    """One element of a list, or several where numbers are packed."""
    if isinstance(value, memoryview) and isinstance(shape, Scalar) and shape.python in (int, bool):
        packed: list[Any] = []
        position = 0
        while position < len(value):
            number, position = wire.varint(value, position)
            packed.append(_value(number, wire.VARINT, shape, depth))
        return packed
    return [_value(value, wire_type, shape, depth)]


def _entry(data: memoryview, shape: Shape, depth: int) -> tuple[str, Any]:
    """A map's entry: the key is field 1, the value field 2, and either is left out when zero."""
    key, item = "", _zero(shape)
    for number, wire_type, value in wire.fields(data):
        if number == 1:
            key = _text(_piece(value, wire_type))
        elif number == 2:
            item = (
                _wrapped(_piece(value, wire_type), shape, depth)
                if isinstance(shape, ListOf)
                else _value(value, wire_type, shape, depth)
            )
    return key, item


def _wrapped(data: memoryview, shape: ListOf, depth: int) -> list[Any]:
    """A list as the value of a map: a message whose field 1 is repeated (``ExtraValue``)."""
    found: list[Any] = []
    for number, wire_type, value in wire.fields(data):
        if number == 1:
            found.extend(_items(value, wire_type, shape.item, depth))
    return found


def _value(value: int | memoryview, wire_type: int, shape: Shape, depth: int) -> Any:
    if isinstance(shape, StructShape):
        return decode_message(_piece(value, wire_type), shape, depth + 1)
    if isinstance(shape, FreeForm):
        return _free_form(_piece(value, wire_type))
    if isinstance(shape, Alternatives):
        if shape.definition is not None and shape.definition.name == _INT_OR_STRING:
            return _int_or_string(_piece(value, wire_type))
        return _schema_or_other(_piece(value, wire_type), shape, depth)
    if not isinstance(shape, Scalar):
        raise WireError("proto: a list or map within a list")
    python = shape.python
    if python in (Time, MicroTime):
        return _time(_piece(value, wire_type), micro=python is MicroTime)
    if python is Quantity:
        return _only_string(_piece(value, wire_type))
    if python is bool:
        return bool(_number(value, wire_type))
    if python is int:
        return wire.signed(_number(value, wire_type))
    if python is float:
        return wire.double(_number(value, wire_type))
    piece = _piece(value, wire_type)
    return base64.b64encode(piece).decode("ascii") if python is bytes else _text(piece)


def _time(data: memoryview, *, micro: bool) -> str | None:
    seconds = nanos = 0
    empty = True
    for number, wire_type, value in wire.fields(data):
        empty = False
        if number == 1:
            seconds = wire.signed(_number(value, wire_type))
        elif number == 2:
            nanos = wire.signed(_number(value, wire_type))
    if empty:
        return None
    try:
        return str(MicroTime.from_timestamp(seconds + nanos / 1e9) if micro else Time.from_timestamp(seconds))
    except (OverflowError, ValueError) as error:
        raise WireError(f"proto: time out of range: {error}") from None


def _int_or_string(data: memoryview) -> int | str:
    kind = number_value = 0
    text = ""
    for number, wire_type, value in wire.fields(data):
        if number == 1:
            kind = _number(value, wire_type)
        elif number == 2:
            number_value = wire.signed(_number(value, wire_type))
        elif number == 3:
            text = _text(_piece(value, wire_type))
    return text if kind == 1 else number_value


def _schema_or_other(data: memoryview, shape: Alternatives, depth: int) -> Any:
    """What a schema may have in a schema's stead: a boolean, which is numbered before it, or a list, after it."""
    schema, other = shape.choices
    listed = isinstance(other, ListOf)
    found: dict[str, Any] | None = None
    instead: Any = [] if listed else False
    for number, wire_type, value in wire.fields(data):
        if number == (1 if listed else 2):
            found = _value(value, wire_type, schema, depth)
        elif isinstance(other, ListOf) and number == 2:
            instead.extend(_items(value, wire_type, other.item, depth))
        elif number == 1:
            instead = bool(_number(value, wire_type))
    if listed:
        return instead or found
    return instead if found is None else found


def _free_form(data: memoryview) -> Any:
    """JSON within protobuf: RawExtension and its like keep it as the bytes of field 1."""
    for number, wire_type, value in wire.fields(data):
        if number == 1:
            raw = bytes(_piece(value, wire_type))
            try:
                return msgspec.json.decode(raw) if raw else None
            except msgspec.DecodeError as error:
                raise WireError(f"proto: embedded JSON: {error}") from None
    return None


def _only_string(data: memoryview) -> str:
    text = "0"
    for number, wire_type, value in wire.fields(data):
        if number == 1:
            text = _text(_piece(value, wire_type))
    return text


def _zero(shape: Shape) -> Any:
    """What a map's value is when it was left out."""
    if isinstance(shape, ListOf):
        return []
    if isinstance(shape, StructShape | MapOf):
        return {}
    if isinstance(shape, Scalar):
        if shape.python is Quantity:
            return "0"
        if shape.python in (int, bool):
            return shape.python()
        return ""
    return None


def _piece(value: int | memoryview, wire_type: int) -> memoryview:
    if isinstance(value, memoryview):
        return value
    raise WireError(f"proto: wrong wireType = {wire_type} where bytes belong")


def _number(value: int | memoryview, wire_type: int) -> int:
    if isinstance(value, memoryview):
        raise WireError(f"proto: wrong wireType = {wire_type} where a number belongs")
    return value


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        raise WireError("proto: string is no valid UTF-8") from None
