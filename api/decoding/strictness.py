"""What strict field validation objects to: fields no declaration knows, and keys that stand twice in one object.

Runs on every write, so it is built to find nothing quickly: unknown fields by comparing sets of keys; duplicates by
counting quotes, since a decoder that drops a repeated key drops its quotes too. Only when there is something to find is
it told what and where.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from api.shapes import Alternatives, FreeForm, ListOf, MapOf, Scalar, Shape, StructShape


def objections(raw: bytes, data: Any, shape: Shape) -> list[str]:
    """``unknown field "spec.foo"`` and ``duplicate field "spec.bar"`` in the order of the text; ``data`` is ``raw``
    decoded.
    """
    if _has_duplicates(raw, data):
        data = json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    elif (all_known := _checker(shape)) is None or all_known(data):
        return []
    return list(_listed(data, shape))


class _Pairs(list[tuple[str, Any]]):
    """An object whose keys may repeat."""


def _has_duplicates(raw: bytes, data: Any) -> bool:
    """May say yes for nothing when the text spells quotes as ``\\u0022``; never no when there are some."""
    return b"\\u" in raw or raw.count(b'"') != msgspec.json.encode(data).count(b'"')


Checker = Callable[[Any], bool]


def _checker(shape: Shape) -> Checker | None:
    """A predicate that every named field in a value is declared; None if the shape names no fields at all."""
    match shape:
        case StructShape():
            return _STRUCT_CHECKERS.get(shape) or _struct_checker(shape)
        case ListOf(inner):
            item = _checker(inner)
            return None if item is None else _each(item, _entries)
        case MapOf(inner):
            item = _checker(inner)
            return None if item is None else _each(item, dict.values)
        case Alternatives():
            return lambda value: not _listed(value, shape)
        case Scalar() | FreeForm():
            return None


def _entries(value: list[Any]) -> Iterable[Any]:
    return value


def _each(item: Checker, entries: Callable[[Any], Iterable[Any]]) -> Checker:
    def check(value: Any) -> bool:
        for entry in entries(value):  # noqa: SIM110 - a generator costs twice as much
            if entry and not item(entry):
                return False
        return True

    return check


def _struct_checker(shape: StructShape) -> Checker:
    known = frozenset(shape.fields)
    nested: dict[str, Checker] = {}

    def check(value: dict[str, Any]) -> bool:
        if not known.issuperset(value):
            return False
        for key, entry in value.items():  # noqa: SIM110 - a generator costs twice as much
            if key in nested and entry and not nested[key](entry):
                return False
        return True

    # Known before its fields are looked at: types may be recursive.
    _STRUCT_CHECKERS[shape] = check
    for wire, field in shape.fields.items():
        if (checker := _checker(field.shape)) is not None:
            nested[wire] = checker
    return check


_STRUCT_CHECKERS: dict[StructShape, Checker] = {}


def _listed(value: Any, shape: Shape) -> dict[str, None]:
    found: dict[str, None] = {}
    _look(value, shape, "", found)
    return found


def _look(value: Any, shape: Shape, path: str, found: dict[str, None]) -> None:
    match shape:
        case StructShape():
            if isinstance(value, dict):
                _look_into_struct(value, shape, path, found)
            elif isinstance(value, _Pairs):
                _look_into_struct(_without_repeats(value, path, found), shape, path, found)
        case ListOf(item):
            if not isinstance(item, Scalar):
                for index, entry in enumerate(value or ()):
                    _look(entry, item, f"{path}[{index}]", found)
        case MapOf(inner):
            if isinstance(value, _Pairs):
                value = _without_repeats(value, path, found)
            if value and not isinstance(inner, (Scalar, FreeForm)):
                for key, entry in value.items():
                    _look(entry, inner, f"{path}.{key}", found)
        case Alternatives(choices):
            for choice in choices:
                if isinstance(value, list) is isinstance(choice, ListOf):
                    _look(value, choice, path, found)
        case Scalar() | FreeForm():
            pass


def _look_into_struct(value: dict[str, Any], shape: StructShape, path: str, found: dict[str, None]) -> None:
    nested = shape.nested
    for key, entry in value.items():
        if key not in nested:
            found[f'unknown field "{_join(path, key)}"'] = None
        elif entry and (inner := nested[key]) is not None:
            _look(entry, inner, _join(path, key), found)


def _without_repeats(pairs: _Pairs, path: str, found: dict[str, None]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, entry in pairs:
        if key in unique:
            found[f'duplicate field "{_join(path, key)}"'] = None
        unique[key] = entry
    return unique


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
