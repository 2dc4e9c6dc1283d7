"""What a list or a watch is about: a namespace, labels, fields; and where a page of a list goes on."""

from __future__ import annotations

import base64
from typing import TypeVar

import msgspec

from api import codec
from api import meta_v1 as meta
from api.selectors import FieldSelector, LabelSelector, parse_field_selector, parse_label_selector
from client.fake.history import Change, Key
from client.interface import EventType, WatchEvent

T = TypeVar("T", bound=meta.Object)


class Selection:
    """Which objects a list or watch is about."""

    def __init__(self, namespace: str, label_selector: str, field_selector: str) -> None:
        self._namespace = namespace
        self._labels: LabelSelector | None = parse_label_selector(label_selector) if label_selector else None
        self._fields: FieldSelector | None = parse_field_selector(field_selector) if field_selector else None

    def has(self, obj: meta.Object) -> bool:
        if self._namespace and obj.metadata.namespace != self._namespace:
            return False
        if self._labels is not None and not self._labels.matches(obj.metadata.labels):
            return False
        return self._fields is None or self._fields.matches(obj)

    def event(self, change: Change, cls: type[T]) -> WatchEvent[T] | None:
        """What a change means to this selection: an object that no longer matches is gone as far as it can see."""
        before = codec.decode(change.before, cls) if change.before is not None else None
        had = before is not None and self.has(before)
        if change.after is None:
            if not had or change.final is None:
                return None
            return WatchEvent(EventType.DELETED, codec.decode(change.final, cls))
        after = codec.decode(change.after, cls)
        if self.has(after):
            return WatchEvent(EventType.MODIFIED if had else EventType.ADDED, after)
        if had and before is not None:
            before.metadata.resource_version = after.metadata.resource_version
            return WatchEvent(EventType.DELETED, before)
        return None


def encode_continue(revision: int, key: Key) -> str:
    """A token for the page after a key, of the snapshot at a revision."""
    return base64.urlsafe_b64encode(msgspec.json.encode((revision, key))).decode()


def decode_continue(token: str) -> tuple[int, Key]:
    """The revision and the key of a token."""
    return msgspec.json.decode(base64.urlsafe_b64decode(token), type=tuple[int, Key])
