"""In which order the items of a merged list stand.

Items the patch names stand as the patch (or its ``$setElementOrder``) has them; the others keep the order they had, and
are put before the first named item that followed them in the live list.
"""

from collections.abc import Hashable
from typing import Any

from api.patches.errors import PatchError, go_type, shown


def identity(item: Any, merge_key: str) -> Hashable:
    """What makes two items the same one: the value of the merge key, or of a scalar itself; never 1 and true alike.

    Raises PatchError for an item without the merge key.
    """
    if merge_key:
        if not isinstance(item, dict):
            raise PatchError(f"expected a {go_type({})}, but received a {go_type(item)}", 500)
        if merge_key not in item:
            raise PatchError(f"map: {shown(item)} does not contain declared merge key: {merge_key}", 500)
        item = item[merge_key]
    return type(item), shown(item) if isinstance(item, (dict, list)) else item


def positions(items: list[Any], merge_key: str) -> dict[Hashable, int]:
    """Where each item first stands."""
    found: dict[Hashable, int] = {}
    for position, item in enumerate(items):
        found.setdefault(identity(item, merge_key), position)
    return found


def partitioned(items: list[Any], named: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """(items that ``named`` names too, the others), each in the order of ``items``."""
    names = positions(named, merge_key)
    inside: list[Any] = []
    outside: list[Any] = []
    for item in items:
        (inside if identity(item, merge_key) in names else outside).append(item)
    return inside, outside


def ordered(named: list[Any], others: list[Any], order: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """One list of both: ``named`` sorted by ``order``, ``others`` by ``live``, and interleaved as ``live`` had them."""
    wanted, had = positions(order, merge_key), positions(live, merge_key)
    named = sorted(named, key=lambda item: wanted.get(identity(item, merge_key), -1))
    others = sorted(others, key=lambda item: had.get(identity(item, merge_key), -1))
    result = []
    rest = iter(others)
    other = next(rest, None)
    for item in named:
        after = had.get(identity(item, merge_key), -1)
        while other is not None and 0 <= had.get(identity(other, merge_key), -1) < after:
            result.append(other)
            other = next(rest, None)
        result.append(item)
    return [*result, *([] if other is None else [other]), *rest]
