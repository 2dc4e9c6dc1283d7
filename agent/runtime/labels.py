"""Labels and annotations on sandboxes and containers, under upstream's names.

They are the agent's memory in the runtime: after a restart whose container this is, which attempt, and how it wants to
be stopped is read back from here. `crictl` and log collectors read the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.pods.identity import container_hash
from api import codec
from api import core_v1 as core
from api.pods import AnyContainer

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

HASH = "io.kubernetes.container.hash"
RESTART_COUNT = "io.kubernetes.container.restartCount"
TERMINATION_PATH = "io.kubernetes.container.terminationMessagePath"
TERMINATION_POLICY = "io.kubernetes.container.terminationMessagePolicy"
PRE_STOP = "io.kubernetes.container.preStopHandler"
PORTS = "io.kubernetes.container.ports"
TYPE = "io.kubernetes.container.type"
POD_DELETION_GRACE = "io.kubernetes.pod.deletionGracePeriod"
POD_TERMINATION_GRACE = "io.kubernetes.pod.terminationGracePeriod"


def sandbox_labels(pod: core.Pod) -> dict[str, str]:
    """The pod's labels and its identity; identity wins."""
    return {**pod.metadata.labels, **_identity(pod)}


def container_labels(pod: core.Pod, container: AnyContainer) -> dict[str, str]:
    return {**_identity(pod), CONTAINER_NAME: container.name}


def container_annotations(pod: core.Pod, container: AnyContainer, attempt: int) -> dict[str, str]:
    annotations = {
        HASH: container_hash(container),
        RESTART_COUNT: str(attempt),
        TERMINATION_PATH: container.termination_message_path,
        TERMINATION_POLICY: container.termination_message_policy,
    }
    if pod.metadata.deletion_grace_period_seconds is not None:
        annotations[POD_DELETION_GRACE] = str(pod.metadata.deletion_grace_period_seconds)
    if pod.spec.termination_grace_period_seconds is not None:
        annotations[POD_TERMINATION_GRACE] = str(pod.spec.termination_grace_period_seconds)
    if container.lifecycle is not None and container.lifecycle.pre_stop is not None:
        annotations[PRE_STOP] = codec.encode(container.lifecycle.pre_stop).decode()
    if container.ports:
        annotations[PORTS] = codec.encode(container.ports).decode()
    kind = _type(pod, container.name)
    if kind:
        annotations[TYPE] = kind
    return annotations


def termination_grace(annotations: Mapping[str, str]) -> float | None:
    """Seconds a container's pod had to end in, as noted when the container was made."""
    for name in (POD_DELETION_GRACE, POD_TERMINATION_GRACE):
        text = annotations.get(name, "")
        if text.isascii() and text.isdigit():
            return float(text)
    return None


def attempt_of(annotations: Mapping[str, str], fallback: int) -> int:
    """The restart count noted on a container; `fallback` where something else made it."""
    text = annotations.get(RESTART_COUNT, "")
    return int(text) if text.isascii() and text.isdigit() else fallback


def _identity(pod: core.Pod) -> dict[str, str]:
    return {POD_NAME: pod.metadata.name, POD_NAMESPACE: pod.metadata.namespace, POD_UID: pod.metadata.uid}


def _type(pod: core.Pod, name: str) -> str:
    if any(one.name == name for one in pod.spec.init_containers):
        return "init"
    if any(one.name == name for one in pod.spec.containers):
        return "container"
    if any(one.name == name for one in pod.spec.ephemeral_containers):
        return "ephemeral"
    return ""
