"""Which number a field has in its protobuf message.

Read from the table beside this module when the first protobuf body comes, and not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from api.declarations import Struct


@dataclass(frozen=True, slots=True)
class Place:
    """A field: its JSON name, or the message whose fields stand in its stead."""

    name: str
    embedded: str = ""


Message = Mapping[int, Place]


def message_of(struct: type[Struct]) -> Message | None:
    """The message that a declared struct is sent as; None where the group defines none."""
    return _messages().get((_package(struct.__module__), struct.__name__))


def embedded(struct: type[Struct], name: str) -> Message:
    """A message that is part of a struct's own; its fields are the struct's."""
    package, _, bare = name.rpartition(".")
    found = _messages().get((_package(struct.__module__), bare))
    if found is None:
        raise LookupError(f"protobuf: no numbers are known for {package or 'message'} {name}")
    return found


def _package(module: str) -> str:
    """``core/v1`` of ``api.core_v1``."""
    return module.rpartition(".")[2].replace("_", "/")


@cache
def _messages() -> Mapping[tuple[str, str], Message]:
    found: dict[tuple[str, str], Message] = {}
    package = ""
    for line in _lines():
        if line.startswith("["):
            package = line.strip("[]")
            continue
        name, _, listed = line.partition(":")
        found[package, name] = dict(_places(listed))
    return found


def _places(listed: str) -> Iterator[tuple[int, Place]]:
    number = 0
    for word in listed.split():
        name, _, part = word.partition(">")
        name, _, given = name.partition("=")
        number = int(given) if given else number + 1
        yield number, Place(name, part)


def _lines() -> Iterator[str]:
    """The lines of the table, continued ones joined, without comments."""
    joined = ""
    for line in resources.files(__package__).joinpath("numbers.txt").read_text("utf-8").splitlines():
        if line.startswith("  "):
            joined += line
            continue
        if joined:
            yield joined
        joined = "" if line.startswith("#") else line
    if joined:
        yield joined
