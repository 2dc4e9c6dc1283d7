"""What earlier runs of the agent left on disk for pods that exist no more: volumes, folders and cgroups.

Every pod's worker cleans up after itself. What is found here was left by a crash, or by a pod that was deleted while
the agent was away; so it is looked for once the sources have told which pods there are, and again only while
something could not be removed. What cannot be removed is told once, not at every attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from agent.pods.seams import Cgroups, VolumeError, Volumes
from client.backoff import Backoff
from client.clock import Clock

log = logging.getLogger(__name__)

FIRST_RETRY = 5.0
LONGEST_RETRY = 300.0


class Leftovers:
    """Removes them. `alive` tells whether a pod has a worker here, or containers in the runtime."""

    def __init__(self, volumes: Volumes, cgroups: Cgroups, clock: Clock, alive: Callable[[str], bool]) -> None:
        self._volumes = volumes
        self._cgroups = cgroups
        self._clock = clock
        self._alive = alive
        self._told: set[str] = set()

    async def run(self) -> None:
        """Returns once nothing is left over."""
        backoff = Backoff(FIRST_RETRY, LONGEST_RETRY)
        while not await self._sweep():
            await self._clock.sleep(backoff.next())

    async def _sweep(self) -> bool:
        clean = True
        for uid in await self._volumes.orphans():
            if self._alive(uid):
                continue
            try:
                await self._volumes.unmount(uid)
                log.info("removed what a former pod left on disk uid=%s", uid)
            except (VolumeError, OSError) as error:
                clean = False
                self._tell(uid, error)
        for uid in await self._cgroups.pods():
            if self._alive(uid):
                continue
            try:
                await self._cgroups.remove_pod(uid)
            except OSError as error:
                clean = False
                self._tell(uid, error)
        return clean

    def _tell(self, uid: str, error: Exception) -> None:
        if uid not in self._told:
            self._told.add(uid)
            log.warning("what a former pod left behind cannot be removed yet uid=%s error=%s", uid, error)
