"""Holding on to what was taken from a common stock until the write it was taken for is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Gives back a reservation: the object is stored and holds the number itself now, or it will never be.
Release = Callable[[], None]

#: Seconds after which a write whose request was abandoned is settled for certain.
_SETTLED = 60.0


@contextmanager
def reserved(release: Release | None) -> Iterator[None]:
    """Release at the end of the block.

    When the request is cancelled (its client left, its time is over) the write may still be on its way to the disk, so
    what it needs stays reserved for a while: nobody else must get it.
    """
    if release is None:
        yield
        return
    try:
        yield
    except asyncio.CancelledError:
        asyncio.get_running_loop().call_later(_SETTLED, release)
        raise
    except BaseException:
        release()
        raise
    release()
