"""When many events are one: counting, combining and dropping, as upstream's EventCorrelator does (client-go
`tools/record`).

Three stages, all pure functions of what came before and of the time that is handed in:

- *combine*: ten different messages of one reason about one object within ten minutes become one event whose message
begins with "(combined from similar events): "; - *count*: an event that was written before is not written again, its
count goes up; - *drop*: of one source about one object no more than 25 events at once, and then one each five
minutes, so that what is for ever unhealthy does not flood the server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from api import codec
from api import core_v1 as core
from api.times import Time
from client.backoff import TokenBucket

V = TypeVar("V")
Fingerprint = tuple[str, ...]

REMEMBERED = 4096
COMBINE_FROM = 10  # different messages
COMBINE_WITHIN = 600.0  # seconds
SPAM_BURST = 25
SPAM_RATE = 1 / 300  # events a second
COMBINED_PREFIX = "(combined from similar events): "


class Recent(Generic[V]):
    """A dictionary that forgets the entry not used for longest when it is full."""

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._entries: OrderedDict[Fingerprint, V] = OrderedDict()

    def get(self, key: Fingerprint, make: Callable[[], V]) -> V:
        """The value of a key, made and kept when there is none."""
        try:
            self._entries.move_to_end(key)
        except KeyError:
            self.put(key, make())
        return self._entries[key]

    def put(self, key: Fingerprint, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)


@dataclass(slots=True)
class _Similar:
    """What is known of the events that differ by message alone; `last` is in monotonic seconds."""

    messages: OrderedDict[str, None] = field(default_factory=OrderedDict)
    last: float = float("-inf")


@dataclass(slots=True)
class _Written:
    """What the server has of an event."""

    count: int = 0
    first: Time | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to send: the event, to be created when `repeated` is false and counted up when it is true."""

    event: core.Event
    repeated: bool


class EventCorrelator:
    """The memory of one recorder."""

    def __init__(self) -> None:
        self._similar: Recent[_Similar] = Recent()
        self._written: Recent[_Written] = Recent()
        self._buckets: Recent[TokenBucket] = Recent()

    def correlate(self, event: core.Event, now: float) -> Verdict | None:
        """Decide on one event at a monotonic time in seconds; None means that it is dropped."""
        event, key = self._combine(event, now)
        written = self._written.get(key, _Written)
        repeated = written.count > 0
        if repeated:
            event = codec.deepcopy(event)
            event.metadata.name = written.name
            event.first_timestamp = written.first
            event.count = written.count + 1
        self._remember(key, event)
        bucket = self._buckets.get(_about(event), lambda: TokenBucket(SPAM_RATE, SPAM_BURST))
        return Verdict(event, repeated) if bucket.try_take(now) else None

    def confirm(self, event: core.Event) -> None:
        """The server took the event: from now on its repetitions count that one up."""
        self._remember(_full_key(event), event)

    def _combine(self, event: core.Event, now: float) -> tuple[core.Event, Fingerprint]:
        key = _similarity_key(event)
        similar = self._similar.get(key, _Similar)
        if now - similar.last > COMBINE_WITHIN:
            similar.messages.clear()
        similar.messages[event.message] = None
        similar.last = now
        if len(similar.messages) < COMBINE_FROM:
            return event, _full_key(event)
        similar.messages.popitem(last=False)
        combined = codec.deepcopy(event)
        combined.message = COMBINED_PREFIX + event.message
        return combined, key

    def _remember(self, key: Fingerprint, event: core.Event) -> None:
        self._written.put(key, _Written(event.count, event.first_timestamp, event.metadata.name))


def _about(event: core.Event) -> Fingerprint:
    """One source about one object: what the limit on spam counts by."""
    subject = event.involved_object
    return (
        event.source.component,
        event.source.host,
        subject.kind,
        subject.namespace,
        subject.name,
        subject.uid,
        subject.api_version,
        event.type,
    )


def _similarity_key(event: core.Event) -> Fingerprint:
    return (*_about(event), event.reason, event.reporting_component, event.reporting_instance)


def _full_key(event: core.Event) -> Fingerprint:
    return (*_about(event), event.involved_object.field_path, event.reason, event.message)
