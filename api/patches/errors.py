"""Why a patch cannot be applied, and how values look in such a message."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class PatchError(ValueError):
    """``code``: 400 not a patch, 413 too long, 422 does not apply to this document, 500 what upstream takes for its
    own fault.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def bounded(patch: Callable[P, R]) -> Callable[P, R]:
    """Decorator: documents nested beyond Python's stack are refused instead of crashing whoever patches."""

    @functools.wraps(patch)
    def refusing(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return patch(*args, **kwargs)
        except RecursionError:
            raise PatchError("exceeded max depth", 400) from None

    return refusing


def shown(value: Any) -> str:
    """A JSON value as Go prints it with %v: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{shown(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(shown(item) for item in value)}]"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


_GO_TYPES: dict[type, str] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    type(None): "%!s(<nil>)",
}


def go_type(value: Any) -> str:
    """The Go type that holds a JSON value."""
    return _GO_TYPES[type(value)]


def kind(value: Any) -> str:
    """What Go's decoder calls a JSON value that it did not expect."""
    match value:
        case dict():
            return "object"
        case list():
            return "array"
        case bool():
            return "bool"
        case str():
            return "string"
        case _:
            return "number"
