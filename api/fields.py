"""Where in an object a field stands, and what is wrong with it.

A `FieldError` becomes one cause of a 422 Status; its text is part of the wire and equals that of apimachinery's
`util/validation/field`. This module must not know any kind, nor HTTP.

A path is a plain string (`spec.containers[0].env[1].valueFrom`): validation builds one only where it has found an
error, or where it goes down into a list, so that correct objects cost next to nothing. `Path` is a `str` with the
three steps as methods, for code that prefers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from api.rendering import quote, render


class Path(str):
    """The way from an object's root to a field."""

    __slots__ = ()

    def child(self, *names: str) -> Path:
        steps = ".".join(names)
        return Path(f"{self}.{steps}" if self else steps)

    def index(self, index: int) -> Path:  # type: ignore[override] # a path is not searched for substrings
        return Path(f"{self}[{index}]")

    def key(self, key: str) -> Path:
        return Path(f"{self}[{key}]")


WHOLE: Final = "[]"
"""The path of no field but of all there is, as upstream writes it."""


class ErrorKind(Enum):
    """The reason of a cause; the value is what the wire says."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TOO_FEW = "FieldValueTooFew"
    TOO_SHORT = "FieldValueTooShort"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_WORDS: Final = {
    ErrorKind.NOT_FOUND: "Not found",
    ErrorKind.REQUIRED: "Required value",
    ErrorKind.DUPLICATE: "Duplicate value",
    ErrorKind.INVALID: "Invalid value",
    ErrorKind.NOT_SUPPORTED: "Unsupported value",
    ErrorKind.FORBIDDEN: "Forbidden",
    ErrorKind.TOO_LONG: "Too long",
    ErrorKind.TOO_MANY: "Too many",
    ErrorKind.TOO_FEW: "Too few",
    ErrorKind.TOO_SHORT: "Too short",
    ErrorKind.TYPE_INVALID: "Invalid value",
    ErrorKind.INTERNAL: "Internal error",
}
_WITHOUT_VALUE: Final = frozenset(
    {ErrorKind.REQUIRED, ErrorKind.FORBIDDEN, ErrorKind.TOO_LONG, ErrorKind.TOO_SHORT, ErrorKind.INTERNAL}
)


class _Omitted:
    """Marks a value that is not to be shown."""


OMITTED: Final = _Omitted()


class FieldError(Struct, frozen=True):
    """One wrong field. `value` is what stood there; `detail` says what is expected instead."""

    kind: ErrorKind
    path: str
    value: Any
    detail: str

    @property
    def body(self) -> str:
        """The message without the path: what a Status cause shows."""
        text = _WORDS[self.kind]
        if self.kind not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {render(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"


FieldErrors = list[FieldError]


def invalid(path: str, value: object, detail: str) -> FieldError:
    return FieldError(ErrorKind.INVALID, path, value, detail)


def type_invalid(path: str, value: object, detail: str) -> FieldError:
    return FieldError(ErrorKind.TYPE_INVALID, path, value, detail)


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(ErrorKind.REQUIRED, path, "", detail)


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(ErrorKind.FORBIDDEN, path, "", detail)


def duplicate(path: str, value: object) -> FieldError:
    return FieldError(ErrorKind.DUPLICATE, path, value, "")


def not_found(path: str, value: object) -> FieldError:
    return FieldError(ErrorKind.NOT_FOUND, path, value, "")


def not_supported(path: str, value: object, supported: Iterable[str]) -> FieldError:
    listed = ", ".join(quote(word) for word in supported)
    return FieldError(ErrorKind.NOT_SUPPORTED, path, value, f"supported values: {listed}" if listed else "")


def too_long(path: str, limit: int, unit: str = "bytes") -> FieldError:
    """The value is over `limit` bytes (or "characters"); it is not shown."""
    detail = f"may not be more than {limit} {unit if limit != 1 else unit[:-1]}" if limit >= 0 else "value is too long"
    return FieldError(ErrorKind.TOO_LONG, path, "<value omitted>", detail)


def too_many(path: str, actual: int, limit: int) -> FieldError:
    """A list of `actual` items where `limit` are allowed; a negative `actual` is not shown."""
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}" if limit >= 0 else "has too many items"
    return FieldError(ErrorKind.TOO_MANY, path, actual if actual >= 0 else OMITTED, detail)


def too_short(path: str, value: str, limit: int) -> FieldError:
    detail = f"must be at least {limit} {'character' if limit == 1 else 'characters'}"
    return FieldError(ErrorKind.TOO_SHORT, path, value, detail)


def internal(path: str, detail: str) -> FieldError:
    return FieldError(ErrorKind.INTERNAL, path, "", detail)


def aggregate(errors: Sequence[FieldError]) -> str:
    """All errors as one text: a single one bare, several in brackets, repeated ones once."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
