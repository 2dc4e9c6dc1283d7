"""Cutting container logs that have grown too large.

Which files to rename, compress and remove is planned by `plan_rotation`; `LogRotator` carries it out and tells the
runtime to open the log anew. Order matters: the log is renamed first, and if the runtime then cannot reopen it, it is
renamed back, since the runtime goes on writing to the file it has.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.logs import generations
from client.clock import Clock

logger = logging.getLogger(__name__)

# Sizes are looked at in a loop because a write is no event one would want to hear of for each line of each log.
PERIOD = 10.0
STAMP = "%Y%m%d-%H%M%S"


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """`remove` first, then `compress`, then rename the log to `rename_to`."""

    remove: Sequence[str]
    compress: Sequence[str]
    rename_to: str


def plan_rotation(path: str, older: Sequence[str], now: float, max_files: int) -> RotationPlan:
    """What to do about the log at `path` with rotated files `older` (oldest first) to have `max_files` at the end.

    The newest rotated file stays uncompressed, since a follower may be reading it.
    """
    keep = max(0, max_files - 2)  # beside the one being rotated and the one that is begun
    removed = list(older[: max(0, len(older) - keep)])
    kept = [file for file in older if file not in removed]
    stamp = datetime.fromtimestamp(now, UTC).strftime(STAMP)
    target = f"{path}.{stamp}"
    newest = max((file.removesuffix(".gz") for file in older), default="")
    if target <= newest:  # twice within a second, or the clock went back; names must go on sorting by age
        target = f"{newest}-1"
    return RotationPlan(removed, [file for file in kept if not file.endswith(".gz")], target)


class LogRotator:
    """Keeps logs under `max_size` bytes each and `max_files` files per container.

    `logs` gives the logs of running containers by container id; `reopen` tells the runtime to open a log anew.
    """

    def __init__(
        self,
        logs: Callable[[], Awaitable[Mapping[str, str]]],
        reopen: Callable[[str], Awaitable[None]],
        clock: Clock,
        *,
        max_size: int = 10 * 1024 * 1024,
        max_files: int = 5,
    ) -> None:
        self._logs = logs
        self._reopen = reopen
        self._clock = clock
        self._max_size = max_size
        self._max_files = max_files

    async def run(self) -> None:
        """Look after the logs until cancelled."""
        while True:
            await self._clock.sleep(PERIOD)
            try:
                await self.rotate_all()
            except Exception as error:  # noqa: BLE001 - a broken look must not end all later ones
                logger.warning('event=log_rotation_failed error="%s"', error)

    async def rotate_all(self) -> None:
        """Rotate each log that is too large; a failure with one does not spare the others."""
        for container, path in (await self._logs()).items():
            try:
                if os.stat(path).st_size >= self._max_size:
                    await self.rotate(container, path)
            except FileNotFoundError:
                continue
            except Exception as error:  # noqa: BLE001 - one bad apple: the other logs still want rotating
                logger.warning('event=log_rotation_failed container=%s path=%s error="%s"', container, path, error)

    async def rotate(self, container: str, path: str) -> None:
        """Rotate one log. Raises OSError, or what the runtime says when it cannot reopen the log."""
        plan = plan_rotation(path, generations.rotated(path), self._clock.now(), self._max_files)
        for file in plan.remove:
            os.unlink(file)
        for file in plan.compress:
            await asyncio.to_thread(compress, file)
        os.rename(path, plan.rename_to)
        try:
            await self._reopen(container)
        except BaseException:
            os.rename(plan.rename_to, path)
            raise


def compress(path: str) -> None:
    """Replace a file by its gzip; killed halfway it leaves the file and a `.tmp` that the next try overwrites."""
    temporary = f"{path}.tmp"
    with open(path, "rb") as source, gzip.open(temporary, "wb", 6) as target:
        shutil.copyfileobj(source, target)
    os.replace(temporary, f"{path}.gz")
    os.unlink(path)
