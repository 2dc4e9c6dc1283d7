"""The metadata every object has: what clients may set of it, and what they may not.

Pure functions over ObjectMeta, shared by the verbs that write.
"""

from __future__ import annotations

from collections.abc import Callable

from api import errors
from api import meta_v1 as meta


def wipe_system_fields(metadata: meta.ObjectMeta) -> None:
    """Drop what only the server may say of a new object."""
    metadata.uid = ""
    metadata.creation_timestamp = None
    metadata.deletion_timestamp = None
    metadata.deletion_grace_period_seconds = None
    metadata.self_link = ""


def check_namespace(metadata: meta.ObjectMeta, namespace: str) -> None:
    """Fit the object's namespace to that of the URL ("" for cluster-scoped kinds); raises StatusError (BadRequest)."""
    if metadata.namespace == namespace:
        return
    if not metadata.namespace or not namespace:
        # Objects may leave their namespace out; cluster-scoped ones lose what they say.
        metadata.namespace = namespace
        return
    raise errors.bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_name(metadata: meta.ObjectMeta, name: str, namespace: str) -> None:
    """See that an update is for the object the URL names; raises StatusError (BadRequest)."""
    if metadata.name != name:
        raise errors.bad_request(
            f"the name of the object ({metadata.name}) does not match the name on the URL ({name})"
            if metadata.name
            else f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if namespace and metadata.namespace and metadata.namespace != namespace:
        raise errors.bad_request(
            f"the namespace of the object ({metadata.namespace}) does not match "
            f"the namespace on the request ({namespace})"
        )


def keep_system_fields(new: meta.ObjectMeta, old: meta.ObjectMeta) -> None:
    """Carry over to an update what clients cannot change, or may leave out."""
    if not new.uid:
        new.uid = old.uid
    if old.creation_timestamp is not None:
        new.creation_timestamp = old.creation_timestamp
    if old.deletion_timestamp is not None:
        new.deletion_timestamp = old.deletion_timestamp
    if old.deletion_grace_period_seconds is not None and new.deletion_grace_period_seconds is None:
        new.deletion_grace_period_seconds = old.deletion_grace_period_seconds
    new.self_link = ""


def deduplicate_owners(metadata: meta.ObjectMeta, warn: Callable[[str], None]) -> None:
    """Drop owner references that are there twice, with a warning."""
    references = metadata.owner_references
    if len(references) < 2 or len({reference.uid for reference in references}) == len(references):
        return
    kept: list[meta.OwnerReference] = []
    dropped = []
    for reference in references:
        if reference in kept:
            dropped.append(reference.uid)
        else:
            kept.append(reference)
    if dropped:
        warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and "
            "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            + ", ".join(dropped)
        )
        metadata.owner_references = kept
