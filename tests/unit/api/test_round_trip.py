"""Whatever upstream would send comes back the same: every field of every type, and generated objects of every kind."""

import importlib
import json
import pkgutil
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import api
from api.codec import decode, decode_reporting, encode, from_builtins, to_builtins
from api.declarations import Struct
from api.quantity import Quantity
from api.scheme import SCHEME
from api.shapes import Alternatives, Field, FreeForm, ListOf, MapOf, Scalar, Shape, StructShape, struct_shape
from api.times import MicroTime, Time

_SAMPLES: dict[type, tuple[Any, Any]] = {
    # a zero and another value, both canonical
    str: ("", "text"),
    bool: (False, True),
    int: (0, 7),
    float: (0.0, 2.5),
    bytes: ("", "aGk="),
    Quantity: ("0", "500m"),
    Time: ("2024-01-31T12:00:00Z", "2025-01-31T12:00:00Z"),
    MicroTime: ("2024-01-31T12:00:00.000000Z", "2025-01-31T12:00:00.123456Z"),
}


def _structs() -> list[type[Struct]]:
    found = []
    for module_info in pkgutil.iter_modules(api.__path__):
        if module_info.name == "version" or module_info.name.rpartition("_v")[2].isdigit():
            module = importlib.import_module(f"api.{module_info.name}")
            found += [
                value
                for value in vars(module).values()
                if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == module.__name__
            ]
    return found


def _zero(shape: Shape) -> Any:
    match shape:
        case Scalar(python):
            return _SAMPLES[python][0]
        case StructShape():
            return {}
        case ListOf():
            return []
        case MapOf():
            return {}
        case Alternatives(choices):
            return _zero(choices[0])
        case FreeForm():
            return {}


def _other(shape: Shape) -> Any:
    match shape:
        case Scalar(python):
            return _SAMPLES[python][1]
        case StructShape():
            return {}
        case ListOf(item):
            return [_other(item), _zero(item)]
        case MapOf(value):
            return {"k": _other(value)}
        case Alternatives(choices):
            return _other(choices[-1])
        case FreeForm():
            return {"free": [None, 1, {"form": ""}]}


def _blank(shape: StructShape) -> dict[str, Any]:
    """What an empty struct reads as: the fields that are always written."""
    return {field.wire: _written_zero(field) for field in shape.fields.values() if not field.omitted}


def _written_zero(field: Field) -> Any:
    if field.wire in ("apiVersion", "kind"):
        return ANY
    if field.nullable or isinstance(field.shape, FreeForm):
        return None
    return _blank(field.shape) if isinstance(field.shape, StructShape) else _zero(field.shape)


class _Any:
    """Equal to everything: apiVersion and kind differ from kind to kind and are tested elsewhere."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


ANY = _Any()


@pytest.mark.parametrize("struct", _structs(), ids=lambda struct: f"{struct.__module__}.{struct.__name__}")
def test_every_field_alone(struct: type[Struct]) -> None:
    shape = struct_shape(struct)
    blank = _blank(shape)
    assert to_builtins(struct()) == blank
    for wire, field in shape.fields.items():
        for value in (_zero(field.shape), _other(field.shape)):
            sent = {wire: value}
            expected = _expected(sent, shape)
            assert to_builtins(from_builtins(sent, struct)) == expected, wire
            assert json.loads(encode(from_builtins(sent, struct))) == expected, wire


_TEXT = st.text(max_size=8)
_FREE_FORM = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_SCALARS: dict[type, st.SearchStrategy[Any]] = {
    str: _TEXT,
    bool: st.booleans(),
    float: st.integers(-1000, 1000).map(lambda number: number / 4),
    bytes: st.binary(max_size=6).map(lambda data: json.loads(encode(data))),
    Quantity: st.integers(-(10**18), 10**18).map(lambda nano: str(Quantity.from_nano(nano))),
    Time: st.integers(0, 2**32).map(lambda seconds: str(Time.from_timestamp(seconds))),
    MicroTime: st.integers(0, 2**42).map(lambda seconds: str(MicroTime.from_timestamp(seconds / 1024))),
}


@st.composite
def _values(draw: st.DrawFn, shape: Shape, depth: int) -> Any:
    """JSON of the shape as a client may send it: some fields, zeros among them."""
    match shape:
        case Scalar(python=python, format=text_format) if python is int:
            limit = 2**31 if text_format == "int32" else 2**63
            return draw(st.integers(-limit, limit - 1))
        case Scalar(python=python):
            return draw(_SCALARS[python])
        case FreeForm():
            return draw(_FREE_FORM)
        case Alternatives(choices):
            return draw(_values(draw(st.sampled_from(choices)), depth))
        case ListOf(item):
            return draw(st.lists(_values(item, depth - 1), max_size=2)) if depth > 0 else []
        case MapOf(value):
            return draw(st.dictionaries(_TEXT, _values(value, depth - 1), max_size=2)) if depth > 0 else {}
        case StructShape():
            names = [name for name in shape.fields if name not in ("apiVersion", "kind") or shape.fields[name].required]
            if depth <= 0 or not names:
                return {}
            chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
            return {name: draw(_values(shape.fields[name].shape, depth - 1)) for name in chosen}


def _expected(value: Any, shape: Shape) -> Any:
    """How upstream writes back what it read: zeros left out or added, field by field."""
    match shape:
        case StructShape():
            written = _blank(shape)
            for wire, entry in value.items():
                field = shape.fields[wire]
                if entry is None and isinstance(field.shape, FreeForm):
                    continue
                text = _expected(entry, field.shape)
                if (
                    field.omitted
                    and not field.nullable
                    and text == _zero(field.shape)
                    and not isinstance(field.shape, FreeForm)
                ):
                    continue
                written[wire] = text
            return written
        case ListOf(item):
            return [_expected(entry, item) for entry in value]
        case MapOf(inner):
            return {key: _expected(entry, inner) for key, entry in value.items()}
        case Alternatives(choices):
            chosen = next((choice for choice in choices if isinstance(choice, StructShape)), None)
            if chosen and isinstance(value, dict):
                return _expected(value, chosen)
            lists = next((choice for choice in choices if isinstance(choice, ListOf)), None)
            return _expected(value, lists) if lists and isinstance(value, list) else value
        case _:
            return value


_KINDS = [resource.type for resource in SCHEME.resources()]


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_generated_objects(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(_KINDS))
    value = data.draw(_values(struct_shape(kind), 5))
    raw = json.dumps(value).encode()
    decoded, objections = decode_reporting(raw, kind)
    assert objections == []
    text = encode(decoded)
    assert json.loads(text) == _expected(value, struct_shape(kind))
    assert encode(decode(text, kind)) == text
    assert encode(from_builtins(json.loads(text), kind)) == text


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_new_objects_say_what_they_are(kind: type[Struct]) -> None:
    text = json.loads(encode(kind()))
    resource = SCHEME.of(kind)
    assert (text["apiVersion"], text["kind"]) == (resource.api_version, resource.kind)
