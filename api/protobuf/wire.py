"""The protobuf wire format: tagged fields, varints, and pieces of known length.

Source: https://protobuf.dev/programming-guides/encoding. Knows neither messages nor Kubernetes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

_MASK = (1 << 64) - 1


class WireError(ValueError):
    """Bytes that are no protobuf."""


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Number, wire type and value of each field: an unsigned number, or the bytes of a piece. Raises WireError."""
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise WireError("proto: illegal tag 0")
        if wire_type == VARINT:
            value, position = varint(data, position)
            yield number, wire_type, value
            continue
        if wire_type == LENGTH:
            size, position = varint(data, position)
        elif wire_type in (FIXED32, FIXED64):
            size = 4 if wire_type == FIXED32 else 8
        else:
            raise WireError(f"proto: illegal wireType {wire_type}")
        if position + size > end:
            raise WireError("unexpected EOF")
        piece = data[position : position + size]
        position += size
        yield number, wire_type, piece if wire_type == LENGTH else int.from_bytes(piece, "little")


def varint(data: memoryview, position: int) -> tuple[int, int]:
    """The number that begins at *position*, and where it ends."""
    value = shift = 0
    for index in range(position, min(position + 10, len(data))):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, index + 1
        shift += 7
    if len(data) - position >= 10:
        raise WireError("proto: integer overflow")
    raise WireError("unexpected EOF")


def signed(value: int) -> int:
    """A varint as a signed number of 64 bits, which is how int32 and int64 are sent."""
    return value - (1 << 64) if value >> 63 else value


def double(value: int) -> float:
    """A fixed 64-bit number as the floating-point number whose bits it is."""
    number: float
    (number,) = struct.unpack("<d", value.to_bytes(8, "little"))
    return number


def number_field(number: int, value: int) -> bytes:
    """A field that is a varint; *value* is not negative."""
    return _varint_bytes(number << 3 | VARINT) + _varint_bytes(value)


def piece_field(number: int, piece: bytes) -> bytes:
    """A field that is a piece: a string, bytes, or a message."""
    return b"".join((_varint_bytes(number << 3 | LENGTH), _varint_bytes(len(piece)), piece))


def _varint_bytes(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
