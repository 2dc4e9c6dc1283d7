"""What strict field validation objects to: fields no declaration knows, and keys that stand twice in one object.

Runs on every write, so it is built to find nothing quickly: unknown fields by comparing sets of keys; duplicates by
counting quotes, since a decoder that drops a repeated key drops its quotes too. Only when there is something to find is
it told what and where.
"""

import json
from collections.abc import Callable, Iterable, Iterator
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


#: Objections to one text; what comes after them is not told.
_MOST = 100


class _Pairs(list[tuple[str, Any]]):
    """An object whose keys may repeat."""


def document_objections(raw: bytes, document: Any, names: frozenset[str] = frozenset()) -> list[str]:
    """As :func:`objections`, for text without a declared type: keys that stand twice, at any depth.

    With ``names`` the objects in a list at the top may hold these fields only.
    """
    found: dict[str, None] = {}
    entries = document if names and isinstance(document, list) else []
    if _has_duplicates(raw, document):
        document = json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    elif all(names.issuperset(entry) for entry in entries if isinstance(entry, dict)):
        return []
    if not entries:
        _look_for_repeats(document, "", found)
        return list(found)
    for index, entry in enumerate(document):
        for key, value, repeated in _members(entry):
            path = f"[{index}].{key}"
            if key not in names:
                _note(found, "unknown", path)
                continue
            if repeated:
                _note(found, "duplicate", path)
            _look_for_repeats(value, path, found)
    return list(found)


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
            _look_into_struct(value, shape, path, found)
        case ListOf(item):
            if not isinstance(item, Scalar):
                for index, entry in enumerate(value or ()):
                    _look(entry, item, f"{path}[{index}]", found)
        case MapOf(inner):
            for key, entry, repeated in _members(value):
                if repeated:
                    _note(found, "duplicate", _join(path, key))
                _look(entry, inner, _join(path, key), found)
        case Alternatives(choices):
            for choice in choices:
                if isinstance(choice, ListOf) is (isinstance(value, list) and not isinstance(value, _Pairs)):
                    _look(value, choice, path, found)
        case Scalar() | FreeForm():
            pass


def _look_into_struct(value: Any, shape: StructShape, path: str, found: dict[str, None]) -> None:
    nested = shape.nested
    for key, entry, repeated in _members(value):
        if key not in nested:
            _note(found, "unknown", _join(path, key))
            continue
        if repeated:
            _note(found, "duplicate", _join(path, key))
        if entry and (inner := nested[key]) is not None:
            _look(entry, inner, _join(path, key), found)


def _look_for_repeats(value: Any, path: str, found: dict[str, None]) -> None:
    if isinstance(value, _Pairs | dict):
        for key, entry, repeated in _members(value):
            if repeated:
                _note(found, "duplicate", _join(path, key))
            _look_for_repeats(entry, _join(path, key), found)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            _look_for_repeats(entry, f"{path}[{index}]", found)


def _members(value: Any) -> Iterator[tuple[str, Any, bool]]:
    """Keys and values of an object in the order of the text, and whether the key has stood before."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield key, entry, False
    elif isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, entry in value:
            yield key, entry, key in seen
            seen.add(key)


def _note(found: dict[str, None], problem: str, path: str) -> None:
    if len(found) < _MOST:
        found[f'{problem} field "{path}"'] = None


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
