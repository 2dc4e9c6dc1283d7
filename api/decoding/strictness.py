"""What strict field validation objects to: fields no declaration knows, and keys that stand twice in one object.

Runs on every write, so it is built to find nothing quickly: unknown fields by one walk over plain values; duplicates by
counting quotes, since a decoder that drops a repeated key drops its quotes too. Only if those disagree is the text
parsed again, pair by pair.
"""

import json
from typing import Any

import msgspec

from api.shapes import Alternatives, FreeForm, ListOf, MapOf, Scalar, Shape, StructShape


def objections(raw: bytes, data: Any, shape: Shape) -> list[str]:
    """``unknown field "spec.foo"`` and ``duplicate field "spec.bar"`` in the order of the text; ``data`` is ``raw``
    decoded.
    """
    if _has_duplicates(raw, data):
        data = json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    found: dict[str, None] = {}
    _look(data, shape, "", found)
    return list(found)


class _Pairs(list[tuple[str, Any]]):
    """An object whose keys may repeat."""


def _has_duplicates(raw: bytes, data: Any) -> bool:
    """May say yes for nothing when the text spells quotes as ``\\u0022``; never no when there are some."""
    return b"\\u" in raw or raw.count(b'"') != msgspec.json.encode(data).count(b'"')


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
