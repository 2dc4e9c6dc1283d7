"""Which container a request means, by what the pod's status says of it; refusals are in upstream's words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from agent.server.http import Problem
from api import core_v1 as core
from api.pods import container_statuses, find_status


def bare_id(container_id: str) -> str:
    """The runtime's own id in a `containerd://…` of the API."""
    return container_id.partition("://")[2]


def running_container(pod: core.Pod, name: str) -> str:
    """The runtime's id of a container that runs, "" when it does not."""
    status = find_status(container_statuses(pod.status), name)
    if status is None or status.state is None or status.state.running is None:
        return ""
    return bare_id(status.container_id)


_WAITING: Mapping[str, str] = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def logged_container(pod: core.Pod, name: str, *, previous: bool) -> str:
    """The id (`containerd://…`) of the container whose log is asked for. Raises Problem, in upstream's words."""
    where = f'container "{name}" in pod "{pod.metadata.name}"'
    status = find_status(container_statuses(pod.status), name)
    if status is None:
        raise Problem(400, f"{where} is not available")
    state = status.state or core.ContainerState()
    ended = status.last_state.terminated if status.last_state is not None else None
    before = ended.container_id if ended is not None else ""
    if previous:
        if not before:
            raise Problem(400, f"previous terminated {where} not found")
        return before
    if state.running is not None:
        return status.container_id
    if state.terminated is not None or ended is not None:
        found = (state.terminated.container_id if state.terminated is not None else "") or before
        if not found:
            raise Problem(400, f"{where} is terminated")
        return found
    if state.waiting is not None:
        reason = _WAITING.get(state.waiting.reason, state.waiting.reason)
        raise Problem(400, f"{where} is waiting to start: {reason}")
    raise Problem(400, f"{where} is waiting to start - no logs yet")
