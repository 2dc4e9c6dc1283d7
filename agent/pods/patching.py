"""The smallest patch that turns one pod status into another. Pure.

A strategic merge patch, so that conditions set by others meanwhile are left alone: of the conditions it names those
that changed, each by its type, while the lists that belong to the node alone are given whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.pods.conditions import OWNED
from api import core_v1 as core
from api.codec import to_builtins

_MERGED_BY = {"conditions": "type", "podIPs": "ip", "resourceClaimStatuses": "name"}
_FOREIGN = frozenset({"resourceClaimStatuses", "extendedResourceClaimStatus", "nominatedNodeName", "resize"})


def status_patch(uid: str, old: core.PodStatus, new: core.PodStatus) -> dict[str, Any] | None:
    """The patch for pods/status, bound to the pod's UID; None when there is nothing to say."""
    before, after = to_builtins(old), to_builtins(new)
    changes: dict[str, Any] = {}
    for key in sorted({*before, *after} - _FOREIGN):
        if before.get(key) == after.get(key):
            continue
        merge_key = _MERGED_BY.get(key)
        if merge_key is None:
            changes[key] = after.get(key)
        else:
            part = _list_patch(merge_key, before.get(key) or [], after.get(key) or [])
            if part:
                changes[key] = part
    if not changes:
        return None
    return {"metadata": {"uid": uid}, "status": changes}


def differs(known: core.PodStatus, wanted: core.PodStatus) -> bool:
    """Whether the API's status is not what the node has to say; what others own of it aside."""
    return status_patch("", known, wanted) is not None


def _list_patch(merge_key: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[dict[str, Any]]:
    old = {one[merge_key]: one for one in before}
    new = {one[merge_key]: one for one in after}
    part: list[dict[str, Any]] = [
        _item_patch(merge_key, old.get(key), one) for key, one in new.items() if old.get(key) != one
    ]
    for key in old:
        if key in new or (merge_key == "type" and key not in OWNED):
            continue
        part.append({"$patch": "delete", merge_key: key})
    return part


def _item_patch(merge_key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
    if old is None:
        return dict(new)
    changed: dict[str, Any] = {merge_key: new[merge_key]}
    for key in {*old, *new}:
        if old.get(key) != new.get(key):
            changed[key] = new.get(key)
    return changed
