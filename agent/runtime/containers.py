"""A container as the runtime is told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from agent.resources.containers import container_resources
from agent.runtime.environment import Environment
from agent.runtime.errors import ConfigError
from agent.runtime.expansion import expand
from agent.runtime.facts import NodeFacts, Places, log_path, pod_hosts_file, termination_file
from agent.runtime.labels import container_annotations, container_labels
from agent.runtime.mounts import HostVolume, SubPathBind, own_mounts, volume_mounts
from agent.runtime.security import ImageUser, check_non_root, container_security
from api import core_v1 as core
from api.pods import AnyContainer
from proto import cri_pb2 as cri


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What a container's configuration is made from beside its definition and the node."""

    environment: Environment
    image_ref: str
    """The runtime's reference to the image that is here."""
    image_user: ImageUser = field(default_factory=ImageUser)
    volumes: Mapping[str, HostVolume] = field(default_factory=dict)
    with_hosts_file: bool = True
    extra_groups: Sequence[int] = ()
    """Supplemental groups that volumes ask for."""
    target_container_id: str = ""
    handler: str = ""
    devices: Sequence[cri.Device] = ()
    cdi_devices: Sequence[cri.CDIDevice] = ()


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """The configuration, and what has to be made on the host before it is used."""

    config: cri.ContainerConfig
    binds: Sequence[SubPathBind]


def build_container_config(
    pod: core.Pod,
    container: AnyContainer,
    attempt: int,
    *,
    node: NodeFacts,
    places: Places,
    facts: ContainerFacts,
) -> ContainerPlan:
    """`attempt` is the restart count: it names the log and makes the container unique in its sandbox.

    Raises ConfigError.
    """
    check_non_root(pod, container, facts.image_user)
    variables = facts.environment.variables
    mounts = volume_mounts(pod, container, facts.volumes, variables, node, places)
    uid = pod.metadata.uid
    hosts = pod_hosts_file(places, uid) if facts.with_hosts_file else None
    last_words = termination_file(places, uid, container.name, attempt)
    config = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=container.name, attempt=attempt),
        image=cri.ImageSpec(image=facts.image_ref, user_specified_image=container.image),
        command=[expand(part, variables) for part in container.command],
        args=[expand(part, variables) for part in container.args],
        working_dir=container.working_dir,
        envs=[
            cri.KeyValue(key=name, value=value.encode("utf-8", "surrogateescape")) for name, value in variables.items()
        ],
        mounts=[*mounts.mounts, *own_mounts(container, hosts, last_words)],
        devices=facts.devices,
        CDI_devices=facts.cdi_devices,
        labels=container_labels(pod, container),
        annotations=container_annotations(pod, container, attempt),
        log_path=log_path(container.name, attempt),
        stdin=container.stdin,
        stdin_once=container.stdin_once,
        tty=container.tty,
        stop_signal=_stop_signal(container),
    )
    config.linux.resources.CopyFrom(container_resources(pod, container, node.kernel))
    config.linux.security_context.CopyFrom(
        container_security(
            pod,
            container,
            node,
            seccomp_root=places.seccomp,
            image_user=facts.image_user,
            extra_groups=facts.extra_groups,
            target_container_id=facts.target_container_id,
            handler=facts.handler,
        )
    )
    return ContainerPlan(config, mounts.binds)


def _stop_signal(container: AnyContainer) -> cri.Signal:
    wanted = container.lifecycle.stop_signal if container.lifecycle is not None else None
    if not wanted:
        return cri.RUNTIME_DEFAULT
    name = wanted.replace("SIGRTMIN+", "SIGRTMINPLUS").replace("SIGRTMAX-", "SIGRTMAXMINUS")
    try:
        return cast("cri.Signal", cri.Signal.Value(name))
    except ValueError as error:
        raise ConfigError(f'unknown stop signal "{wanted}"') from error
