"""What the patches share: copies of JSON values, and equality that tells true from 1."""

from typing import Any


def copied(value: Any) -> Any:
    """A JSON value that shares no list or object with the original."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same; numbers by value, and never a number and a boolean."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)
