"""Calls that may block for ever, on file systems that are not ours.

A shared pool of threads would be used up by a few hung mounts, and then every pod would wait; so each call gets a
thread of its own. When the deadline passes the caller goes on and the thread is left to the kernel. A pod has one such
call at a time, which bounds how many there can be.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from client.clock import Clock

T = TypeVar("T")


async def run_blocking(call: Callable[[], T], what: str, seconds: float, clock: Clock) -> T:
    """Runs `call` in a thread of its own. Raises TimeoutError, naming `what`, when it takes longer than `seconds`."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - handed on to the caller, whatever it is
            outcome: tuple[T | None, BaseException | None] = (None, error)
        else:
            outcome = (result, None)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, name=f"blocking {what}", daemon=True).start()
    try:
        async with clock.timeout(seconds):
            return await done
    except TimeoutError:
        raise TimeoutError(f"{what}: no end after {seconds:.0f} s") from None
