"""Which dead containers and sandboxes of a pod may go. Pure.

Of each container one dead attempt is kept, for `kubectl logs --previous` and the exit code; of the sandboxes the
newest, and any that still holds a container.
"""

from __future__ import annotations

from agent.pods.observed import ContainerState, ObservedPod
from agent.pods.plans import RemoveContainer

KEPT_PER_CONTAINER = 1


def garbage(runtime: ObservedPod) -> tuple[list[RemoveContainer], list[str]]:
    """Containers to remove, then ids of sandboxes to remove."""
    dead: dict[str, int] = {}
    removed = []
    kept_in = set()
    for one in runtime.containers:
        # A container that was created and never started is as dead as one that ended, once a newer one exists.
        newest = runtime.container(one.name)
        stale = one.state is ContainerState.CREATED and newest is not None and newest.id != one.id
        if one.state is ContainerState.EXITED or stale:
            dead[one.name] = dead.get(one.name, 0) + 1
            if dead[one.name] > KEPT_PER_CONTAINER:
                removed.append(RemoveContainer(one.id, one.name))
                continue
        kept_in.add(one.sandbox_id)
    sandboxes = [one.id for one in runtime.sandboxes[1:] if not one.ready and one.id not in kept_in]
    return removed, sandboxes
