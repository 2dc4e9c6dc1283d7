"""Pulling an image for as long as it moves.

CRI's PullImage says nothing until it is done, and a registry that has stopped sending would hold it for ever; yet a
slow line is no reason to give up, so no time limit on the whole is right. With containerd the growth of what is being
downloaded is watched instead. Once everything is here the layers are unpacked, which is local and takes what it takes.
Other runtimes are left to their own limits.
"""

from __future__ import annotations

import asyncio
import logging

from cri.client import RuntimeClient
from cri.containerd import Download, downloads
from cri.errors import CriError, DeadlineExceeded, Unimplemented
from proto import cri_pb2 as cri

log = logging.getLogger(__name__)

STALL_SECONDS = 600.0
"""Without a byte for so long a download counts as dead."""
LOOK_SECONDS = 15.0


async def pull_image(
    client: RuntimeClient,
    image: cri.ImageSpec,
    *,
    auth: cri.AuthConfig | None = None,
    stall_seconds: float = STALL_SECONDS,
) -> str:
    """As `RuntimeClient.pull_image`, but raises DeadlineExceeded when the download stands still."""
    pulling = asyncio.create_task(client.pull_image(image, auth=auth), name=f"pull {image.image}")
    watch = _Watch(client, stall_seconds)
    try:
        while True:
            try:
                async with client.clock.timeout(LOOK_SECONDS):
                    return await asyncio.shield(pulling)
            except TimeoutError:
                if await watch.is_stalled():
                    cause = f"no progress for {stall_seconds:.0f} s"
                    raise DeadlineExceeded("pull image", f'image "{image.image}"', cause) from None
    finally:
        pulling.cancel()
        await asyncio.wait({pulling})


class _Watch:
    """Whether anything has come in lately. Whose it is cannot be told: one moving download speaks for all."""

    def __init__(self, client: RuntimeClient, stall_seconds: float) -> None:
        self._client = client
        self._stall_seconds = stall_seconds
        self._seen: frozenset[Download] = frozenset()
        self._moved_at = client.clock.monotonic()
        self._blind = False

    async def is_stalled(self) -> bool:
        if self._blind:
            return False
        try:
            seen = await downloads(self._client.transport)
        except Unimplemented:
            self._blind = True
            return False
        except CriError as error:
            log.info("progress of pulls is not known: error=%s", error)
            return False
        now = self._client.clock.monotonic()
        if seen != self._seen:
            if not seen:
                self._blind = True  # all is here; what follows is unpacking
            self._seen, self._moved_at = seen, now
        return now - self._moved_at >= self._stall_seconds
