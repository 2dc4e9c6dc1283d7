"""Whatever an object holds, defaulting and checking it ends in a list of errors, never in an exception."""

import random
import types
import typing
from typing import Any

import msgspec
import pytest

from api import codec
from api.defaults import set_defaults
from api.errors import invalid
from api.quantity import Quantity
from api.scheme import SCHEME
from api.times import MicroTime, Time
from api.validation import validate_create, validate_status_update, validate_update

WORDS = (
    "",
    "a",
    "web",
    "a.io/b",
    "A B",
    "..",
    "/",
    "None",
    "Always",
    "Localhost",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "é\n",
    "50%",
    "-1",
    "Exists",
    "In",
    "RollingUpdate",
    "LoadBalancer",
    "cpu",
    "hugepages-2Mi",
    "hugepages-x",
    "metadata.labels['a']",
    "x" * 300,
)
NUMBERS = (-1, 0, 1, 80, 65536, 2**31 - 1)
AMOUNTS = ("0", "-1", "1", "500m", "1Gi", "1e3")


def arbitrary(kind: Any, source: random.Random, depth: int) -> Any:
    """A value of a declared type, as likely wrong as right."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return arbitrary(typing.get_args(kind)[0], source, depth)
    if origin in (types.UnionType, typing.Union):
        options = [option for option in typing.get_args(kind) if option is not type(None)]
        if type(None) in typing.get_args(kind) and source.random() < 0.5:
            return None
        return arbitrary(source.choice(options), source, depth)
    if origin is list:
        count = 0 if depth <= 0 else source.randrange(3)
        return [arbitrary(typing.get_args(kind)[0], source, depth - 1) for _ in range(count)]
    if origin is dict:
        count = 0 if depth <= 0 else source.randrange(3)
        return {source.choice(WORDS): arbitrary(typing.get_args(kind)[1], source, depth - 1) for _ in range(count)}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return filled(kind, source, depth)
    return scalar(kind, source)


def scalar(kind: Any, source: random.Random) -> Any:
    if kind is bool:
        return source.random() < 0.5
    if kind is int or kind is float:
        return source.choice(NUMBERS)
    if kind is Quantity:
        return Quantity(source.choice(AMOUNTS))
    if kind is Time:
        return Time("2024-01-01T00:00:00Z")
    if kind is MicroTime:
        return MicroTime("2024-01-01T00:00:00.000000Z")
    if kind is bytes:
        return source.choice((b"", b"{", b"{}", b"[1]", b"\xff"))
    if kind is str:
        return source.choice(WORDS)
    return None


def filled(kind: type[msgspec.Struct], source: random.Random, depth: int) -> Any:
    hints = typing.get_type_hints(kind, include_extras=True)
    share = source.choice((0.9, 0.5, 0.1))
    values = {
        name: arbitrary(hint, source, depth - 1)
        for name, hint in hints.items()
        if name in kind.__struct_fields__ and name not in ("api_version", "kind") and source.random() < share
    }
    return kind(**values)


CHECKED = [resource for resource in SCHEME.resources() if "create" in resource.verbs and "get" in resource.verbs]


@pytest.mark.parametrize("resource", CHECKED, ids=lambda resource: resource.group_resource + "." + resource.version)
def test_anything(resource):
    source = random.Random(resource.group_resource)
    for _ in range(120 if resource.kind == "Pod" else 40):
        old, new = filled(resource.type, source, 9), filled(resource.type, source, 9)
        old.metadata.name = new.metadata.name = "x"
        for obj in (old, new):
            set_defaults(obj)
        for errors in (
            validate_create(new),
            validate_update(new, old),
            validate_update(new, codec.deepcopy(new)),
            validate_status_update(new, old),
        ):
            assert len(codec.encode(invalid(resource.kind, "x", errors).status)) > 0
