"""JSON text to structs and back, as upstream's API server reads and writes it.

``null`` means absent; a wrong type is refused with the text a Go decoder would give; times, quantities and bytes come
out in canonical form. The straight path is one call into msgspec. Only a body it refuses is looked at again, more
slowly, to tell whether it is wrong or merely unusual (a null where no null belongs, base64 with line breaks) and to
find words for it.

Knows no particular type and no particular group; all it knows it reads off the declarations (api.shapes).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from api.declarations import Struct
from api.decoding.errors import NUMBER_TOO_LARGE, DecodeError, mended
from api.decoding.strictness import document_objections, objections
from api.decoding.tolerance import admitted
from api.quantity import Quantity, parse_quantity
from api.shapes import shape_of
from api.times import MicroTime, Time, parse_micro_time, parse_time

__all__ = [
    "DecodeError",
    "decode",
    "decode_any",
    "decode_any_reporting",
    "decode_reporting",
    "deepcopy",
    "encode",
    "from_builtins",
    "to_builtins",
]

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


def decode(raw: bytes, into: type[T]) -> T:
    """The object of the declared type that the JSON text describes; unknown fields are dropped. Raises DecodeError."""
    decoder = _DECODERS.get(into)
    if decoder is None:
        decoder = _DECODERS[into] = msgspec.json.Decoder(into, dec_hook=_from_text)
    try:
        decoded: T = decoder.decode(raw)
    except msgspec.ValidationError:
        return from_builtins(decode_any(raw), into)
    except msgspec.DecodeError:
        return from_builtins(decode_any(raw), into)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    return decoded


def decode_reporting(raw: bytes, into: type[T]) -> tuple[T, list[str]]:
    """As ``decode``, with what strict validation would object to: ``unknown field "spec.foo"``, ``duplicate field
    "spec.bar"``.
    """
    decoded = decode(raw, into)
    try:
        return decoded, objections(raw, decode_any(raw), shape_of(into))
    except RecursionError:
        raise DecodeError("exceeded max depth") from None


def decode_any(raw: bytes) -> Any:
    """The JSON text as plain Python values. Raises DecodeError."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        text = mended(raw)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise DecodeError(NUMBER_TOO_LARGE) from None


def decode_any_reporting(raw: bytes, names: frozenset[str] = frozenset()) -> tuple[Any, list[str]]:
    """As ``decode_any``, with what strict validation would object to: keys that stand twice and, with ``names``, fields
    of the objects in a list that are none of these.
    """
    decoded = decode_any(raw)
    try:
        return decoded, document_objections(raw, decoded, names)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None


def from_builtins(data: Any, into: type[T]) -> T:
    """As ``decode``, from plain Python values. Free-form fields of the result share the values of ``data``."""
    try:
        try:
            return msgspec.convert(data, into, dec_hook=_from_text)
        except msgspec.ValidationError as error:
            complaint = str(error)
        try:
            return msgspec.convert(admitted(data, shape_of(into)), into, dec_hook=_from_text)
        except msgspec.ValidationError:
            raise DecodeError(complaint) from None
    except RecursionError:
        raise DecodeError("exceeded max depth") from None


def encode(obj: Any) -> bytes:
    """The JSON text of an object, or of plain values that may hold objects."""
    return _ENCODER.encode(obj)


def to_builtins(obj: Any) -> Any:
    """The object as plain values by wire name, as its JSON text would read."""
    return msgspec.to_builtins(obj, enc_hook=_to_text)


def deepcopy(obj: S) -> S:
    """A copy that shares nothing with the original."""
    return decode(_ENCODER.encode(obj), type(obj))


# Straight to the cached parsers: an object holds a dozen of these.
_PARSERS: dict[type, Callable[[str], Any]] = {
    Time: parse_time,
    MicroTime: parse_micro_time,
    Quantity: lambda text: parse_quantity(text.strip()),
}


def _from_text(kind: type, value: Any) -> Any:
    """msgspec's hook for types of our own; a ValueError becomes its ValidationError."""
    if isinstance(value, str):
        return _PARSERS[kind](value)
    if kind is Quantity and isinstance(value, (int, float)) and not isinstance(value, bool):
        return Quantity(str(value))
    raise TypeError(f"{kind.__name__} from {type(value).__name__}")


def _to_text(value: Any) -> str:
    if isinstance(value, (Time, MicroTime, Quantity)):
        return value.__str__()
    raise TypeError(f"encode {type(value).__name__}: not an API type")


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_ENCODER = msgspec.json.Encoder(enc_hook=_to_text)
