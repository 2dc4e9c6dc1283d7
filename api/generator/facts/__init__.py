"""Reads the tables of facts beside this module. They are small, kept by hand, and say only what the definitions leave
out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from api.generator.model import Expression, Field, ListOf, MapOf, Ref, Scalar, Type

_PRIMITIVES = {"string", "boolean", "int32", "int64", "bytes", "any"}
_NAMED = {"raw": "RawExtension", "Time": "Time"}


@dataclass(frozen=True, slots=True)
class PackageName:
    """A line of packages.txt."""

    path: str
    module: str
    alias: str
    definition_prefix: str


def packages() -> list[PackageName]:
    """The group-versions to generate."""
    return [PackageName(*line.split()) for line in _lines("packages.txt")]


def core_resources() -> list[list[str]]:
    """The lines of core_resources.txt: plural, singular, short name, categories."""
    return [line.split() for line in _lines("core_resources.txt")]


def fields() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """(package, struct) → its fields in order, as (wire name, flags)."""
    table = {}
    for package, line in _sections("fields.txt"):
        name, _, words = line.partition(":")
        table[package, name] = [(word.rstrip("*!~"), word[len(word.rstrip("*!~")) :]) for word in words.split()]
    return table


def unpublished() -> Iterator[Type]:
    """The types of unpublished.txt."""
    aliases = {name.alias: name.path for name in packages()}
    for package, line in _sections("unpublished.txt"):
        head, _, body = line.partition(":")
        name, _, api_version = head.partition(" @")
        declared = []
        for item in body.split(","):
            wire, notation = item.split()
            flags = notation[len(notation.rstrip("*!")) :]
            declared.append(
                Field(
                    wire=wire,
                    type=_expression(notation.rstrip("*!"), package, aliases),
                    required="!" in flags,
                    pointer="*" in flags,
                    always="!" in flags,
                )
            )
        yield Type(package=package, name=name, fields=tuple(declared), api_version=api_version)


def _expression(notation: str, package: str, aliases: dict[str, str]) -> Expression:
    if notation.startswith("[]"):
        return ListOf(_expression(notation[2:], package, aliases))
    if notation.startswith("{}"):
        return MapOf(_expression(notation[2:], package, aliases))
    if notation in _PRIMITIVES:
        return Scalar(notation)
    if notation in _NAMED:
        return Scalar(_NAMED[notation])
    alias, dot, name = notation.partition(".")
    return Ref(aliases[alias], name) if dot else Ref(package, notation)


def _lines(name: str) -> list[str]:
    """The lines that say something; an indented line continues the one before."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    text = re.sub(r"\n[ ]+(?=\S)", " ", text)
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _sections(name: str) -> Iterator[tuple[str, str]]:
    """(section, line) for files with ``[section]`` headings."""
    section = ""
    for line in _lines(name):
        if line.startswith("["):
            section = line.strip("[]")
        else:
            yield section, line
