"""Many like calls at a time, without running into a wall with all of them.

What stops one creation (a quota, an admission hook) mostly stops all. So creations begin with one, and twice as many
follow each time all went well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from api.errors import StatusError
from client.errors import ClientError

T = TypeVar("T")


async def slow_start(count: int, call: Callable[[], Awaitable[object]]) -> Exception | None:
    """Call so many times in growing batches; stops after a batch with an error and returns the first one.

    Only refusals and lost connections are caught; anything else is a mistake of ours and goes through.
    """
    left, size = count, 1
    while left > 0:
        size = min(size, left)
        error = await all_of([call] * size)
        if error is not None:
            return error
        left -= size
        size *= 2
    return None


async def all_of(calls: Sequence[Callable[[], Awaitable[object]]]) -> Exception | None:
    """Make all calls side by side, each to its end; returns the first error, in the order of the calls."""
    errors: list[Exception | None] = [None] * len(calls)

    async def one(index: int) -> None:
        try:
            await calls[index]()
        except (StatusError, ClientError) as error:
            errors[index] = error

    async with asyncio.TaskGroup() as group:
        for index in range(len(calls)):
            group.create_task(one(index))
    return next((error for error in errors if error is not None), None)
