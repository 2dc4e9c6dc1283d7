"""Pulls under way: a bounded number at once, and one for each image and credential however many pods want it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.images.keyring import Credential
from client.clock import Clock
from cri.client import RuntimeClient
from cri.errors import CriError
from cri.pulling import pull_image
from proto import cri_pb2 as cri

log = logging.getLogger(__name__)

PARALLEL = 5
"""Pulls at once; more compete for the same line and disk and make each other slow."""


class PullFailed(Exception):
    """No credential worked; the message is the runtime's, all of them if there are several."""


@dataclass(frozen=True, slots=True)
class Pulled:
    image_ref: str
    seconds: float
    """What the pull itself took, without waiting for its turn."""
    size: int
    """Bytes."""


@dataclass(slots=True)
class _Flight:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    ended_at: float = float("-inf")
    outcome: Pulled | PullFailed | None = None


class Pulls:
    def __init__(self, client: RuntimeClient, clock: Clock, parallel: int = PARALLEL) -> None:
        self._client = client
        self._clock = clock
        self._places = asyncio.Semaphore(parallel)
        self._flights: dict[tuple[str, tuple[Credential, ...]], _Flight] = {}

    async def pull(self, image: str, credentials: Sequence[Credential]) -> Pulled:
        """Pulls, or shares the outcome of a pull that ends while waiting. Raises PullFailed.

        When whoever pulls for several gives up, one of the others begins again.
        """
        key = (image, tuple(credentials))
        flight = self._flights.setdefault(key, _Flight())
        asked_at = self._clock.monotonic()
        flight.users += 1
        try:
            async with flight.lock:
                if flight.outcome is None or flight.ended_at < asked_at:
                    flight.outcome = await self._pull(image, credentials)
                    flight.ended_at = self._clock.monotonic()
                outcome = flight.outcome
        finally:
            flight.users -= 1
            if flight.users == 0:
                self._flights.pop(key, None)
        if isinstance(outcome, PullFailed):
            raise PullFailed(*outcome.args)
        return outcome

    async def _pull(self, image: str, credentials: Sequence[Credential]) -> Pulled | PullFailed:
        async with self._places:
            begun = self._clock.monotonic()
            failures = []
            spec = cri.ImageSpec(image=image)
            for credential in credentials or (None,):
                auth = credential.auth_config() if credential is not None else None
                try:
                    image_ref = await pull_image(self._client, spec, auth=auth)
                except CriError as error:
                    failures.append(_words(error))
                else:
                    seconds = self._clock.monotonic() - begun
                    return Pulled(image_ref, seconds, await self._size(image_ref))
        distinct = list(dict.fromkeys(failures))
        return PullFailed(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")

    async def _size(self, image_ref: str) -> int:
        try:
            image = await self._client.image_status(cri.ImageSpec(image=image_ref))
        except CriError as error:
            log.warning("size of pulled image is not known: image=%s error=%s", image_ref, error)
            return 0
        return image.size if image is not None else 0


def _words(error: CriError) -> str:
    # "Unknown" tells nobody anything.
    return error.cause if error.code == "Unknown" else error.status_text
