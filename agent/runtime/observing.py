"""What the runtime says, read into the plain values that pods are decided by (`agent.pods.observed`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.pods.observed import (
    ContainerState,
    ObservedContainer,
    ObservedPod,
    ObservedSandbox,
    ObservedUser,
    observed_pod,
)
from agent.runtime.labels import (
    CONTAINER_NAME,
    HASH,
    POD_NAME,
    POD_NAMESPACE,
    POD_UID,
    TERMINATION_PATH,
    TERMINATION_POLICY,
    attempt_of,
    termination_grace,
)
from agent.runtime.termination import termination_message
from proto import cri_pb2 as cri

_STATES: dict[int, ContainerState] = {
    cri.CONTAINER_CREATED: ContainerState.CREATED,
    cri.CONTAINER_RUNNING: ContainerState.RUNNING,
    cri.CONTAINER_EXITED: ContainerState.EXITED,
    cri.CONTAINER_UNKNOWN: ContainerState.UNKNOWN,
}
_SECOND = 1e9


@dataclass(frozen=True, slots=True)
class LastWords:
    """Where a container's termination message is to be read."""

    file: str
    log: str
    from_log: bool


def is_ours(labels: Iterable[str]) -> bool:
    """Whether a sandbox or container belongs to a pod: others may use the runtime too."""
    return POD_UID in labels


def listed_container(one: cri.Container) -> ObservedContainer:
    """From a list entry: no exit code, no times but that of creation."""
    return ObservedContainer(
        id=one.id,
        name=one.labels.get(CONTAINER_NAME, "") or one.metadata.name,
        sandbox_id=one.pod_sandbox_id,
        state=_STATES.get(one.state, ContainerState.UNKNOWN),
        attempt=attempt_of(one.annotations, one.metadata.attempt),
        created_at=one.created_at / _SECOND,
        image=one.image.user_specified_image or one.image.image,
        image_ref=one.image_ref,
        hash=one.annotations.get(HASH, ""),
    )


def observed_container(listed: cri.Container, status: cri.ContainerStatus, message: str) -> ObservedContainer:
    """From a status; `message` is the termination message, which follows what the runtime has to say."""
    user = None
    if status.HasField("user") and status.user.HasField("linux"):
        linux = status.user.linux
        user = ObservedUser(linux.uid, linux.gid, tuple(linux.supplemental_groups))
    return ObservedContainer(
        id=status.id,
        name=status.labels.get(CONTAINER_NAME, "") or status.metadata.name,
        sandbox_id=listed.pod_sandbox_id,
        state=_STATES.get(status.state, ContainerState.UNKNOWN),
        attempt=attempt_of(status.annotations, status.metadata.attempt),
        created_at=status.created_at / _SECOND,
        started_at=status.started_at / _SECOND,
        finished_at=status.finished_at / _SECOND,
        exit_code=status.exit_code,
        reason=status.reason,
        message=": ".join(part for part in (status.message, message) if part),
        image=status.image.user_specified_image or status.image.image,
        image_ref=status.image_ref or listed.image_ref,
        hash=status.annotations.get(HASH, ""),
        user=user,
    )


def last_words(status: cri.ContainerStatus) -> LastWords | None:
    """Where to look for the message of a container that has ended; None while it has not."""
    if status.state != cri.CONTAINER_EXITED:
        return None
    path = status.annotations.get(TERMINATION_PATH, "")
    file = next((mount.host_path for mount in status.mounts if path and mount.container_path == path), "")
    fallback = status.annotations.get(TERMINATION_POLICY, "") == "FallbackToLogsOnError" and status.exit_code != 0
    return LastWords(file, status.log_path, fallback)


def read_last_words(words: LastWords) -> str:
    """Blocks on files of the container's making."""
    return termination_message(words.file, words.log, from_log=words.from_log)


def listed_sandbox(one: cri.PodSandbox) -> ObservedSandbox:
    """From a list entry: no addresses."""
    ready = one.state == cri.SANDBOX_READY
    return ObservedSandbox(one.id, ready, one.metadata.attempt, one.created_at / _SECOND)


def observed_sandbox(status: cri.PodSandboxStatus) -> ObservedSandbox:
    network = status.network
    ips = [network.ip, *(one.ip for one in network.additional_ips)]
    host_network = status.linux.namespaces.options.network == cri.NODE
    return ObservedSandbox(
        id=status.id,
        ready=status.state == cri.SANDBOX_READY,
        attempt=status.metadata.attempt,
        created_at=status.created_at / _SECOND,
        ips=tuple(ip for ip in ips if ip),
        host_network=host_network,
    )


def pods_of(sandboxes: Iterable[cri.PodSandbox], containers: Iterable[cri.Container]) -> dict[str, ObservedPod]:
    """All pods from two lists, by UID."""
    grouped: dict[str, tuple[list[cri.PodSandbox], list[cri.Container]]] = {}
    for sandbox in sandboxes:
        if is_ours(sandbox.labels):
            grouped.setdefault(sandbox.labels[POD_UID], ([], []))[0].append(sandbox)
    for container in containers:
        if is_ours(container.labels):
            grouped.setdefault(container.labels[POD_UID], ([], []))[1].append(container)
    return {
        uid: assemble(uid, parts[0], parts[1], map(listed_sandbox, parts[0]), map(listed_container, parts[1]))
        for uid, parts in grouped.items()
    }


def assemble(
    uid: str,
    sandboxes: list[cri.PodSandbox],
    containers: list[cri.Container],
    seen_sandboxes: Iterable[ObservedSandbox],
    seen_containers: Iterable[ObservedContainer],
) -> ObservedPod:
    """One pod of what was seen of it; name, namespace and grace are as the runtime's records note them."""
    labels = {**dict(containers[0].labels if containers else {}), **dict(sandboxes[0].labels if sandboxes else {})}
    graces = [grace for one in containers if (grace := termination_grace(one.annotations)) is not None]
    return observed_pod(
        uid,
        labels.get(POD_NAME, ""),
        labels.get(POD_NAMESPACE, ""),
        seen_sandboxes,
        seen_containers,
        max(graces, default=None),
    )
