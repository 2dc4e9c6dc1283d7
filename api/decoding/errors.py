"""The one error of decoding, and words for text that is no JSON. The words are those of Go's encoding/json."""

import json
import re
from typing import Any, Never


class DecodeError(ValueError):
    """The text is no JSON, or not of the wanted type. The message is what goes over the wire."""


NUMBER_TOO_LARGE = "json: cannot unmarshal number into Go value of type float64"


def mended(raw: bytes) -> bytes:
    """JSON text that msgspec refuses and Go takes: invalid UTF-8 and half surrogate pairs become U+FFFD.

    Raises DecodeError, with place and character, when the text is no JSON at all.
    """
    text = raw.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except DecodeError:
        raise
    except json.JSONDecodeError as error:
        raise DecodeError(_complaint(text, error)) from None
    except ValueError:
        # Python refuses to read integers of thousands of digits.
        raise DecodeError(NUMBER_TOO_LARGE) from None
    return json.dumps(_without_surrogates(value), ensure_ascii=False).encode()


def _refuse_constant(name: str) -> Never:
    """NaN and Infinity, which Python reads and JSON lacks."""
    raise DecodeError(f"invalid character {_quoted(name.lstrip('-')[0])} {_VALUE}")


_VALUE = "looking for beginning of value"
_KEY = "looking for beginning of object key string"

# Python's complaint → where Go says that the offending character stands.
_PLACES = {
    "Extra data": "after top-level value",
    "Expecting ',' delimiter": "after object key:value pair",
    "Expecting ':' delimiter": "after object key",
    "Expecting property name enclosed in double quotes": _KEY,
    "Illegal trailing comma before end of object": _KEY,
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    at = error.pos
    if error.msg.startswith("Invalid \\escape"):
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    place = _PLACES.get(error.msg.split(": ")[0], _VALUE)
    if error.msg == "Expecting ',' delimiter" and _inside_array(text[:at]):
        place = "after array element"
    if place == _VALUE:
        for literal in ("true", "false", "null"):
            if text[at] == literal[0]:
                return _broken_literal(text[at:], literal)
    return f"invalid character {_quoted(text[at])} {place}"


def _broken_literal(text: str, literal: str) -> str:
    for found, expected in zip(text, literal, strict=False):
        if found != expected:
            return f"invalid character {_quoted(found)} in literal {literal} (expecting '{expected}')"
    return "unexpected end of JSON input"


def _inside_array(text: str) -> bool:
    """Whether the innermost bracket that is open at the end of the text opens an array."""
    opened = []
    for bracket in re.sub(r'"(?:\\.|[^"\\])*"', "", text):
        if bracket in "[{":
            opened.append(bracket)
        elif bracket in "]}" and opened:
            opened.pop()
    return bool(opened) and opened[-1] == "["


def _quoted(character: str) -> str:
    """A character as Go quotes it."""
    special = {"'": r"'\''", '"': "'\"'", "\n": r"'\n'", "\t": r"'\t'", "\r": r"'\r'"}
    return special.get(character) or (f"'{character}'" if character.isprintable() else f"'\\x{ord(character):02x}'")


_SURROGATES = re.compile("[\ud800-\udfff]")


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return _SURROGATES.sub("\ufffd", value)
        case list():
            return [_without_surrogates(item) for item in value]
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case _:
            return value


def illegal_base64(text: str) -> str | None:
    """Go's complaint about base64 text (line breaks are allowed in it), or None when it is sound."""
    at = _illegal_byte(text)
    return None if at is None else f"illegal base64 data at input byte {at}"


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _illegal_byte(text: str) -> int | None:
    """The offset that Go names, which depends on where in its group of four a fault is found."""
    count = 0
    for at, character in enumerate(text):
        if character in "\r\n":
            continue
        if character in _ALPHABET:
            count += 1
            continue
        if character != "=" or count % 4 < 2:
            return at
        rest = text[at + 1 :]
        if count % 4 == 2:
            stripped = rest.lstrip("\r\n")
            if not stripped:
                return len(text)
            if stripped[0] != "=":
                return len(text) - len(stripped) - 1
            rest = stripped[1:]
        garbage = rest.lstrip("\r\n")
        return len(text) - len(garbage) if garbage else None
    return len(text) - count % 4 if count % 4 else None
