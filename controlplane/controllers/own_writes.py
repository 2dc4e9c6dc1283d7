"""What a controller has written and its informer does not show yet.

An informer lags behind. A controller that created a pod and looks at its copy a moment later sees one too few, and
would create another. So it lays its own writes over what the informer shows, until the informer has caught up with
them: revisions are comparable as numbers, hence it is known when it has. A deletion has been seen once the object is
gone or marked.

Nothing here decides; a controller that forgets all this by a restart only acts on an older view, as level-triggered
code must be able to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from api import codec
from api import meta_v1 as meta
from api.errors import StatusError, is_not_found
from api.times import Time
from client.clock import Clock
from client.informer import Informer
from client.interface import Client

T = TypeVar("T", bound=meta.Object)

DOUBTFUL_AFTER = 10.0  # seconds after which an unseen write is looked up on the server
_GONE_REMEMBERED = 1000


@dataclass(slots=True)
class _Write(Generic[T]):
    """A created or changed object as the server returned it, or the last known state of one that was deleted."""

    obj: T
    deleted: bool
    since: float


class OwnWrites(Generic[T]):
    """The unseen writes of one controller to one kind, filed by the owner they were made for ("" for no one)."""

    def __init__(self, informer: Informer[T], clock: Clock) -> None:
        self._informer = informer
        self._clock = clock
        self._by_owner: dict[str, dict[str, _Write[T]]] = {}
        self._owner_of: dict[str, str] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()
        informer.add_handler(self._seen, lambda _, new: self._seen(new), self._seen_gone)

    def written(self, obj: T, owner: str = "") -> None:
        """The server returned this for a create, update or patch."""
        shown = self._informer.get(obj.metadata.namespace, obj.metadata.name)
        if obj.metadata.uid in self._gone or (shown is not None and _shows(shown, obj)):
            return
        self._put(obj, owner, deleted=False)

    def deleted(self, obj: T, owner: str = "") -> None:
        """The server accepted the deletion of this."""
        shown = self._informer.get(obj.metadata.namespace, obj.metadata.name)
        if shown is None or shown.metadata.uid != obj.metadata.uid or shown.metadata.deletion_timestamp is not None:
            return
        marked = codec.deepcopy(obj)
        marked.metadata.deletion_timestamp = Time.from_timestamp(self._clock.now())
        self._put(marked, owner, deleted=True)

    def over(self, seen: Iterable[T], owner: str = "") -> list[T]:
        """What the informer shows of an owner's objects, as it will be once our writes have arrived. What we deleted is
        marked as being deleted, though it may be gone already.
        """
        unseen = self._by_owner.get(owner)
        if not unseen:
            return list(seen)
        objects = {obj.metadata.uid: obj for obj in seen}
        objects.update((uid, write.obj) for uid, write in unseen.items())
        return list(objects.values())

    def newest(self, shown: T) -> T:
        """The newer one of what the informer shows of an object and what we wrote of it."""
        owner = self._owner_of.get(shown.metadata.uid)
        write = self._by_owner[owner].get(shown.metadata.uid) if owner is not None else None
        return shown if write is None else write.obj

    def waiting(self, owner: str = "") -> bool:
        """Whether an owner's writes are not all seen yet."""
        return bool(self._by_owner.get(owner))

    async def verify(self, client: Client, owner: str = "") -> None:
        """Look up on the server what should have been seen long ago, and drop what was overtaken unseen.

        An object that was created and removed again while the watch was down never appears at all.
        """
        now = self._clock.monotonic()
        for uid, write in list(self._by_owner.get(owner, {}).items()):
            if now - write.since < DOUBTFUL_AFTER:
                continue
            write.since = now
            try:
                live = await client.get(type(write.obj), write.obj.metadata.name, write.obj.metadata.namespace)
            except StatusError as error:
                if not is_not_found(error):
                    raise
                self._drop(uid)
                continue
            if live.metadata.uid != uid or (write.deleted and live.metadata.deletion_timestamp is None):
                self._drop(uid)

    def forget(self, owner: str) -> None:
        """The owner is gone."""
        for uid in list(self._by_owner.get(owner, ())):
            self._drop(uid)

    def _put(self, obj: T, owner: str, *, deleted: bool) -> None:
        uid = obj.metadata.uid
        self._drop(uid)
        self._by_owner.setdefault(owner, {})[uid] = _Write(obj, deleted, self._clock.monotonic())
        self._owner_of[uid] = owner

    def _drop(self, uid: str) -> None:
        owner = self._owner_of.pop(uid, None)
        if owner is None:
            return
        writes = self._by_owner[owner]
        del writes[uid]
        if not writes:
            del self._by_owner[owner]

    def _seen(self, obj: T) -> None:
        owner = self._owner_of.get(obj.metadata.uid)
        if owner is None:
            return
        write = self._by_owner[owner][obj.metadata.uid]
        if (obj.metadata.deletion_timestamp is not None) if write.deleted else _shows(obj, write.obj):
            self._drop(obj.metadata.uid)

    def _seen_gone(self, obj: T) -> None:
        self._drop(obj.metadata.uid)
        self._gone[obj.metadata.uid] = None
        if len(self._gone) > _GONE_REMEMBERED:
            self._gone.popitem(last=False)


def _shows(shown: meta.Object, written: meta.Object) -> bool:
    """Whether what is shown is the written state or a later one."""
    if shown.metadata.uid != written.metadata.uid:
        # Whoever follows under the name came later.
        return True
    return int(shown.metadata.resource_version) >= int(written.metadata.resource_version)
