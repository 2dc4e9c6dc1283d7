"""How far the emptying of a namespace has got, as conditions in its status (KEP-1164's set, in upstream's words)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from api import codec
from api import core_v1 as core
from api.pods import get_condition
from api.times import Time

_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentRemoved", "All content successfully removed"),
}


@dataclass(slots=True)
class Leftovers:
    """What is still in a namespace after a round of deletion.

    `resources` counts objects by (plural, group), `finalizers` those that wait for each finalizer, `failures` are the
    errors met on the way; `seconds` estimates when it is worth looking again.
    """

    resources: Counter[tuple[str, str]] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[Exception] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def empty(self) -> bool:
        return not self.resources and not self.failures


def conditions_of(
    present: Iterable[core.NamespaceCondition], left: Leftovers, now: float
) -> list[core.NamespaceCondition]:
    """The conditions after a round (`now` is wall time in seconds); those of other types stay as they are."""
    conditions = [codec.deepcopy(condition) for condition in present]
    ill = _ill(left)
    for type_, well in _WELL.items():
        status, (reason, message) = ("True", ill[type_]) if type_ in ill else ("False", well)
        condition = get_condition(conditions, type_)
        if condition is None:
            since = Time.from_timestamp(now)
            conditions.append(core.NamespaceCondition(type_, status, since, reason, message))
            continue
        if condition.status != status:
            condition.last_transition_time = Time.from_timestamp(now)
        condition.status, condition.reason, condition.message = status, reason, message
    return conditions


def _ill(left: Leftovers) -> Mapping[str, tuple[str, str]]:
    """Reason and message of the conditions that are true."""
    ill = {}
    if left.failures:
        texts = sorted(str(failure) for failure in left.failures)
        message = f"Failed to delete all resource types, {len(texts)} remaining: {', '.join(texts)}"
        ill["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
    if left.resources:
        kinds = sorted(
            f"{plural}.{group} has {count} resource instances" for (plural, group), count in left.resources.items()
        )
        ill["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(kinds)}")
    if left.finalizers:
        waiting = sorted(f"{name} in {count} resource instances" for name, count in left.finalizers.items())
        message = f"Some finalizers are remaining: {', '.join(waiting)}"
        ill["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return ill
