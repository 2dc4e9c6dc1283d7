"""The in-memory API server: verbs over a history.

All its methods are synchronous and take effect at once; waiting and faults are the client's part
(`client.fake.client`), so that a test can look at the truth, or change it behind the client's back, at any time.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from api import codec, errors, patches
from api import meta_v1 as meta
from api.defaults import set_defaults
from api.scheme import SCHEME, Resource
from client.clock import Clock, SystemClock
from client.fake.client import FakeClient
from client.fake.faults import Faults
from client.fake.history import Change, Compacted, History, Key
from client.fake.lifecycle import (
    NAME_ALPHABET,
    Fate,
    is_finished,
    prepare_create,
    prepare_delete,
    prepare_update,
)
from client.fake.selecting import Selection, decode_continue, encode_continue
from client.fake.subresources import SUBRESOURCES
from client.interface import EventType, ObjectList, PatchKind, WatchEvent

T = TypeVar("T", bound=meta.Object)
Review = Callable[[Any], Any]


class FakeApiServer:
    """Objects of every kind in the scheme. `history` is how many changes watches can look back on."""

    def __init__(self, *, clock: Clock | None = None, seed: int = 0, history: int = 10_000) -> None:
        self.clock = clock or SystemClock()
        self.faults = Faults(self.clock)
        self.faults.on_drop(lambda resource: self._history.cut(resource))
        self._history = History(history)
        self._rng = random.Random(seed)
        self._reviews: dict[type[Any], Review] = {}

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self._history.revision

    def compact(self) -> None:
        """Forget the past: watches that want to resume from it get 410."""
        self._history.compact()

    def answer_reviews(self, cls: type[T], answer: Callable[[T], T]) -> None:
        """Have reviews of a class answered by a function; without one they come back as they were sent."""
        self._reviews[cls] = answer

    def review(self, obj: T) -> T:
        answer = self._reviews.get(type(obj))
        reviewed: T = answer(codec.deepcopy(obj)) if answer is not None else codec.deepcopy(obj)
        return reviewed

    def client(self) -> FakeClient:
        """A client of this server, with a record of calls of its own."""
        return FakeClient(self)

    # Reading

    def get(self, cls: type[T], name: str, namespace: str = "") -> T:
        resource = SCHEME.of(cls)
        raw = self._history.get(_key(resource, namespace, name))
        if raw is None:
            raise errors.not_found(resource.group_resource, name)
        return codec.decode(raw, cls)

    def list(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_: str = "",
        back: int = 0,
    ) -> ObjectList[T]:
        """A page of objects in the order of their keys; `back` shows the state of so many revisions ago."""
        resource = SCHEME.of(cls)
        wanted = Selection(namespace if resource.namespaced else "", label_selector, field_selector)
        revision, after = max(self._history.revision - back, self._history.compacted, 1), ("", "", "")
        if continue_:
            revision, after = decode_continue(continue_)
        try:
            snapshot = self._history.snapshot(resource.group_resource, revision)
        except Compacted:
            raise errors.expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter, or use the continue token in this response to retrieve the "
                "remainder of the results."
            ) from None
        items: list[T] = []
        for key, raw in snapshot:
            if key <= after:
                continue
            obj = codec.decode(raw, cls)
            if not wanted.has(obj):
                continue
            if limit and len(items) == limit:
                last = items[-1].metadata
                token = encode_continue(revision, _key(resource, last.namespace, last.name))
                return ObjectList(items, str(revision), token)
            items.append(obj)
        return ObjectList(items, str(revision))

    async def watch(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout: float = 300.0,
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes as they come; ends with a bookmark after `timeout` seconds, or without a word when it is cut."""
        resource = SCHEME.of(cls)
        collection = resource.group_resource
        wanted = Selection(namespace if resource.namespaced else "", label_selector, field_selector)
        subscription = self._history.subscribe(collection)
        try:
            past: Sequence[Change] = ()
            if resource_version in ("", "0"):
                for _, raw in self._history.snapshot(collection):
                    obj = codec.decode(raw, cls)
                    if wanted.has(obj):
                        yield WatchEvent(EventType.ADDED, obj)
            else:
                try:
                    past = list(self._history.since(collection, int(resource_version)))
                except Compacted:
                    raise errors.expired(
                        f"too old resource version: {resource_version} ({self._history.compacted + 1})"
                    ) from None
            for change in past:
                if (event := wanted.event(change, cls)) is not None:
                    yield event
            deadline = self.clock.monotonic() + timeout
            while True:
                try:
                    async with self.clock.timeout(deadline - self.clock.monotonic()):
                        coming = await subscription.next()
                except TimeoutError:
                    bookmark = cls()
                    bookmark.metadata.resource_version = str(self._history.revision)
                    yield WatchEvent(EventType.BOOKMARK, bookmark)
                    return
                if coming is None:
                    return
                if (event := wanted.event(coming, cls)) is not None:
                    yield event
        finally:
            self._history.unsubscribe(subscription)

    # Writing

    def create(self, obj: T, namespace: str = "", *, dry_run: bool = False) -> T:
        resource = SCHEME.of(type(obj))
        new: Any = codec.deepcopy(obj)
        new.metadata.namespace = (namespace or new.metadata.namespace) if resource.namespaced else ""
        if resource.namespaced and not new.metadata.namespace:
            raise errors.bad_request("an empty namespace may not be set during creation")
        if not new.metadata.name and new.metadata.generate_name:
            new.metadata.name = new.metadata.generate_name + "".join(self._rng.choices(NAME_ALPHABET, k=5))
        if not new.metadata.name:
            raise errors.bad_request("name or generateName is required")
        key = _key(resource, new.metadata.namespace, new.metadata.name)
        if self._history.get(key) is not None:
            raise errors.already_exists(resource.group_resource, new.metadata.name)
        prepare_create(new, resource, uid=self._uid(), now=self.clock.now())
        set_defaults(new)
        created: T = new if dry_run else self._store(key, new)
        return created

    def update(self, obj: T, *, subresource: str = "", dry_run: bool = False) -> T:
        resource = SCHEME.of(type(obj))
        old = self.get(type(obj), obj.metadata.name, obj.metadata.namespace)
        new = codec.deepcopy(obj)
        prepare_update(new, old, resource, subresource)
        set_defaults(new)
        key = _key(resource, new.metadata.namespace, new.metadata.name)
        if dry_run:
            return new
        if is_finished(new, resource):
            return self._remove(key, new)
        new.metadata.resource_version = old.metadata.resource_version
        if codec.encode(new) == codec.encode(old):
            return old
        return self._store(key, new)

    def patch(
        self,
        cls: type[T],
        name: str,
        patch: object,
        namespace: str = "",
        *,
        kind: PatchKind = PatchKind.STRATEGIC,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        document: Any = codec.to_builtins(self.get(cls, name, namespace))
        # What a patch does not name must not fail on a stale version; what it names must.
        document["metadata"].pop("resourceVersion", None)
        change: Any = msgspec.json.decode(msgspec.json.encode(codec.to_builtins(patch)))
        if kind is PatchKind.JSON:
            document = patches.json_patch(document, change)
        elif kind is PatchKind.MERGE:
            document = patches.merge_patch(document, change)
        else:
            document = patches.strategic_merge_patch(document, change, cls)
        return self.update(codec.from_builtins(document, cls), subresource=subresource, dry_run=dry_run)

    def delete(
        self,
        cls: type[T],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        grace_period: int | None = None,
        propagation: str | None = None,
    ) -> None:
        resource = SCHEME.of(cls)
        obj = self.get(cls, name, namespace)
        for what, wanted, found in (
            ("UID", uid, obj.metadata.uid),
            ("ResourceVersion", resource_version, obj.metadata.resource_version),
        ):
            if wanted and wanted != found:
                cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                raise errors.conflict(resource.group_resource, name, cause)
        fate = prepare_delete(obj, resource, grace_period=grace_period, propagation=propagation, now=self.clock.now())
        key = _key(resource, obj.metadata.namespace, name)
        if fate is Fate.REMOVED:
            self._remove(key, obj)
        elif fate is Fate.TERMINATING:
            self._store(key, obj)

    def create_subresource(self, cls: type[Any], name: str, namespace: str, subresource: str, body: Any) -> Any:
        """Raises StatusError 404 for a subresource that no one plays here."""
        resource = SCHEME.of(cls)
        handler = SUBRESOURCES.get((resource.plural, subresource))
        if handler is None:
            raise errors.not_found(resource.group_resource, f"{name}/{subresource}")
        return handler(self, name, namespace, body)

    def put(self, obj: T) -> T:
        """Store an object as it is, status and all, over what is there: for the scenery of a test."""
        resource = SCHEME.of(type(obj))
        new: Any = codec.deepcopy(obj)
        key = _key(resource, new.metadata.namespace, new.metadata.name)
        if not new.metadata.uid:
            new.metadata.uid = self._uid()
        if new.metadata.creation_timestamp is None:
            status = getattr(new, "status", None)
            uid = new.metadata.uid
            prepare_create(new, resource, uid=uid, now=self.clock.now())
            if status is not None:
                new.status = status
        set_defaults(new)
        stored: T = self._store(key, new)
        return stored

    def _store(self, key: Key, obj: T) -> T:
        obj.metadata.resource_version = str(self._history.revision + 1)
        self._history.write(key, codec.encode(obj))
        return obj

    def _remove(self, key: Key, obj: T) -> T:
        obj.metadata.resource_version = str(self._history.revision + 1)
        self._history.write(key, None, codec.encode(obj))
        return obj

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))


def _key(resource: Resource, namespace: str, name: str) -> Key:
    return (resource.group_resource, namespace if resource.namespaced else "", name)
