"""The document of OpenAPI v2 as a protobuf message: ``openapi.v2.Document``, which is how kubectl and other Go
clients read it.

It is written from the same tree as the JSON. For each object of the tree there is a message, and for each of its keys
a field with a number. Only what our documents say has a place here, and a key without one is an error: a schema that
lost a word on its way would let through what it forbids.

Source of the numbers: google/gnostic, openapiv2/OpenAPIv2.proto.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from api.protobuf import wire

Tree = Mapping[str, Any]
Entries = Iterable[tuple[str, Tree]]

# Writes the value of a key as the field of a number; gives a value's bytes alone.
_Writer = Callable[[int, Any], bytes]
_Encoder = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: its name, where each key belongs, and the number of the field for vendor extensions (0: has none)."""

    name: str
    places: Mapping[str, tuple[int, _Writer]]
    extensions: int = 0

    def encode(self, node: Tree) -> bytes:
        return b"".join([self._field(key, value) for key, value in node.items()])

    def _field(self, key: str, value: Any) -> bytes:
        if self.extensions and key.startswith("x-"):
            # An extension is text in YAML, and JSON is that.
            extension = wire.piece_field(2, msgspec.json.encode(value))
            return wire.piece_field(self.extensions, _named(key, extension))
        place = self.places.get(key)
        if place is None:
            raise LookupError(f"openapi: {self.name} has no place for {key}")
        number, write = place
        return write(number, value)


def document(frame: Tree, paths: Entries, definitions: Entries) -> bytes:
    """The message of a whole document.

    *frame* is the tree without paths and definitions; these are taken one at a time, so that no more than one of them
    need be in memory as a tree. Raises LookupError for a key that has no place.
    """
    listed = b"".join([wire.piece_field(2, _named(path, _PATH.encode(node))) for path, node in paths])
    defined = b"".join([wire.piece_field(1, _named(name, _schema(node))) for name, node in definitions])
    return b"".join((_DOCUMENT.encode(frame), wire.piece_field(8, listed), wire.piece_field(9, defined)))


def _named(name: str, value: bytes) -> bytes:
    """An entry of a map: name and value."""
    return wire.piece_field(1, name.encode()) + wire.piece_field(2, value)


def _text(number: int, value: str) -> bytes:
    return wire.piece_field(number, value.encode())


def _flag(number: int, value: bool) -> bytes:
    return wire.number_field(number, int(value))


def _inside(encode: _Encoder, *wrappers: int) -> _Writer:
    """A message within; *wrappers* are the fields of the messages around it that hold nothing else, innermost first."""

    def write(number: int, value: Any) -> bytes:
        encoded = encode(value)
        for wrapper in (*wrappers, number):
            encoded = wire.piece_field(wrapper, encoded)
        return encoded

    return write


def _each(write: _Writer) -> _Writer:
    """A repeated field."""
    return lambda number, values: b"".join([write(number, value) for value in values])


def _map(number: int, encode: _Encoder) -> _Encoder:
    """A map, which is a message with a repeated field of entries."""
    return lambda entries: b"".join(
        [wire.piece_field(number, _named(name, encode(value))) for name, value in entries.items()]
    )


def _schema(node: Tree) -> bytes:
    return _SCHEMA.encode(node)


def _parameter(node: Tree) -> bytes:
    """A choice by place: in the body, or else in path or query."""
    if node["in"] == "body":
        return wire.piece_field(1, _BODY.encode(node))
    if node["in"] == "path":
        return wire.piece_field(2, wire.piece_field(4, _IN_PATH.encode(node)))
    return wire.piece_field(2, wire.piece_field(3, _IN_QUERY.encode(node)))


_TEXTS = _each(_text)
_WRAPPED_SCHEMA = _inside(_schema, 1)

_SCHEMA = _Message(
    "Schema",
    {
        "$ref": (1, _text),
        "format": (2, _text),
        "required": (19, _TEXTS),
        "additionalProperties": (21, _WRAPPED_SCHEMA),
        "type": (22, _inside(str.encode, 1)),
        "items": (23, _WRAPPED_SCHEMA),
        "properties": (25, _inside(_map(1, _schema))),
    },
    extensions=31,
)

_BODY = _Message(
    "BodyParameter",
    {"name": (2, _text), "in": (3, _text), "required": (4, _flag), "schema": (5, _inside(_schema))},
)
_IN_PATH = _Message(
    "PathParameterSubSchema",
    {"required": (1, _flag), "in": (2, _text), "name": (4, _text), "type": (5, _text), "uniqueItems": (19, _flag)},
)
_IN_QUERY = _Message(
    "QueryParameterSubSchema",
    {"required": (1, _flag), "in": (2, _text), "name": (4, _text), "type": (6, _text), "uniqueItems": (20, _flag)},
)
_PARAMETERS = _each(_inside(_parameter, 1))

_RESPONSE = _Message("Response", {"description": (1, _text), "schema": (2, _WRAPPED_SCHEMA)})


def _response(node: Tree) -> bytes:
    """A response given in place, not by reference."""
    return wire.piece_field(1, _RESPONSE.encode(node))


_OPERATION = _Message(
    "Operation",
    {
        "tags": (1, _TEXTS),
        "operationId": (5, _text),
        "produces": (6, _TEXTS),
        "consumes": (7, _TEXTS),
        "parameters": (8, _PARAMETERS),
        "responses": (9, _inside(_map(1, _response))),
        "schemes": (10, _TEXTS),
    },
    extensions=13,
)
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_PATH = _Message(
    "PathItem",
    {
        **{method: (number, _inside(_OPERATION.encode)) for method, number in _METHODS.items()},
        "parameters": (9, _PARAMETERS),
    },
)

_INFO = _Message("Info", {"title": (1, _text), "version": (2, _text)})
_KEY = _Message("ApiKeySecurity", {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)})


def _security(node: Tree) -> bytes:
    """A way to prove who one is: by a key."""
    return wire.piece_field(2, _KEY.encode(node))


def _scopes(values: Iterable[str]) -> bytes:
    return _TEXTS(1, values)


_DOCUMENT = _Message(
    "Document",
    {
        "swagger": (1, _text),
        "info": (2, _inside(_INFO.encode)),
        "security": (12, _each(_inside(_map(1, _scopes)))),
        "securityDefinitions": (13, _inside(_map(1, _security))),
    },
)
