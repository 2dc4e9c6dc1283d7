"""OpenAPI v2 in protobuf says what the JSON says. The message is read back here without the encoder's tables: by
field numbers, as gnostic's OpenAPIv2.proto has them.
"""

import json
from collections import defaultdict
from functools import cache
from typing import Any

import pytest

from api.openapi import gnostic, v2_document, v2_protobuf
from api.protobuf import wire

Fields = dict[int, list[Any]]

_OPERATIONS = {2: "get", 3: "put", 4: "post", 5: "delete", 6: "options", 7: "head", 8: "patch"}
# Of parameters in query (3) and path (4): where their type and uniqueItems are.
_TYPES = {3: 6, 4: 5}
_UNIQUE = {3: 20, 4: 19}


def _fields(data: memoryview) -> Fields:
    found: Fields = defaultdict(list)
    for number, _, value in wire.fields(data):
        found[number].append(value)
    return found


def _text(data: memoryview) -> str:
    return str(data, "utf-8")


def _named(data: memoryview) -> tuple[str, memoryview]:
    entry = _fields(data)
    return _text(entry[1][0]), entry[2][0]


def _map(data: memoryview, number: int) -> dict[str, memoryview]:
    return dict(_named(entry) for entry in _fields(data)[number])


def _extensions(entries: list[memoryview]) -> dict[str, Any]:
    return {name: json.loads(_text(_fields(value)[2][0])) for name, value in map(_named, entries)}


def _schema(data: memoryview) -> dict[str, Any]:
    message = _fields(data)
    schema = _extensions(message.pop(31, []))
    for number, key in ((1, "$ref"), (2, "format")):
        if number in message:
            schema[key] = _text(message.pop(number)[0])
    if 19 in message:
        schema["required"] = [_text(each) for each in message.pop(19)]
    if 21 in message:
        schema["additionalProperties"] = _schema(_fields(message.pop(21)[0])[1][0])
    if 22 in message:
        schema["type"] = _text(_fields(message.pop(22)[0])[1][0])
    if 23 in message:
        schema["items"] = _schema(_fields(message.pop(23)[0])[1][0])
    if 25 in message:
        schema["properties"] = {name: _schema(value) for name, value in _map(message.pop(25)[0], 1).items()}
    assert not message, f"unexpected fields {list(message)}"
    return schema


def _parameter(data: memoryview) -> dict[str, Any]:
    ((kind, chosen),) = _fields(_fields(data)[1][0]).items()
    if kind == 1:
        body = _fields(chosen[0])
        node: dict[str, Any] = {"name": _text(body[2][0]), "in": _text(body[3][0]), "schema": _schema(body[5][0])}
        return {**node, "required": True} if body[4] == [1] else node
    ((place, plain),) = _fields(chosen[0]).items()
    field = _fields(plain[0])
    node = {"in": _text(field[2][0]), "name": _text(field[4][0]), "type": _text(field[_TYPES[place]][0])}
    node["uniqueItems"] = field[_UNIQUE[place]] == [1]
    return {**node, "required": True} if field[1] == [1] else node


def _response(data: memoryview) -> dict[str, Any]:
    response = _fields(_fields(data)[1][0])
    node: dict[str, Any] = {"description": _text(response[1][0])}
    return {**node, "schema": _schema(_fields(response[2][0])[1][0])} if 2 in response else node


def _operation(data: memoryview) -> dict[str, Any]:
    message = _fields(data)
    node = _extensions(message[13])
    node["operationId"] = _text(message[5][0])
    for number, key in ((1, "tags"), (6, "produces"), (7, "consumes"), (10, "schemes")):
        node[key] = [_text(each) for each in message[number]]
    if 8 in message:
        node["parameters"] = [_parameter(each) for each in message[8]]
    node["responses"] = {name: _response(value) for name, value in _map(message[9][0], 1).items()}
    return node


def _path(data: memoryview) -> dict[str, Any]:
    message = _fields(data)
    node: dict[str, Any] = {_OPERATIONS[number]: _operation(message[number][0]) for number in set(message) - {9}}
    return {**node, "parameters": [_parameter(each) for each in message[9]]} if 9 in message else node


@cache
def _document() -> Fields:
    return _fields(memoryview(v2_protobuf()))


@cache
def _json() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(v2_document().body)
    return tree


def test_definitions_are_those_of_the_json() -> None:
    (definitions,) = _document()[9]
    assert {name: _schema(value) for name, value in _map(definitions, 1).items()} == _json()["definitions"]


def test_paths_are_those_of_the_json() -> None:
    (paths,) = _document()[8]
    assert {name: _path(value) for name, value in _map(paths, 2).items()} == _json()["paths"]


def test_the_head_of_the_document() -> None:
    message = _document()
    assert set(message) == {1, 2, 8, 9, 12, 13}
    assert _text(message[1][0]) == "2.0"
    info = _fields(message[2][0])
    assert (_text(info[1][0]), _text(info[2][0])) == ("Kubernetes", "unversioned")
    assert {name: bytes(value) for name, value in _map(message[12][0], 1).items()} == {"BearerToken": b""}
    key = _fields(_fields(_map(message[13][0], 1)["BearerToken"])[2][0])
    assert [_text(key[number][0]) for number in (1, 2, 3)] == ["apiKey", "authorization", "header"]


def test_lengths_of_more_than_one_byte() -> None:
    long = "x" * 300
    found = _fields(memoryview(gnostic.document({"swagger": long}, [], [])))
    assert _text(found[1][0]) == long


def test_what_has_no_place_is_not_lost_silently() -> None:
    with pytest.raises(LookupError, match="Schema has no place for maxLength"):
        gnostic.document({}, [], [("io.example.Thing", {"type": "string", "maxLength": 3})])
