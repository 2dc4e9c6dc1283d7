"""Bytes come whole: amounts of memory and storage that are none."""

from __future__ import annotations

from collections.abc import Iterator

from api.quantity import Quantity
from api.rendering import quote


def fraction_warning(amount: Quantity, path: str) -> Iterator[str]:
    """A warning if a number of bytes has a fraction; usually somebody wrote ``m`` for ``M``."""
    if amount.milli() % 1000:
        yield f"{path}: fractional byte value {quote(str(amount))} is invalid, must be an integer"
