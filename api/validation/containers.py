"""Containers of all four sorts: regular, init, restartable init (sidecars), ephemeral."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, duplicate, forbidden, invalid, not_found, not_supported, required, too_many
from api.validation.checks import complain, required_one_of
from api.validation.environment import validate_env, validate_env_from
from api.validation.mounts import AnyContainer, validate_devices, validate_mounts
from api.validation.probes import validate_lifecycle, validate_liveness_or_startup, validate_readiness
from api.validation.resources import validate_requirements
from api.validation.security import validate_container_security
from api.validation.volumes import PULL_POLICIES, Volumes

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_RULE_LIMIT = 20
_EXIT_CODE_LIMIT = 255
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container's checks need to know of its pod."""

    volumes: Volumes
    claims: Collection[str]
    grace: int | None
    restart_policy: str
    host_users: bool


def validate_containers(containers: Sequence[core.Container], pod: Surroundings, path: str, out: FieldErrors) -> None:
    if not containers:
        out.append(required(path))
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        _validate_common(container, pod, where, out)
        if container.name in seen:
            out.append(duplicate(f"{where}.name", container.name))
        seen.add(container.name)
        _validate_hooks_and_probes(container, pod, where, out)
        _validate_restart(container, where, out)
    _validate_host_ports(containers, path, out)


def validate_init_containers(spec: core.PodSpec, pod: Surroundings, path: str, out: FieldErrors) -> None:
    """Init containers; they share their names with the regular ones."""
    seen = {container.name for container in spec.containers}
    for index, container in enumerate(spec.init_containers):
        where = f"{path}[{index}]"
        _validate_common(container, pod, where, out)
        _validate_restart(container, where, out)
        if container.name in seen:
            out.append(duplicate(f"{where}.name", container.name))
        elif container.name:
            seen.add(container.name)
        # One after another: only within one of them can two ports collide.
        _validate_host_ports([container], path, out)
        if container.restart_policy == "Always":
            _validate_hooks_and_probes(container, pod, where, out)
            continue
        if container.lifecycle is not None:
            out.append(forbidden(f"{where}.lifecycle", _ONLY_SIDECARS))
        if container.liveness_probe is not None:
            out.append(forbidden(f"{where}.livenessProbe", _ONLY_SIDECARS))
        if container.readiness_probe is not None:
            out.append(forbidden(f"{where}.readinessProbe", _ONLY_SIDECARS))
        if container.startup_probe is not None:
            out.append(forbidden(f"{where}.startupProbe", _ONLY_SIDECARS))
        if container.resize_policy:
            out.append(invalid(f"{where}.resizePolicy", container.resize_policy, "must not be set for init containers"))


_NOT_FOR_EPHEMERAL = (
    ("ports", "ports"),
    ("resources", "resources"),
    ("resize_policy", "resizePolicy"),
    ("restart_policy", "restartPolicy"),
    ("restart_policy_rules", "restartPolicyRules"),
    ("liveness_probe", "livenessProbe"),
    ("readiness_probe", "readinessProbe"),
    ("startup_probe", "startupProbe"),
    ("lifecycle", "lifecycle"),
)
_NO_RESOURCES = core.ResourceRequirements()


def validate_ephemeral_containers(spec: core.PodSpec, pod: Surroundings, path: str, out: FieldErrors) -> None:
    """Ephemeral containers: for looking at a pod, so without anything a service would rely on."""
    others = {container.name for container in (*spec.containers, *spec.init_containers)}
    seen = set(others)
    for index, container in enumerate(spec.ephemeral_containers):
        where = f"{path}[{index}]"
        _validate_common(container, pod, where, out)
        validate_image_spacing(container, where, out)
        if container.name in seen:
            out.append(duplicate(f"{where}.name", container.name))
        seen.add(container.name)
        target = container.target_container_name
        if target and target not in others:
            out.append(not_found(f"{where}.targetContainerName", target))
        for attribute, wire in _NOT_FOR_EPHEMERAL:
            value = getattr(container, attribute)
            if value not in (None, []) and value != _NO_RESOURCES:
                out.append(forbidden(f"{where}.{wire}", _NOT_EPHEMERAL))
        for position, mount in enumerate(container.volume_mounts):
            if mount.sub_path:
                out.append(forbidden(f"{where}.volumeMounts[{position}].subPath", _NOT_EPHEMERAL))
            if mount.sub_path_expr:
                out.append(forbidden(f"{where}.volumeMounts[{position}].subPathExpr", _NOT_EPHEMERAL))


def validate_image_spacing(container: AnyContainer, path: str, out: FieldErrors) -> None:
    """In pods, not in templates: old templates hold a space as the mark of an image yet to be filled in."""
    if container.image.strip() != container.image:
        detail = "must not have leading or trailing whitespace"
        out.append(invalid(f"{path}.image", container.image, detail))


def _validate_common(container: AnyContainer, pod: Surroundings, path: str, out: FieldErrors) -> None:
    if not container.name:
        out.append(required(f"{path}.name"))
    elif bad := names.dns1123_label(container.name):
        complain(out, f"{path}.name", container.name, bad)
    if not container.image:
        out.append(required(f"{path}.image"))
    if container.termination_message_policy not in _MESSAGE_POLICIES:
        where = f"{path}.terminationMessagePolicy"
        required_one_of(container.termination_message_policy, _MESSAGE_POLICIES, where, out, ordered=True)
    if container.ports:
        _validate_ports(container.ports, f"{path}.ports", out)
    if container.env:
        validate_env(container.env, f"{path}.env", out)
    if container.env_from:
        validate_env_from(container.env_from, f"{path}.envFrom", out)
    if container.volume_mounts:
        validate_mounts(container, pod.volumes, path, out)
    if container.volume_devices:
        validate_devices(container, pod.volumes, path, out)
    if container.image_pull_policy not in PULL_POLICIES:
        required_one_of(container.image_pull_policy, PULL_POLICIES, f"{path}.imagePullPolicy", out)
    resources = container.resources
    if resources.limits or resources.requests or resources.claims:
        validate_requirements(resources, pod.claims, f"{path}.resources", out)
    if container.resize_policy:
        _validate_resize_policy(container.resize_policy, pod.restart_policy, f"{path}.resizePolicy", out)
    if container.security_context is not None:
        where = f"{path}.securityContext"
        validate_container_security(container.security_context, where, out, host_users=pod.host_users)


def _validate_hooks_and_probes(container: core.Container, pod: Surroundings, path: str, out: FieldErrors) -> None:
    if container.lifecycle is not None:
        validate_lifecycle(container.lifecycle, pod.grace, f"{path}.lifecycle", out)
    if container.liveness_probe is not None:
        validate_liveness_or_startup(container.liveness_probe, f"{path}.livenessProbe", out)
    if container.readiness_probe is not None:
        validate_readiness(container.readiness_probe, f"{path}.readinessProbe", out)
    if container.startup_probe is not None:
        validate_liveness_or_startup(container.startup_probe, f"{path}.startupProbe", out)


def _validate_ports(ports: Sequence[core.ContainerPort], path: str, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        if port.name:
            if bad := names.port_name(port.name):
                complain(out, f"{path}[{index}].name", port.name, bad)
            elif port.name in seen:
                out.append(duplicate(f"{path}[{index}].name", port.name))
            else:
                seen.add(port.name)
        if not port.container_port:
            out.append(required(f"{path}[{index}].containerPort"))
        elif bad := names.port_number(port.container_port):
            complain(out, f"{path}[{index}].containerPort", port.container_port, bad)
        if port.host_port and (bad := names.port_number(port.host_port)):
            complain(out, f"{path}[{index}].hostPort", port.host_port, bad)
        if port.protocol not in PROTOCOLS:
            required_one_of(port.protocol, PROTOCOLS, f"{path}[{index}].protocol", out)


def _validate_host_ports(containers: Sequence[core.Container], path: str, out: FieldErrors) -> None:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.ports):
            if port.host_port:
                key = f"{port.protocol}/{port.host_ip}/{port.host_port}"
                if key in taken:
                    out.append(duplicate(f"{path}[{index}].ports[{position}].hostPort", key))
                taken.add(key)


def _validate_restart(container: core.Container, path: str, out: FieldErrors) -> None:
    """A container's own restart policy, and rules by exit code (KEP-5307)."""
    policy, rules = container.restart_policy, container.restart_policy_rules
    if policy is None:
        if not rules:
            return
        detail = "must specify restartPolicy when restart rules are used"
        out.append(required(f"{path}.restartPolicy", detail))
    elif policy not in _RESTART_POLICIES:
        out.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > _RULE_LIMIT:
        out.append(too_many(f"{path}.restartPolicyRules", len(rules), _RULE_LIMIT))
    for index, rule in enumerate(rules):
        where = f"{path}.restartPolicyRules[{index}]"
        if rule.action not in _RULE_ACTIONS:
            required_one_of(rule.action, _RULE_ACTIONS, f"{where}.action", out)
        if rule.exit_codes is None:
            out.append(required(f"{where}.exitCodes", "must be specified"))
            continue
        if rule.exit_codes.operator not in ("In", "NotIn"):
            out.append(not_supported(f"{where}.exitCodes.operator", rule.exit_codes.operator, ("In", "NotIn")))
        if len(rule.exit_codes.values) > _EXIT_CODE_LIMIT:
            out.append(too_many(f"{where}.exitCodes.values", len(rule.exit_codes.values), _EXIT_CODE_LIMIT))


def _validate_resize_policy(
    policies: Sequence[core.ContainerResizePolicy], restart_policy: str, path: str, out: FieldErrors
) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        if policy.resource_name in seen:
            out.append(duplicate(f"{path}[{index}]", policy.resource_name))
        seen.add(policy.resource_name)
        required_one_of(policy.resource_name, ("cpu", "memory"), path, out)
        required_one_of(policy.restart_policy, _RESIZE_POLICIES, path, out)
        if restart_policy == "Never" and policy.restart_policy != "NotRequired":
            detail = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            out.append(invalid(path, policy.restart_policy, detail))
