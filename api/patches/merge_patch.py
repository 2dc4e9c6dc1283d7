"""JSON merge patch, RFC 7386: objects merge member by member, null removes, everything else replaces.

As upstream's library has it, nulls are also dropped from what a patch adds anew, even from lists.
"""

from typing import Any

from api.patches.documents import copied
from api.patches.errors import PatchError, bounded, kind


@bounded
def merge_patch(document: Any, patch: Any) -> Any:
    """The document with the patch merged in. Raises PatchError when the patch is no object."""
    if not isinstance(patch, dict):
        what = (
            ""
            if patch is None
            else f"json: cannot unmarshal {kind(patch)} into Go value of type map[string]interface {{}}"
        )
        raise PatchError(f"error decoding patch: {what}" if what else "Invalid JSON Patch", 400)
    return _merged(document, patch)


def _merged(current: Any, patch: Any) -> Any:
    if not isinstance(current, dict):
        return _without_nulls(patch)
    if not isinstance(patch, dict):
        return copied(patch)
    merged = dict(current)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif merged.get(key) is None:
            merged[key] = _without_nulls(value)
        else:
            merged[key] = _merged(merged[key], value)
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value
