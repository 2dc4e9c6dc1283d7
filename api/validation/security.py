"""Security contexts of pods and containers: identities, profiles, sysctls, and what excludes what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, duplicate, forbidden, invalid, not_supported, required, too_long
from api.rendering import quote
from api.validation.checks import complain, one_of, relative_path
from api.validation.windows import validate_windows_options

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"

_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = f"^({_SYSCTL_SEGMENT}[\\./])*{_SYSCTL_SEGMENT}$"
_is_sysctl = re.compile(_SYSCTL).fullmatch
_SYSCTL_LIMIT = 253
_APPARMOR_PROFILE_LIMIT = 4095
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")

AnyContainer = core.Container | core.EphemeralContainer


def visit_containers(spec: core.PodSpec, path: str) -> Iterator[tuple[AnyContainer, str]]:
    """Every container of a pod with its path: init containers, then the regular and the ephemeral ones."""
    for index, container in enumerate(spec.init_containers):
        yield container, f"{path}.initContainers[{index}]"
    for index, container in enumerate(spec.containers):
        yield container, f"{path}.containers[{index}]"
    for index, ephemeral in enumerate(spec.ephemeral_containers):
        yield ephemeral, f"{path}.ephemeralContainers[{index}]"


def validate_pod_security(spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    """The pod's own context; `path` is the spec's."""
    where = f"{path}.securityContext"
    if spec.share_process_namespace and spec.host_pid:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        out.append(invalid(f"{where}.shareProcessNamespace", True, detail))
    context = spec.security_context
    if context is None or context == _EMPTY_POD_CONTEXT:
        return
    _validate_id(context.fs_group, f"{where}.fsGroup", out)
    _validate_id(context.run_as_user, f"{where}.runAsUser", out)
    _validate_id(context.run_as_group, f"{where}.runAsGroup", out)
    for index, group in enumerate(context.supplemental_groups):
        _validate_id(group, f"{where}.supplementalGroups[{index}]", out)
    if context.sysctls:
        _validate_sysctls(spec, context, f"{where}.sysctls", out)
    if context.fs_group_change_policy is not None:
        one_of(context.fs_group_change_policy, ("Always", "OnRootMismatch"), f"{where}.fsGroupChangePolicy", out)
    _validate_seccomp(context.seccomp_profile, f"{where}.seccompProfile", out)
    validate_windows_options(context.windows_options, f"{where}.windowsOptions", out)
    _validate_apparmor(context.app_armor_profile, f"{where}.appArmorProfile", out)
    if context.supplemental_groups_policy is not None:
        one_of(context.supplemental_groups_policy, ("Merge", "Strict"), f"{where}.supplementalGroupsPolicy", out)
    if context.se_linux_change_policy is not None:
        one_of(context.se_linux_change_policy, ("MountOption", "Recursive"), f"{where}.seLinuxChangePolicy", out)


_EMPTY_POD_CONTEXT = core.PodSecurityContext()


def validate_container_security(
    context: core.SecurityContext | None, path: str, out: FieldErrors, *, host_users: bool
) -> None:
    """A container's context; `host_users` is false when the pod has a user namespace of its own."""
    if context is None:
        return
    _validate_id(context.run_as_user, f"{path}.runAsUser", out)
    _validate_id(context.run_as_group, f"{path}.runAsGroup", out)
    if context.proc_mount is not None:
        one_of(context.proc_mount, ("Default", "Unmasked"), f"{path}.procMount", out, ordered=True)
        if host_users and context.proc_mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            out.append(invalid(f"{path}.procMount", context.proc_mount, detail))
    _validate_seccomp(context.seccomp_profile, f"{path}.seccompProfile", out)
    if context.allow_privilege_escalation is False:
        if context.privileged:
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            out.append(invalid(path, context, detail))
        if context.capabilities is not None and "CAP_SYS_ADMIN" in context.capabilities.add:
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            out.append(invalid(path, context, detail))
    validate_windows_options(context.windows_options, f"{path}.windowsOptions", out)
    _validate_apparmor(context.app_armor_profile, f"{path}.appArmorProfile", out)


def _validate_id(number: int | None, path: str, out: FieldErrors) -> None:
    if number is not None and (bad := names.user_or_group_id(number)):
        complain(out, path, number, bad)


def _validate_sysctls(spec: core.PodSpec, context: core.PodSecurityContext, path: str, out: FieldErrors) -> None:
    """Sysctls by name (sysctl.d(5)); those of a namespace shared with the host may not be set."""
    seen: set[str] = set()
    for index, sysctl in enumerate(context.sysctls):
        where = f"{path}[{index}].name"
        if not sysctl.name:
            out.append(required(where))
        elif len(sysctl.name) > _SYSCTL_LIMIT or not _is_sysctl(sysctl.name):
            detail = f"must have at most {_SYSCTL_LIMIT} characters and match regex {_SYSCTL}"
            out.append(invalid(where, sysctl.name, detail))
        elif sysctl.name in seen:
            out.append(duplicate(where, sysctl.name))
        dotted = sysctl.name.replace("/", ".") if "/" in sysctl.name.partition(".")[0] else sysctl.name
        if spec.host_network and dotted.startswith("net."):
            out.append(invalid(where, sysctl.name, "may not be specified when 'hostNetwork' is true"))
        elif spec.host_ipc and (dotted.startswith(_IPC_SYSCTLS) or dotted == "kernel.sem"):
            out.append(invalid(where, sysctl.name, "may not be specified when 'hostIPC' is true"))
        seen.add(sysctl.name)


def _validate_seccomp(profile: core.SeccompProfile | None, path: str, out: FieldErrors) -> None:
    if profile is None:
        return
    if not profile.type:
        out.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif profile.type not in _PROFILE_TYPES:
        out.append(not_supported(f"{path}.type", profile.type, _PROFILE_TYPES))
    if profile.type == "Localhost":
        if profile.localhost_profile is None:
            detail = "must be set when seccomp type is Localhost"
            out.append(required(f"{path}.localhostProfile", detail))
        else:
            relative_path(profile.localhost_profile, f"{path}.localhostProfile", out)
    elif profile.localhost_profile is not None:
        detail = "can only be set when seccomp type is Localhost"
        out.append(invalid(f"{path}.localhostProfile", profile, detail))


def _validate_apparmor(profile: core.AppArmorProfile | None, path: str, out: FieldErrors) -> None:
    if profile is None:
        return
    where, local = f"{path}.localhostProfile", profile.localhost_profile
    if profile.type == "Localhost":
        if local is None or not local:
            out.append(required(where, "must be set when AppArmor type is Localhost"))
        elif local.strip() != local:
            out.append(invalid(where, local, "must not be padded with whitespace"))
        if local is not None and names.byte_length(local) > _APPARMOR_PROFILE_LIMIT:
            out.append(too_long(where, _APPARMOR_PROFILE_LIMIT))
    elif profile.type in _PROFILE_TYPES:
        if local is not None:
            out.append(invalid(where, local, "can only be set when AppArmor type is Localhost"))
    elif not profile.type:
        out.append(required(f"{path}.type", "type is required when appArmorProfile is set"))
    else:
        out.append(not_supported(f"{path}.type", profile.type, _PROFILE_TYPES))


def validate_profile_annotations(
    annotations: Mapping[str, str], spec: core.PodSpec, path: str, out: FieldErrors
) -> None:
    """The annotations that set profiles before there were fields; `path` is that of the annotations."""
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _validate_seccomp_annotation(value, f"{path}.{key}", out)
        elif key.startswith(APPARMOR_CONTAINER):
            container = key.removeprefix(APPARMOR_CONTAINER)
            if all(other.name != container for other, _ in visit_containers(spec, "")):
                out.append(invalid(f"{path}[{key}]", container, "container not found"))
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                detail = f"invalid AppArmor profile name: {quote(value)}"
                out.append(invalid(f"{path}[{key}]", value, detail))


def _validate_seccomp_annotation(value: str, path: str, out: FieldErrors) -> None:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith("localhost/"):
        relative_path(value.removeprefix("localhost/"), path, out)
    else:
        out.append(invalid(path, value, "must be a valid seccomp profile"))


def validate_profiles_match(annotations: Mapping[str, str], spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    """Where both annotation and field set a profile, they must say the same; `path` is the spec's."""
    if not annotations:
        return
    pod = spec.security_context or _EMPTY_POD_CONTEXT
    if SECCOMP_POD in annotations and pod.seccomp_profile is not None:
        where = f"{path}.securityContext.seccompProfile"
        _match("seccomp", annotations[SECCOMP_POD], pod.seccomp_profile, where, out)
    windows = spec.os is not None and spec.os.name == "windows"
    for container, where in visit_containers(spec, path):
        context = container.security_context
        annotation = annotations.get(SECCOMP_CONTAINER + container.name)
        if annotation is not None and context is not None and context.seccomp_profile is not None:
            _match("seccomp", annotation, context.seccomp_profile, f"{where}.securityContext.seccompProfile", out)
        annotation = annotations.get(APPARMOR_CONTAINER + container.name)
        profile = (context.app_armor_profile if context is not None else None) or pod.app_armor_profile
        if annotation is not None and profile is not None and not windows:
            _match("apparmor", annotation, profile, f"{where}.securityContext.appArmorProfile", out)


def _match(
    kind: str, annotation: str, profile: core.SeccompProfile | core.AppArmorProfile, path: str, out: FieldErrors
) -> None:
    expected = {
        "Unconfined": ("unconfined",),
        "RuntimeDefault": ("runtime/default", "docker/default") if kind == "seccomp" else ("runtime/default",),
    }.get(profile.type)
    if expected is not None:
        if annotation not in expected:
            out.append(forbidden(f"{path}.type", f"{kind} type in annotation and field must match"))
    elif profile.type == "Localhost":
        if not annotation.startswith("localhost/"):
            out.append(forbidden(f"{path}.type", f"{kind} type in annotation and field must match"))
        elif annotation.removeprefix("localhost/") != profile.localhost_profile:
            detail = f"{kind} profile in annotation and field must match"
            out.append(forbidden(f"{path}.localhostProfile", detail))
