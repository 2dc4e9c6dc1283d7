"""Waiting for what the node does in its own time: with a deadline, and with a word about what was awaited."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(look: Callable[[], T], what: str, seconds: float = 30.0, period: float = 0.1) -> T:
    """The first true answer of `look`; an AssertionError in it counts as not yet. Fails after `seconds`."""
    until = time.monotonic() + seconds
    last: object = None
    while True:
        try:
            if found := look():
                return found
            last = found
        except AssertionError as not_yet:
            last = not_yet
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds:g} s, last: {last}")
        time.sleep(period)


def stays(look: Callable[[], object], what: str, seconds: float, period: float = 0.2) -> None:
    """`look` goes on being true for `seconds`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert look(), f"{what}: ended"
        time.sleep(period)
