"""Security contexts: what a pod's and its container's settings together come to, in the runtime's terms.

A container's setting beats the pod's. What neither sets is left to the runtime, except that seccomp is then off
(upstream's default without `seccompDefault`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.pods.identity import describe
from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts
from agent.runtime.namespaces import namespace_options
from api import core_v1 as core
from api.pods import AnyContainer, containers_of
from proto import cri_pb2 as cri

MASKED_PATHS = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
READ_ONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

_APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class ImageUser:
    """Whom the image says to run as: a number or a name; neither is root."""

    uid: int | None = None
    username: str = ""


def container_security(
    pod: core.Pod,
    container: AnyContainer,
    facts: NodeFacts,
    *,
    seccomp_root: Path,
    image_user: ImageUser,
    extra_groups: Sequence[int] = (),
    target_container_id: str = "",
    handler: str = "",
) -> cri.LinuxContainerSecurityContext:
    """Raises ConfigError when the pod asks for what cannot be had."""
    own = container.security_context or core.SecurityContext()
    shared = pod.spec.security_context or core.PodSecurityContext()
    context = cri.LinuxContainerSecurityContext(
        privileged=bool(own.privileged),
        readonly_rootfs=bool(own.read_only_root_filesystem),
        no_new_privs=own.allow_privilege_escalation is False,
        namespace_options=namespace_options(pod, facts, handler),
        supplemental_groups=_groups(shared, extra_groups),
        supplemental_groups_policy=_groups_policy(shared),
        seccomp=_seccomp(own.seccomp_profile or shared.seccomp_profile, seccomp_root),
    )
    if own.proc_mount != "Unmasked":
        context.masked_paths.extend([*MASKED_PATHS, *facts.extra_masked_paths])
        context.readonly_paths.extend(READ_ONLY_PATHS)
    if own.capabilities is not None:
        context.capabilities.add_capabilities.extend(own.capabilities.add)
        context.capabilities.drop_capabilities.extend(own.capabilities.drop)
    _set_user(context, own, shared, image_user)
    labels = own.se_linux_options or shared.se_linux_options
    if labels is not None:
        context.selinux_options.CopyFrom(_selinux(labels))
    apparmor = _apparmor(pod, container, own.app_armor_profile or shared.app_armor_profile)
    if apparmor is not None:
        context.apparmor.CopyFrom(apparmor)
    if target_container_id and context.namespace_options.pid == cri.CONTAINER:
        context.namespace_options.pid = cri.TARGET
        context.namespace_options.target_id = target_container_id
    return context


def sandbox_security(
    pod: core.Pod, facts: NodeFacts, *, extra_groups: Sequence[int] = (), handler: str = ""
) -> cri.LinuxSandboxSecurityContext:
    """Raises ConfigError when the pod asks for what cannot be had."""
    shared = pod.spec.security_context or core.PodSecurityContext()
    context = cri.LinuxSandboxSecurityContext(
        privileged=any(
            one.security_context is not None and bool(one.security_context.privileged)
            for one in containers_of(pod.spec)
        ),
        namespace_options=namespace_options(pod, facts, handler),
        supplemental_groups=_groups(shared, extra_groups),
        supplemental_groups_policy=_groups_policy(shared),
        # The pause process needs next to nothing, whatever the containers are granted.
        seccomp=cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault),
    )
    if shared.run_as_user is not None:
        context.run_as_user.value = shared.run_as_user
        # Runtimes refuse a group without a user; the containers, whom it is meant for, always have one.
        if shared.run_as_group is not None:
            context.run_as_group.value = shared.run_as_group
    if shared.se_linux_options is not None:
        context.selinux_options.CopyFrom(_selinux(shared.se_linux_options))
    return context


def check_non_root(pod: core.Pod, container: AnyContainer, image_user: ImageUser) -> None:
    """Raises ConfigError when the container must not be root and would be, or might be."""
    own = container.security_context or core.SecurityContext()
    shared = pod.spec.security_context or core.PodSecurityContext()
    wanted = own.run_as_non_root if own.run_as_non_root is not None else shared.run_as_non_root
    if not wanted:
        return
    user = own.run_as_user if own.run_as_user is not None else shared.run_as_user
    where = f'(pod: "{describe(pod)}", container: {container.name})'
    if user == 0:
        raise ConfigError(f"container's runAsUser breaks non-root policy {where}")
    if user is not None:
        return
    if image_user.username and image_user.uid is None:
        raise ConfigError(
            f"container has runAsNonRoot and image has non-numeric user ({image_user.username}), "
            f"cannot verify user is non-root {where}"
        )
    if not image_user.uid:
        raise ConfigError(f"container has runAsNonRoot and image will run as root {where}")


def _set_user(
    context: cri.LinuxContainerSecurityContext,
    own: core.SecurityContext,
    shared: core.PodSecurityContext,
    image_user: ImageUser,
) -> None:
    user = own.run_as_user if own.run_as_user is not None else shared.run_as_user
    group = own.run_as_group if own.run_as_group is not None else shared.run_as_group
    if user is not None:
        context.run_as_user.value = user
    elif image_user.username and image_user.uid is None:
        context.run_as_username = image_user.username
    else:
        context.run_as_user.value = image_user.uid or 0
    if group is not None:
        context.run_as_group.value = group


def _groups(shared: core.PodSecurityContext, extra: Sequence[int]) -> list[int]:
    groups = [] if shared.fs_group is None else [int(shared.fs_group)]
    return [*groups, *extra, *shared.supplemental_groups]


def _groups_policy(shared: core.PodSecurityContext) -> cri.SupplementalGroupsPolicy:
    return cri.Strict if shared.supplemental_groups_policy == "Strict" else cri.Merge


def _seccomp(profile: core.SeccompProfile | None, root: Path) -> cri.SecurityProfile:
    if profile is None or profile.type == "Unconfined":
        return cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined)
    if profile.type == "RuntimeDefault":
        return cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault)
    if not profile.localhost_profile:
        raise ConfigError("localhostProfile must be set if seccompProfile type is Localhost.")
    path = os.path.join(root, profile.localhost_profile)
    return cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=path)


def _apparmor(
    pod: core.Pod, container: AnyContainer, profile: core.AppArmorProfile | None
) -> cri.SecurityProfile | None:
    """None leaves it to the runtime, which then applies its default where the kernel has AppArmor."""
    if profile is None:
        profile = _annotated_apparmor(pod.metadata.annotations.get(f"{_APPARMOR_ANNOTATION}{container.name}", ""))
    if profile is None:
        return None
    if profile.type == "Localhost":
        if not profile.localhost_profile:
            raise ConfigError("missing localhost apparmor profile name")
        kind = cri.SecurityProfile.Localhost
        return cri.SecurityProfile(profile_type=kind, localhost_ref=profile.localhost_profile)
    default = profile.type == "RuntimeDefault"
    return cri.SecurityProfile(
        profile_type=cri.SecurityProfile.RuntimeDefault if default else cri.SecurityProfile.Unconfined
    )


def _annotated_apparmor(value: str) -> core.AppArmorProfile | None:
    """The profile of the annotation that was there before the field; static pods may still carry it."""
    if value == "runtime/default":
        return core.AppArmorProfile(type="RuntimeDefault")
    if value == "unconfined":
        return core.AppArmorProfile(type="Unconfined")
    if value.startswith("localhost/"):
        return core.AppArmorProfile(type="Localhost", localhost_profile=value.removeprefix("localhost/"))
    return None


def _selinux(options: core.SELinuxOptions) -> cri.SELinuxOption:
    return cri.SELinuxOption(user=options.user, role=options.role, type=options.type, level=options.level)
