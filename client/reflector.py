"""List, then watch, for ever: the course of one kind's changes, whatever happens to the connection.

The reflector decides when to list, when to resume and when to wait; what the changes mean to a cache is the business
of its sink. It never gives up and never goes silent: each failure is logged once and followed by a longer pause.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from api import meta_v1 as meta
from api.errors import StatusError
from client.backoff import Backoff
from client.clock import Clock
from client.errors import ClientError
from client.interface import Client, EventType, ObjectList, WatchEvent

T = TypeVar("T", bound=meta.Object)

log = logging.getLogger(__name__)

PAGE = 500
WATCH_TIMEOUT = 300.0  # seconds; drawn between this and twice this, so that watches do not end together
HEALTHY_AFTER = 10.0  # seconds a watch must last to count as success without a single event
STALE_LISTS_REFUSED = 5

# The server cannot resume from our revision: malformed (400) and gone (404, 410) speak for themselves; 504 is how a
# server says that the revision is ahead of it, as after its store was restored from a backup.
_REVISION_UNKNOWN = (400, 404, 410, 504)


class Sink(Protocol[T]):
    """Where the changes go. Both calls are synchronous: a reflector never runs ahead of its sink."""

    def replace(self, items: Sequence[T]) -> None:
        """This is the whole truth as of now."""

    def apply(self, event: WatchEvent[T]) -> None:
        """This has changed."""


class Reflector(Generic[T]):
    """Mirrors the objects of one class and selection into a sink."""

    def __init__(
        self,
        client: Client,
        cls: type[T],
        sink: Sink[T],
        clock: Clock,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        rng: random.Random | None = None,
    ) -> None:
        self._client = client
        self._cls = cls
        self._sink = sink
        self._clock = clock
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._rng = rng or random.Random()
        self._backoff = Backoff(0.8, 30.0, jitter=1.0, rng=self._rng)
        self._revision = ""  # where to resume; empty: list first
        self._newest = 0  # the highest revision ever seen
        self._stale_lists = 0
        self._expired = False  # whether the last list was taken because the revision had expired

    async def run(self) -> None:
        """Mirror until cancelled."""
        while True:
            try:
                if not self._revision:
                    await self._relist()
                healthy = await self._watch()
            except StatusError as error:
                log.log(
                    logging.INFO if error.code in (410, 429, 503) else logging.WARNING,
                    "list and watch refused kind=%s code=%s error=%s",
                    self._cls.__name__,
                    error.code,
                    error,
                )
                if error.code in _REVISION_UNKNOWN:
                    self._revision = ""
                if error.code == 410 and not self._expired:
                    # Nothing is wrong with the server: we were away too long. Only an Expired that follows a fresh
                    # list is.
                    self._expired = True
                    continue
                await self._clock.sleep(self._backoff.next())
            except ClientError as error:
                log.info("list and watch interrupted kind=%s error=%s", self._cls.__name__, error)
                await self._clock.sleep(self._backoff.next())
            else:
                if healthy:
                    self._expired = False
                else:
                    await self._clock.sleep(self._backoff.next())

    async def _relist(self) -> None:
        items, revision = await self._list_all()
        number = _number(revision)
        if number < self._newest and self._stale_lists < STALE_LISTS_REFUSED:
            # A replica that lags behind. To believe it would mean to undo what handlers were told. A restored backup
            # looks the same, hence the limit.
            self._stale_lists += 1
            raise StaleList(f"list {self._cls.__name__}: revision {number} is older than {self._newest}, seen before")
        self._stale_lists = 0
        self._newest = number
        self._sink.replace(items)
        self._revision = revision

    async def _list_all(self) -> tuple[list[T], str]:
        """A whole snapshot, by pages to let other tasks run between them."""
        page = await self._page(PAGE, "")
        items = page.items
        try:
            while page.continue_:
                page = await self._page(PAGE, page.continue_)
                items.extend(page.items)
        except StatusError as error:
            if error.code != 410:
                raise
            # The snapshot was compacted away under the pages: take a new one in one piece.
            page = await self._page(0, "")
            items = page.items
        return items, page.resource_version

    async def _page(self, limit: int, continue_: str) -> ObjectList[T]:
        return await self._client.list(
            self._cls,
            self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            limit=limit,
            continue_=continue_,
        )

    async def _watch(self) -> bool:
        """Follow changes until the watch ends; returns whether it was worth its while."""
        started = self._clock.monotonic()
        seen = False
        try:
            async for event in self._client.watch(
                self._cls,
                self._namespace,
                resource_version=self._revision,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
                timeout=WATCH_TIMEOUT * (1 + self._rng.random()),
            ):
                if event.type is not EventType.BOOKMARK:
                    self._sink.apply(event)
                if event.object.metadata.resource_version:
                    self._revision = event.object.metadata.resource_version
                    self._newest = max(self._newest, _number(self._revision))
                if not seen:
                    seen = True
                    self._backoff.reset()
        finally:
            if not seen and self._clock.monotonic() - started >= HEALTHY_AFTER:
                seen = True
                self._backoff.reset()
        return seen


class StaleList(ClientError):
    """A list from a replica that lags behind what this client has already seen."""


def _number(revision: str) -> int:
    """Revisions are comparable as numbers (guaranteed by the API since 1.35); zero for what is no number."""
    return int(revision) if revision.isascii() and revision.isdigit() else 0
