"""What a change of size means in the middle of a roll-out: every replica set grows or shrinks by its share.

To give all to the newest would put the risk of an untried template on the users who asked for more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from controlplane.controllers.deployments.rolling import Sizes
from controlplane.controllers.deployments.sizes import Goal, Share, total


def is_resized(goal: Goal, shares: Sequence[Share]) -> bool:
    """Whether the deployment was resized since its shares were last sized."""
    return any(
        share.desired_before is not None and share.desired_before != goal.replicas for share in shares if share.size > 0
    )


def resize(goal: Goal, new: Share | None, old: Sequence[Share], *, rolling: bool) -> Sizes:
    """New sizes of the shares that a changed goal touches. Shares that keep their size are named too where the figures
    written on them must be renewed.
    """
    shares = [*old, *([new] if new is not None else ())]
    active = [share for share in shares if share.size > 0]
    if len(active) <= 1:
        only = active[0] if active else new or max(old, key=lambda share: share.age, default=None)
        return {only.uid: goal.replicas} if only is not None and _is_due(goal, only) else {}
    if new is not None and _is_saturated(goal, new):
        return {share.uid: 0 for share in old if share.size > 0}
    return proportional(goal, active) if rolling else {share.uid: share.size for share in active}


def _is_due(goal: Goal, share: Share) -> bool:
    return share.size != goal.replicas or (share.size > 0 and share.desired_before not in (None, goal.replicas))


def _is_saturated(goal: Goal, new: Share) -> bool:
    """The new share has taken over wholly."""
    return new.size == new.desired_before == new.available == goal.replicas


def proportional(goal: Goal, active: Sequence[Share]) -> Sizes:
    """Divide what is to be added or removed among shares by their size; what rounding leaves goes to the largest."""
    most = goal.most if goal.replicas > 0 else 0
    change = most - total(active)
    if change >= 0:
        # Of equals the newer grows first ...
        ordered = sorted(active, key=lambda share: share.age, reverse=True)
    else:
        # ... and the older shrinks first.
        ordered = sorted(active, key=lambda share: share.age)
    ordered.sort(key=lambda share: -share.size)
    sizes, given = {}, 0
    for share in ordered:
        part = _part(goal, share, change - given) if change else 0
        sizes[share.uid] = share.size + part
        given += part
    left = change - given
    for share in ordered:
        # More than a share has cannot be taken from it: the next one pays the rest.
        part = max(left, -sizes[share.uid])
        sizes[share.uid] += part
        left -= part
    return sizes


def _part(goal: Goal, share: Share, left: int) -> int:
    fraction = _fraction(goal, share)
    if left == 0:
        return 0
    return min(fraction, left) if left > 0 else max(fraction, left)


def _fraction(goal: Goal, share: Share) -> int:
    """By how much a share would change if it grew as the whole deployment does."""
    if goal.replicas == 0:
        return -share.size
    before = share.most_before or goal.reported
    if not before:
        return 0
    return _rounded(share.size * goal.most / before) - share.size


def _rounded(number: float) -> int:
    """To the nearest integer, halves up: none of the numbers here are negative."""
    return math.floor(number + 0.5)
