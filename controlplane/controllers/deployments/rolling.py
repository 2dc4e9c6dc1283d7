"""How far a roll-out may go now: new pods within the surge, old ones out as new ones become available.

Pure functions from shares to the sizes that change. One step at a time: nothing is taken away in the step that adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controlplane.controllers.deployments.sizes import Goal, Share, total

Sizes = dict[str, int]  # by UID; only what changes


def roll(goal: Goal, new: Share, old: Sequence[Share]) -> Sizes:
    """The next step of a rolling update; empty when there is nothing to do but wait, or nothing at all."""
    size = grown(goal, new, old)
    if size != new.size:
        return {new.uid: size}
    return shrunk(goal, new, old)


def grown(goal: Goal, new: Share, old: Sequence[Share]) -> int:
    """The size the new share may have now; cut back at once when it is larger than the deployment."""
    if new.size >= goal.replicas:
        return goal.replicas
    room = goal.most - total(old) - new.size
    return new.size + max(0, min(room, goal.replicas - new.size))


def shrunk(goal: Goal, new: Share, old: Sequence[Share]) -> Sizes:
    """Old shares made smaller: first by pods that do not serve anyway, then by ones that can be spared."""
    old = sorted((share for share in old if share.size > 0), key=lambda share: share.age)
    # New pods that are not available yet may be about to need the room that surge gave them.
    spare = total(old) + new.size - goal.fewest - max(0, new.size - new.available)
    if not old or spare <= 0:
        return {}
    sizes: Sizes = {}
    kept = []
    for share in old:
        idle = max(0, share.size - share.available)
        cut = min(idle, spare)
        spare -= cut
        kept.append(replace(share, size=share.size - cut))
        if cut:
            sizes[share.uid] = share.size - cut
    spare = sum(share.available for share in kept) + new.available - goal.fewest
    for share in kept:
        cut = min(share.size, max(spare, 0))
        spare -= cut
        if cut:
            sizes[share.uid] = share.size - cut
    return sizes


def recreate(goal: Goal, new: Share | None, old: Sequence[Share], old_pods_run: bool) -> Sizes:
    """All old pods out, and only once the last has stopped the new ones in."""
    down = {share.uid: 0 for share in old if share.size > 0}
    if down or old_pods_run or new is None or new.size == goal.replicas:
        return down
    return {new.uid: goal.replicas}
