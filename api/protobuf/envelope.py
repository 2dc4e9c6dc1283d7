"""The envelope around every object: four bytes of magic, then ``runtime.Unknown`` with apiVersion, kind and the
message.

Source: k8s.io/apimachinery, pkg/runtime/serializer/protobuf.
"""

from __future__ import annotations

import msgspec

from api.declarations import Struct
from api.protobuf import wire
from api.protobuf.decoding import decode_message
from api.scheme import SCHEME, UnknownType
from api.shapes import struct_shape

MAGIC = b"k8s\x00"


class ProtobufError(ValueError):
    """A body that is no object in protobuf; the text says why."""


def to_json(body: bytes, expected: type[Struct] | None = None) -> bytes:
    """The JSON text of an object in protobuf, with the apiVersion and kind its envelope gives.

    Of a kind that is not known there is nothing but these two; where the envelope names none, the message is read as
    *expected*. Raises ProtobufError.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix {MAGIC!r}")
    try:
        api_version, kind, message = _opened(memoryview(body)[len(MAGIC) :])
        named = {"apiVersion": api_version, "kind": kind} if kind else {}
        struct = _struct(api_version, kind) if kind else expected
        if struct is None:
            return msgspec.json.encode(named)
        # The envelope's word on apiVersion and kind stands: messages repeat neither.
        return msgspec.json.encode({**named, **decode_message(message, struct_shape(struct))})
    except (wire.WireError, LookupError) as error:
        raise ProtobufError(str(error)) from None


def _opened(data: memoryview) -> tuple[str, str, memoryview]:
    """apiVersion, kind and message."""
    api_version = kind = ""
    message = memoryview(b"")
    for number, _, value in wire.fields(data):
        if not isinstance(value, memoryview):
            continue
        if number == 1:
            for inner, _, text in wire.fields(value):
                if isinstance(text, memoryview) and inner == 1:
                    api_version = str(text, "utf-8", "replace")
                elif isinstance(text, memoryview) and inner == 2:
                    kind = str(text, "utf-8", "replace")
        elif number == 2:
            message = value
    return api_version, kind, message


def _struct(api_version: str, kind: str) -> type[Struct] | None:
    try:
        return SCHEME.kind_type(api_version, kind)
    except UnknownType:
        return None
