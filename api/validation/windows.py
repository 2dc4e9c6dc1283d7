"""What is particular to pods for an operating system: Windows options, and which fields each system forbids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.validation.checks import complain

_CREDENTIAL_SPEC_KIB = 64
_DOMAIN_LIMIT = 256
_USER_LIMIT = 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_NAME = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_BAD_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_DOTS_AND_SPACES = re.compile(r"[. ]+")

Visit = Callable[[core.PodSpec, str], Iterator[tuple[Any, str]]]


def validate_windows_options(options: core.WindowsSecurityContextOptions | None, path: str, out: FieldErrors) -> None:
    if options is None:
        return
    name, spec, user = options.gmsa_credential_spec_name, options.gmsa_credential_spec, options.run_as_user_name
    if name is not None and (bad := names.dns1123_subdomain(name)):
        complain(out, f"{path}.gmsaCredentialSpecName", name, bad)
    if spec is not None:
        if not spec:
            detail = "gmsaCredentialSpec cannot be an empty string"
            out.append(invalid(f"{path}.gmsaCredentialSpec", spec, detail))
        elif names.byte_length(spec) > _CREDENTIAL_SPEC_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_KIB} KiB"
            out.append(invalid(f"{path}.gmsaCredentialSpec", spec, detail))
    if user is not None:
        complain(out, f"{path}.runAsUserName", user, _user_name_errors(user))


def _user_name_errors(name: str) -> list[str]:
    """What is wrong with `DOMAIN\\user`; the domain is optional."""
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(name):
        return ["runAsUserName cannot contain control characters"]
    parts = name.split("\\")
    if len(parts) > 2:
        return ["runAsUserName cannot contain more than one backslash"]
    errors = []
    user = parts[-1]
    if len(parts) == 2:
        domain = parts[0]
        if len(domain) >= _DOMAIN_LIMIT:
            errors.append(f"runAsUserName's Domain length must be under {_DOMAIN_LIMIT} characters")
        if not (_NETBIOS.fullmatch(domain) or _DNS_NAME.fullmatch(domain)):
            errors.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        errors.append("runAsUserName's User cannot be empty")
    elif len(user) > _USER_LIMIT:
        errors.append(f"runAsUserName's User length must not be longer than {_USER_LIMIT} characters")
    if _DOTS_AND_SPACES.fullmatch(user):
        errors.append("runAsUserName's User cannot contain only periods or spaces")
    if _BAD_USER.search(user):
        errors.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return errors


def validate_host_process(spec: core.PodSpec, path: str, visit: Visit, out: FieldErrors) -> None:
    """HostProcess containers (KEP-1981): all of a pod or none, and on the host's network."""
    pod = spec.security_context
    inherited = pod.windows_options.host_process if pod is not None and pod.windows_options is not None else None
    total = host_process = 0
    for container, where in visit(spec, path):
        total += 1
        context = container.security_context
        own = context.windows_options.host_process if context is not None and context.windows_options else None
        if inherited is not None and own is not None and inherited != own:
            shown = "true" if inherited else "false"
            detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
            out.append(invalid(f"{where}.securityContext.windowsOptions.hostProcess", own, detail))
        host_process += bool(own if own is not None else inherited)
    if not host_process:
        return
    if host_process != total:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        out.append(invalid(path, "", detail))
    if not spec.host_network:
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        out.append(invalid(f"{path}.hostNetwork", False, detail))


def validate_os(spec: core.PodSpec, path: str, visit: Visit, out: FieldErrors) -> None:
    """`spec.os`, and the fields that make no sense on the system it names."""
    if spec.os is None:
        return
    if not spec.os.name:
        out.append(required(f"{path}.os.name", "cannot be empty"))
    elif spec.os.name == "linux":
        detail = "windows options cannot be set for a linux pod"
        if spec.security_context is not None and spec.security_context.windows_options is not None:
            out.append(forbidden(f"{path}.securityContext.windowsOptions", detail))
        for container, where in visit(spec, path):
            context = container.security_context
            if context is not None and context.windows_options is not None:
                out.append(forbidden(f"{where}.securityContext.windowsOptions", detail))
    elif spec.os.name == "windows":
        _forbid(spec, _LINUX_SPEC_FIELDS, path, out)
        if spec.security_context is not None:
            _forbid(spec.security_context, _LINUX_POD_FIELDS, f"{path}.securityContext", out)
        for container, where in visit(spec, path):
            if container.security_context is not None:
                _forbid(container.security_context, _LINUX_CONTAINER_FIELDS, f"{where}.securityContext", out)
    else:
        out.append(not_supported(f"{path}.os", spec.os.name, ("linux", "windows")))


_LINUX_SPEC_FIELDS = (
    ("host_users", "hostUsers"),
    ("host_pid", "hostPID"),
    ("host_ipc", "hostIPC"),
    ("share_process_namespace", "shareProcessNamespace"),
)
_LINUX_POD_FIELDS = (
    ("app_armor_profile", "appArmorProfile"),
    ("se_linux_options", "seLinuxOptions"),
    ("seccomp_profile", "seccompProfile"),
    ("fs_group", "fsGroup"),
    ("fs_group_change_policy", "fsGroupChangePolicy"),
    ("sysctls", "sysctls"),
    ("run_as_user", "runAsUser"),
    ("run_as_group", "runAsGroup"),
    ("supplemental_groups", "supplementalGroups"),
    ("supplemental_groups_policy", "supplementalGroupsPolicy"),
    ("se_linux_change_policy", "seLinuxChangePolicy"),
)
_LINUX_CONTAINER_FIELDS = (
    ("app_armor_profile", "appArmorProfile"),
    ("se_linux_options", "seLinuxOptions"),
    ("seccomp_profile", "seccompProfile"),
    ("capabilities", "capabilities"),
    ("read_only_root_filesystem", "readOnlyRootFilesystem"),
    ("privileged", "privileged"),
    ("allow_privilege_escalation", "allowPrivilegeEscalation"),
    ("proc_mount", "procMount"),
    ("run_as_user", "runAsUser"),
    ("run_as_group", "runAsGroup"),
)


def _forbid(owner: Any, table: tuple[tuple[str, str], ...], path: str, out: FieldErrors) -> None:
    """Every set field of the table is an error; pointers count as set even when they are false."""
    for attribute, wire in table:
        value = getattr(owner, attribute)
        unset = value is None or value == [] or (value is False and attribute in ("host_pid", "host_ipc"))
        if not unset:
            out.append(forbidden(f"{path}.{wire}", "cannot be set for a windows pod"))
