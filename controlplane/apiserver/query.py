"""The query string of a request, read the way upstream's parameter codec reads it.

Numbers and booleans arrive as text; what counts as true, and what an unreadable number is answered with, is part of
the API. This module knows text only: which parameters exist is the business of :mod:`controlplane.apiserver.options`.
"""

from __future__ import annotations

from urllib.parse import unquote_plus

from api import errors

_INT64_MAX = (1 << 63) - 1
_UINT64_MAX = (1 << 64) - 1


class Query(dict[str, list[str]]):
    """All values of each parameter, in the order they were given."""

    __slots__ = ()

    def first(self, name: str, default: str = "") -> str:
        """The first value of a parameter, or `default` when it is absent."""
        values = self.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        """A boolean: "0" and "false" (any case) are false, any other value, the empty one included, is true."""
        values = self.get(name)
        return values is not None and _truth(values[0])

    def optional_flag(self, name: str) -> bool | None:
        """A boolean that may be absent."""
        values = self.get(name)
        return None if values is None else _truth(values[0])

    def optional_integer(self, name: str) -> int | None:
        """A signed 64-bit number that may be absent; raises StatusError (BadRequest) when it is no number."""
        values = self.get(name)
        return None if values is None else parse_int64(values[0])

    def integer(self, name: str) -> int:
        """A signed 64-bit number, 0 when absent; raises StatusError (BadRequest) when it is no number."""
        return self.optional_integer(name) or 0


EMPTY = Query()


def parse(text: str) -> Query:
    """Split a raw query string. Pairs that hold a semicolon are dropped, as Go's net/url does."""
    if not text:
        return EMPTY
    query = Query()
    for pair in text.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair:
            name, value = unquote_plus(name), unquote_plus(value)
        query.setdefault(name, []).append(value)
    return query


def parse_int64(text: str) -> int:
    """A decimal number as Go's strconv.ParseInt takes it; raises StatusError (BadRequest) with its message."""
    number = _decimal(text, signed=True)
    if number is None:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def parse_resource_version(text: str) -> int | str:
    """A resource version ("" is 0), or the reason why it is none (in the words of Go's strconv.ParseUint)."""
    if not text:
        return 0
    number = _decimal(text, signed=False)
    if number is None:
        return f'strconv.ParseUint: parsing "{text}": invalid syntax'
    if number > _UINT64_MAX:
        return f'strconv.ParseUint: parsing "{text}": value out of range'
    return number


def _truth(text: str) -> bool:
    return text != "0" and text.lower() != "false"


def _decimal(text: str, *, signed: bool) -> int | None:
    digits = text[1:] if signed and text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 64:
        return None
    return int(text)
