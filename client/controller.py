"""The loop every controller runs: take a key, reconcile, come back if it failed.

It knows keys and outcomes, never objects. What goes wrong with one key is logged and retried with back-off, and
touches no other key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from api.errors import StatusError
from client.errors import Unreachable
from client.workqueue import ShutDown, WorkQueue

K = TypeVar("K", bound=Hashable)

log = logging.getLogger(__name__)


async def run_workers(queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[float | None]], workers: int = 1) -> None:
    """Reconcile keys with so many workers until the queue is shut down or the task is cancelled.

    `reconcile` returns None, or the seconds after which it wants to see the key again. When it raises, the key
    returns with exponential back-off.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work(queue, reconcile), name=f"{queue.name}-worker")


async def _work(queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[float | None]]) -> None:
    while True:
        try:
            key = await queue.get()
        except ShutDown:
            return
        try:
            again = await reconcile(key)
        except StatusError as error:
            # Someone else wrote first: what the informer brings next decides, there is nothing to tell anyone.
            level = logging.DEBUG if error.code == 409 else logging.WARNING
            log.log(level, "reconcile failed queue=%s key=%s error=%s", queue.name, key, error)
            queue.add_rate_limited(key)
        except Unreachable as error:
            log.info("reconcile put off queue=%s key=%s error=%s", queue.name, key, error)
            queue.add_rate_limited(key)
        except Exception:
            log.exception("reconcile failed queue=%s key=%s", queue.name, key)
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
            if again is not None:
                queue.add_after(key, again)
        finally:
            queue.done(key)
