"""What is to become of one object, given what is known of its owners: a pure decision.

Rules: "Garbage Collection" in the Kubernetes documentation, and upstream's `attemptToDeleteItem`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from api import meta_v1 as meta
from controlplane.controllers.garbage.graph import FOREGROUND, ORPHAN


class Standing(enum.Enum):
    """How an owner stands."""

    SOLID = "exists and stays"
    ABSENT = "does not exist, or no longer"
    WAITING = "is being deleted in the foreground and waits for its dependents"
    UNKNOWN = "cannot be told: nobody here knows the kind, or no object of it can be meant"


@dataclass(frozen=True, slots=True)
class Detach:
    """Take the references to these owners away; others keep the object."""

    uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object, passing the deletion on to its own dependents as `propagation` says. With `unblock`, its
    references must first cease to hold up its owners: they go round in a circle.
    """

    propagation: str
    unblock: bool = False


def decide(
    latest: meta.ObjectMeta, standings: Sequence[Standing], *, has_dependents: bool, in_circle: bool
) -> Detach | Delete | None:
    """`standings` are those of the object's owners, in the order of its references; `has_dependents` and `in_circle`
    (one of them is being deleted in the foreground itself) are of the object's own dependents. None: leave it alone.
    """
    owners = latest.owner_references
    if not owners or Standing.UNKNOWN in standings:
        return None
    lost = tuple(
        reference.uid
        for reference, standing in zip(owners, standings, strict=True)
        if standing in (Standing.ABSENT, Standing.WAITING)
    )
    if Standing.SOLID in standings:
        return Detach(lost) if lost else None
    if Standing.WAITING in standings and has_dependents:
        # The owner waits for the object, so the object waits for its own dependents likewise.
        return Delete("Foreground", unblock=in_circle)
    if ORPHAN in latest.finalizers:
        # Whoever put the finalizer on meant the dependents to survive.
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in latest.finalizers else "Background")
