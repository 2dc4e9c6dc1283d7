"""What happens to any object on its way into the store, beyond what the client asked for.

Clients write the spec, the parts that observe write the status: each endpoint takes over only its half. Generations are
counted here. Kinds that need more derive from :class:`Strategy`; everything in this package works on decoded objects
and knows neither HTTP nor the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api import fields
from api import meta_v1 as meta
from api.errors import GroupName
from api.scheme import Resource
from api.warnings import create_warnings, update_warnings
from controlplane.apiserver.registry.facts import Facts
from controlplane.apiserver.registry.reservation import Release
from controlplane.apiserver.request import User

_TOP = frozenset({"api_version", "kind", "metadata", "status"})


@dataclass(slots=True)
class Write:
    """The circumstances of one write, as far as strategies may look at them."""

    user: User
    #: Wall-clock seconds, for stamps.
    now: float
    dry_run: bool
    #: Adds a Warning header to the reply.
    warn: Callable[[str], None]


class Strategy:
    """The common rule."""

    #: Whether deletion may be graceful: the object stays for a while, marked with a deletionTimestamp.
    graceful = False

    def __init__(self, resource: Resource, facts: Facts) -> None:
        self.resource = resource
        self.facts = facts
        self.group_resource = GroupName(resource.group, resource.plural)
        self.group_kind = GroupName(resource.group, resource.kind)
        self._declared = resource.type
        members = self._declared.__struct_fields__
        self.has_status = "status" in members and resource.subresource("status") is not None
        self._content = tuple(name for name in members if name not in _TOP)

    # Creation.

    def prepare_create(self, obj: Any, write: Write) -> None:
        """Change a new object into what is to be stored, before it is validated."""
        if self.has_status and not self.facts.keeps_status:
            blank: Any = self._declared()
            obj.status = blank.status
        if self.facts.counts_generations:
            obj.metadata.generation = 1

    def warn_create(self, obj: Any, write: Write) -> None:
        """Warn of what is valid and yet unwise; asked only once the object has been found valid."""
        for text in create_warnings(obj):
            write.warn(text)

    def reserve_create(self, obj: Any, write: Write) -> Release | None:
        """Take what the object needs from a common stock (addresses, ports); raises StatusError when there is none."""
        return None

    # Update of the object itself.

    def prepare_update(self, new: Any, old: Any, write: Write) -> None:
        """Change an updated object into what is to be stored; `old` must stay as it is."""
        if self.has_status:
            new.status = old.status
        self.count_generation(new, old)

    def reserve_update(self, new: Any, old: Any, write: Write) -> Release | None:
        """As `reserve_create`, for what an update needs anew."""
        return None

    def warn_update(self, new: Any, old: Any, write: Write) -> None:
        """As `warn_create`, of what an update changed."""
        for text in update_warnings(new, old):
            write.warn(text)

    # Update through /status.

    def prepare_status_update(self, new: Any, old: Any, write: Write) -> None:
        """Keep only the status of `new` (and what of metadata status writers may touch)."""
        for name in self._content:
            setattr(new, name, getattr(old, name))
        for name in self.facts.out_of_status:
            setattr(new.metadata, name, getattr(old.metadata, name))

    # Deletion.

    def grace_period(self, obj: Any, requested: int | None) -> int:
        """Seconds an object is given to end; asked only where deletion is `graceful`."""
        return requested or 0

    def deletes_during_update(self, new: Any, old: Any) -> bool:
        """Whether an update that removed the last finalizer of a deleted object ends it now."""
        return True

    # Anything.

    def extra_validation(self, new: Any, old: Any | None) -> fields.FieldErrors:
        """Rules that need more than the object itself and so cannot live in :mod:`api.validation`."""
        return []

    def count_generation(self, new: Any, old: Any) -> None:
        """Make a new generation when one of the parts that count has changed."""
        for path in self.facts.generation:
            if _member(new, path) != _member(old, path):
                new.metadata.generation = old.metadata.generation + 1
                return


def reset_metadata_for_status(new: meta.ObjectMeta, old: meta.ObjectMeta) -> None:
    """Undo changes to metadata that a subresource must not make (upstream's ResetObjectMetaForStatus)."""
    new.deletion_timestamp = old.deletion_timestamp
    new.generation = old.generation
    new.labels = old.labels
    new.annotations = old.annotations
    new.finalizers = old.finalizers
    new.owner_references = old.owner_references
    new.managed_fields = old.managed_fields


def _member(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj
