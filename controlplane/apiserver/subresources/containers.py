"""Which container of a pod a log, exec or attach is about, and on which node it is."""

from __future__ import annotations

from api import core_v1 as core
from api import errors, pods


def choose_container(pod: core.Pod, asked: str) -> str:
    """The container asked for, or the only one; raises StatusError (BadRequest)."""
    if asked:
        if pods.find_container(pod.spec, asked) is None:
            raise errors.bad_request(f"container {asked} is not valid for pod {pod.metadata.name}")
        return asked
    containers = pod.spec.containers
    if len(containers) == 1:
        return containers[0].name
    message = f"a container name must be specified for pod {pod.metadata.name}"
    if containers:
        names = " ".join(container.name for container in pods.containers_of(pod.spec))
        message += f", choose one of: [{names}]"
    raise errors.bad_request(message)


def node_of(pod: core.Pod) -> str:
    """The node a pod is bound to; raises StatusError (BadRequest) when it is bound to none."""
    if not pod.spec.node_name:
        raise errors.bad_request(f"pod {pod.metadata.name} does not have a host assigned")
    return pod.spec.node_name
