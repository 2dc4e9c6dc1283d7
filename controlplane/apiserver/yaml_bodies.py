"""YAML bodies as JSON, the way clients of the API expect YAML to be read.

Times stay text, keys become text, the first document counts. Aliases are resolved only if the result stays bounded: a
few hundred bytes of nested aliases otherwise grow to gigabytes (the "billion laughs").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

#: Nodes a document may have once its aliases are resolved.
_MAX_NODES = 1_000_000


class YamlError(ValueError):
    """The body is no YAML, or none that can be JSON."""


def to_json(body: bytes) -> tuple[bytes, list[str]]:
    """The first document of a YAML body as JSON, with what strict validation objects to; raises :class:`YamlError`.

    A key that stands twice is seen here only: ``line 8: key "replicas" already set in map``.
    """
    import yaml  # imported late: bodies are JSON nearly always

    loader = yaml.CSafeLoader(body)
    try:
        loader.yaml_implicit_resolvers = _without_times(loader.yaml_implicit_resolvers)
        node = loader.get_node() if loader.check_node() else None
        if node is None:
            return b"null", []
        if _expanded(node, {}) > _MAX_NODES:
            raise YamlError("yaml: document contains excessive aliasing")
        repeats = list(_repeats(node, set()))
        data = loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"error converting YAML to JSON: yaml: {_one_line(str(error))}") from error
    finally:
        loader.dispose()
    try:
        # In the order of the keys, in which strict validation then goes through it, as upstream's does.
        return msgspec.json.encode(_textual(data), order="sorted"), repeats
    except (TypeError, ValueError, RecursionError) as error:
        raise YamlError(f"error converting YAML to JSON: {error}") from error


def _without_times(resolvers: dict[str, list[tuple[str, Any]]]) -> dict[str, list[tuple[str, Any]]]:
    return {
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in resolvers.items()
    }


def _expanded(node: Any, known: dict[int, int]) -> int:
    """How many nodes a tree has when every alias is counted in full."""
    found = known.get(id(node))
    if found is not None:
        if found == 0:
            raise ValueError("anchor contains itself")
        return found
    known[id(node)] = 0
    value = node.value
    size = 1
    if isinstance(value, list):
        for child in value:
            for part in child if isinstance(child, tuple) else (child,):
                size += _expanded(part, known)
    known[id(node)] = size
    return size


def _repeats(node: Any, known: set[int]) -> Iterator[str]:
    """Keys that stand again in their mapping, by the line of the value; those further down come first."""
    if id(node) in known or not isinstance(node.value, list):
        return
    known.add(id(node))
    keys: set[tuple[str, str]] = set()
    for child in node.value:
        if not isinstance(child, tuple):
            yield from _repeats(child, known)
            continue
        key, value = child
        yield from _repeats(value, known)
        if not isinstance(key.value, str) or key.tag == "tag:yaml.org,2002:merge":
            continue
        if (key.tag, key.value) in keys:
            shown = json.dumps(key.value) if key.tag == "tag:yaml.org,2002:str" else key.value
            yield f"line {value.start_mark.line + 1}: key {shown} already set in map"
        keys.add((key.tag, key.value))


def _textual(data: Any) -> Any:
    """The same data with text for keys and nothing JSON cannot say."""
    if isinstance(data, dict):
        return {_key(key): _textual(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_textual(value) for value in data]
    if isinstance(data, set):
        return {_key(key): None for key in data}
    return data


def _key(key: Any) -> str:
    if key is True or key is False:
        return str(key).lower()
    if key is None:
        return "null"
    if isinstance(key, str | int | float):
        return str(key)
    raise TypeError(f"unsupported map key of type {type(key).__name__}")


def _one_line(text: str) -> str:
    return " ".join(text.split())
