"""Lines that tell a waiting person what is being done and how long it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say what begins, and how it ended with the seconds it took. An error passes through."""
    begun = time.monotonic()
    print(f"{text} …", end="", flush=True, file=sys.stderr)
    try:
        yield
    except BaseException:
        print(f" failed after {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        raise
    print(f" {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
