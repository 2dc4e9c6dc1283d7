"""Who belongs to whom: the objects a controller owns, those it may adopt and those it must let go.

A selector says which objects a controller wants, a controller reference which it has. An object has at most one
controller; no one takes another's, whatever the selectors say. Names are reused, so owners are told apart by UID.
Rules: "Controllers and OwnerReferences" (ControllerRef) of the Kubernetes design documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from api import codec
from api import meta_v1 as meta
from api.errors import Reason, StatusError, is_not_found
from api.owners import controller_of, new_controller_ref
from api.selectors import LabelSelector
from client.informer import Informer
from client.interface import Client
from controlplane.controllers.own_writes import OwnWrites

T = TypeVar("T", bound=meta.Object)

_INDEX = "controller"
_NOBODY = "nobody's in "


class Owned(Generic[T]):
    """An informer's objects by their controller. One per informer, shared by all who need it."""

    def __init__(self, informer: Informer[T]) -> None:
        self.informer = informer
        informer.add_index(_INDEX, _controllers)

    def by(self, uid: str) -> list[T]:
        """What the owner with a UID controls."""
        return self.informer.by_index(_INDEX, uid)

    def candidates(self, owner: meta.Object) -> list[T]:
        """What an owner controls, and what nobody controls in its namespace."""
        return [*self.by(owner.metadata.uid), *self.informer.by_index(_INDEX, _NOBODY + owner.metadata.namespace)]


def _controllers(obj: meta.Object) -> Iterator[str]:
    reference = controller_of(obj)
    yield reference.uid if reference is not None else _NOBODY + obj.metadata.namespace


@dataclass(frozen=True, slots=True)
class Claims(Generic[T]):
    """What to do about a set of candidates: those owned and wanted, to be adopted, to be released."""

    owned: tuple[T, ...]
    adopt: tuple[T, ...]
    release: tuple[T, ...]


def plan_claims(owner: meta.Object, selector: LabelSelector, candidates: Iterable[T]) -> Claims[T]:
    """Sort candidates by what the owner's selector wants of them; one that is being deleted takes and gives none."""
    owned, adopt, release = [], [], []
    going = owner.metadata.deletion_timestamp is not None
    for obj in candidates:
        reference = controller_of(obj)
        wanted = selector.matches(obj.metadata.labels)
        if reference is None:
            if wanted and not going and obj.metadata.deletion_timestamp is None:
                adopt.append(obj)
        elif reference.uid != owner.metadata.uid:
            continue
        elif wanted:
            owned.append(obj)
        elif not going:
            release.append(obj)
    return Claims(tuple(owned), tuple(adopt), tuple(release))


async def claim(
    client: Client, owner: meta.Object, selector: LabelSelector, candidates: Iterable[T], writes: OwnWrites[T]
) -> list[T]:
    """Adopt and release as planned; returns what the owner has then."""
    claims = plan_claims(owner, selector, candidates)
    mine = list(claims.owned)
    if claims.adopt and await _still_there(client, owner):
        for obj in claims.adopt:
            adopted = await _adopt(client, owner, obj)
            if adopted is not None:
                writes.written(adopted, owner.metadata.uid)
                mine.append(adopted)
    for obj in claims.release:
        released = await _release(client, owner, obj)
        if released is not None:
            writes.written(released, owner.metadata.uid)
    return mine


async def _still_there(client: Client, owner: meta.Object) -> bool:
    """Ask the server itself: an owner that is gone must not take what its successor, or the user, is to have."""
    try:
        live = await client.get(type(owner), owner.metadata.name, owner.metadata.namespace)
    except StatusError as error:
        if is_not_found(error):
            return False
        raise
    return live.metadata.uid == owner.metadata.uid and live.metadata.deletion_timestamp is None


async def _adopt(client: Client, owner: meta.Object, obj: T) -> T | None:
    reference = codec.to_builtins(new_controller_ref(owner))
    return await _patch_owners(client, obj, reference)


async def _release(client: Client, owner: meta.Object, obj: T) -> T | None:
    return await _patch_owners(client, obj, {"$patch": "delete", "uid": owner.metadata.uid})


async def _patch_owners(client: Client, obj: T, reference: Any) -> T | None:
    """None when there is nothing left to claim: the object is gone, or the server finds the owners to be no valid set
    (it has another controller by now).
    """
    # The UID makes the server refuse when another object has taken the name.
    change = {"metadata": {"uid": obj.metadata.uid, "ownerReferences": [reference]}}
    try:
        return await client.patch(type(obj), obj.metadata.name, change, obj.metadata.namespace)
    except StatusError as error:
        if error.reason in (Reason.NOT_FOUND, Reason.INVALID):
            return None
        raise
