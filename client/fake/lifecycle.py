"""What happens to an object on its way through the fake server, apart from being stored: the rules of creation,
update and deletion.

Pure functions over decoded objects; time and identity are handed in. They follow apiserver's registry
(rest/create.go, rest/update.go, rest/delete.go) where a client can tell.
"""

from __future__ import annotations

import enum
from typing import Any

from api import codec, errors
from api import meta_v1 as meta
from api.scheme import Resource
from api.times import Time

NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

# Nodes report their status in the same breath as they register.
_STATUS_KEPT_ON_CREATE = frozenset({"nodes", "customresourcedefinitions"})


class Fate(enum.Enum):
    """What a deletion comes to."""

    REMOVED = "removed"
    TERMINATING = "terminating"
    UNCHANGED = "unchanged"


def prepare_create(obj: Any, resource: Resource, *, uid: str, now: float) -> None:
    """Stamp a new object and reset what a client may not set."""
    data: meta.ObjectMeta = obj.metadata
    data.uid = uid
    data.creation_timestamp = Time.from_timestamp(now)
    data.resource_version = ""
    data.deletion_timestamp = None
    data.deletion_grace_period_seconds = None
    if _is_governed(obj):
        data.generation = 1
    if resource.subresource("status") is not None and resource.plural not in _STATUS_KEPT_ON_CREATE:
        obj.status = type(obj)().status
    if resource.plural == "pods":
        obj.status.phase = "Pending"
    elif resource.plural == "namespaces":
        obj.status.phase = "Active"
        obj.spec.finalizers = obj.spec.finalizers or ["kubernetes"]


def prepare_update(new: Any, old: Any, resource: Resource, subresource: str) -> None:
    """Take from the old object all that this kind of update does not govern."""
    data: meta.ObjectMeta = new.metadata
    was: meta.ObjectMeta = old.metadata
    if data.uid and data.uid != was.uid:
        cause = f"Precondition failed: UID in precondition: {data.uid}, UID in object meta: {was.uid}"
        raise errors.conflict(resource.group_resource, was.name, cause)
    if data.resource_version and data.resource_version != was.resource_version:
        raise errors.conflict(resource.group_resource, was.name)
    if subresource == "status":
        # Labels, owners and finalizers do not change by way of the status; annotations do, as deployments need.
        status, annotations = new.status, new.metadata.annotations
        kept = codec.deepcopy(old)
        new.metadata = kept.metadata
        new.metadata.annotations = annotations
        if _is_governed(new):
            new.spec = kept.spec
        new.status = status
        return
    if resource.subresource("status") is not None:
        new.status = codec.deepcopy(old).status
    data.uid = was.uid
    data.creation_timestamp = was.creation_timestamp
    data.deletion_timestamp = was.deletion_timestamp
    data.deletion_grace_period_seconds = was.deletion_grace_period_seconds
    data.generation = was.generation
    if resource.plural == "namespaces" and subresource != "finalize":
        new.spec = codec.deepcopy(old).spec
    if _is_governed(new) and codec.encode(new.spec) != codec.encode(old.spec):
        data.generation = was.generation + 1


def is_finished(obj: Any, resource: Resource) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    data: meta.ObjectMeta = obj.metadata
    if data.deletion_timestamp is None or data.finalizers:
        return False
    if resource.plural == "namespaces":
        return not obj.spec.finalizers
    return not data.deletion_grace_period_seconds


def prepare_delete(
    obj: Any, resource: Resource, *, grace_period: int | None, propagation: str | None, now: float
) -> Fate:
    """Decide what a deletion comes to, and mark the object for it."""
    data: meta.ObjectMeta = obj.metadata
    for name, wanted in ((ORPHAN, propagation == "Orphan"), (FOREGROUND, propagation == "Foreground")):
        if wanted and name not in data.finalizers:
            data.finalizers.append(name)
        elif propagation is not None and not wanted and name in data.finalizers:
            data.finalizers.remove(name)
    grace = _grace(obj, resource, grace_period)
    waits = bool(data.finalizers) or (resource.plural == "namespaces" and bool(obj.spec.finalizers))
    if grace == 0 and not waits:
        return Fate.REMOVED
    if data.deletion_timestamp is not None:
        # A second deletion can only shorten the grace period.
        left = data.deletion_grace_period_seconds or 0
        if grace >= left:
            return Fate.UNCHANGED
    elif data.generation:
        data.generation += 1
    data.deletion_grace_period_seconds = grace
    data.deletion_timestamp = Time.from_timestamp(now + grace)
    if resource.plural == "namespaces":
        obj.status.phase = "Terminating"
    return Fate.TERMINATING


def _grace(obj: Any, resource: Resource, asked: int | None) -> int:
    """Seconds a pod has to end itself. Only pods have any, and only while a node runs them."""
    if resource.plural != "pods":
        return 0
    if not obj.spec.node_name or obj.status.phase in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return max(asked, 0)
    default: int | None = obj.spec.termination_grace_period_seconds
    return 30 if default is None else default


def _is_governed(obj: Any) -> bool:
    """Whether the kind has a spec whose changes are counted by `generation`."""
    return hasattr(obj, "spec") and hasattr(obj, "status")
