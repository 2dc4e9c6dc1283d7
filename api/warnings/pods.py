"""Warnings of pods and of the templates pods are made from (source: pkg/api/pod/warnings.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from api import core_v1 as core
from api import meta_v1 as meta
from api.quantity import Quantity
from api.rendering import quote
from api.validation.security import visit_containers
from api.warnings.claims import claim_warnings
from api.warnings.fractions import fraction_warning
from api.warnings.node_labels import DEPRECATED, affinity_warnings
from api.warnings.volumes import OLD_VOLUMES

_NO_SELECTOR = "a null labelSelector results in matching no pod"

_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"
_APPARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'

_BYTES = ("memory", "ephemeral-storage")


def pod_warnings(pod: core.Pod) -> list[str]:
    """What to say of a pod, but for its name."""
    return list(_warnings(pod.metadata, pod.spec, "", template=False))


def template_warnings(template: core.PodTemplateSpec, path: str) -> list[str]:
    """What to say of a template that stands at `path`."""
    return list(_warnings(template.metadata, template.spec, f"{path}.", template=True))


def _warnings(metadata: meta.ObjectMeta, spec: core.PodSpec, base: str, *, template: bool) -> Iterator[str]:
    """`base` is what stands before ``spec`` in paths: nothing, or a template's own path and a dot."""
    path = f"{base}spec"
    for label in spec.node_selector:
        if message := DEPRECATED.get(label):
            yield f"{path}.nodeSelector[{label}]: {message}"
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        yield from affinity_warnings(spec.affinity.node_affinity, f"{path}.affinity.nodeAffinity")
    for index, constraint in enumerate(spec.topology_spread_constraints):
        where = f"{path}.topologySpreadConstraints[{index}]"
        if message := DEPRECATED.get(constraint.topology_key):
            yield f"{where}.topologyKey: {constraint.topology_key} is {message}"
        if constraint.label_selector is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"
    annotations = metadata.annotations
    if annotations:
        yield from _annotation_warnings(annotations, spec, f"{base}metadata.annotations", template=template)
    if spec.volumes:
        yield from _volume_warnings(spec.volumes, f"{path}.volumes")
    yield from _repeats([alias.ip for alias in spec.host_aliases], f"{path}.hostAliases", "ip")
    secrets = [reference.name for reference in spec.image_pull_secrets]
    yield from _repeats(secrets, f"{path}.imagePullSecrets", "name")
    for index, name in enumerate(secrets):
        if not name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
    yield from _fractions(spec.overhead, f"{path}.overhead")
    for container, where in visit_containers(spec, path):
        yield from _fractions(container.resources.limits, f"{where}.resources.limits")
        yield from _fractions(container.resources.requests, f"{where}.resources.requests")
        if len(container.env) > 1:
            yield from _hidden_variables(container.env, f"{where}.env")
    yield from _port_warnings(spec, path)
    if spec.termination_grace_period_seconds is not None and spec.termination_grace_period_seconds < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        )
    if spec.affinity is not None:
        for kind, pods in (
            ("podAffinity", spec.affinity.pod_affinity),
            ("podAntiAffinity", spec.affinity.pod_anti_affinity),
        ):
            if pods is not None:
                yield from _pod_affinity_warnings(pods, f"{path}.affinity.{kind}")


def _annotation_warnings(
    annotations: Mapping[str, str], spec: core.PodSpec, path: str, *, template: bool
) -> Iterator[str]:
    for name, message in _OLD_ANNOTATIONS.items():
        if name in annotations:
            yield f"{path}[{name}]: {message}"
    context = spec.security_context
    if _SECCOMP_POD in annotations and (context is None or context.seccomp_profile is None):
        yield f"{path}[{_SECCOMP_POD}]: {_SECCOMP}"
    confined = context is not None and context.app_armor_profile is not None
    for container, _ in visit_containers(spec, ""):
        own = container.security_context
        name = _SECCOMP_CONTAINER + container.name
        if name in annotations and (own is None or own.seccomp_profile is None):
            yield f"{path}[{name}]: {_SECCOMP}"
        name = _APPARMOR_CONTAINER + container.name
        if template and name in annotations and not confined and (own is None or own.app_armor_profile is None):
            yield f"{path}[{name}]: {_APPARMOR}"


def _volume_warnings(volumes: Sequence[core.Volume], path: str) -> Iterator[str]:
    tokens: set[str] = set()
    for index, volume in enumerate(volumes):
        for attribute, (name, message) in OLD_VOLUMES.items():
            if getattr(volume, attribute) is not None:
                yield f"{path}[{index}].{name}: {message}"
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            claim = volume.ephemeral.volume_claim_template.spec
            yield from claim_warnings(claim, f"{path}[{index}].ephemeral.volumeClaimTemplate.spec")
        if volume.projected is not None:
            for source in volume.projected.sources:
                if source.service_account_token is not None:
                    tokens.add(source.service_account_token.path)
    for index, volume in enumerate(volumes):
        if tokens and volume.projected is not None:
            for source in volume.projected.sources:
                yield from _paths_of_tokens(source, tokens, f"{path}[{index}].projected.sources")


def _paths_of_tokens(source: core.VolumeProjection, tokens: set[str], path: str) -> Iterator[str]:
    """Files that stand where a token is written, too."""
    listed: list[tuple[str, list[str]]] = []
    if source.config_map is not None:
        listed.append(("configMap", [item.path for item in source.config_map.items]))
    if source.secret is not None:
        listed.append(("secrets", [item.path for item in source.secret.items]))
    if source.downward_api is not None:
        listed.append(("downwardAPI", [item.path for item in source.downward_api.items]))
    for name, paths in listed:
        for index, file in enumerate(paths):
            if file in tokens:
                yield f"{path}.{name}[{index}]: has duplicated path with ServiceAccountToken {quote(file)}"
    bundle = source.cluster_trust_bundle
    if bundle is not None and bundle.path in tokens:
        yield f"{path}.ClusterTrustBundle: has duplicated path with ServiceAccountToken {quote(bundle.path)}"


def _repeats(values: Sequence[str], path: str, name: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield f"{path}[{index}].{name}: duplicate {name} {quote(value)}"
        seen.add(value)


def _fractions(quantities: Mapping[str, Quantity], path: str) -> Iterator[str]:
    for name in _BYTES:
        if name in quantities:
            yield from fraction_warning(quantities[name], f"{path}[{name}]")


def _hidden_variables(variables: Sequence[core.EnvVar], path: str) -> Iterator[str]:
    """Variables that take the place of an earlier one without building on it."""
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name = variable.name
        if name in seen:
            reference = f"$({name})"
            if variable.value_from is not None or variable.value == reference or reference not in variable.value:
                yield (
                    f"{path}[{index}]: hides previous definition of {quote(name)}, "
                    "which may be dropped when using apply"
                )
        seen.add(name)


def _port_warnings(spec: core.PodSpec, path: str) -> Iterator[str]:
    taken: dict[tuple[int, str], list[tuple[core.ContainerPort, str]]] = {}
    for container, where in visit_containers(spec, path):
        for index, port in enumerate(container.ports):
            place = f"{where}.ports[{index}]"
            if port.host_ip and not port.host_port:
                yield f"{place}: hostIP set without hostPort: {_go_port(port)}"
            others = taken.setdefault((port.container_port, port.protocol), [])
            for other, there in others:
                if (port.host_ip, port.host_port) == (other.host_ip, other.host_port):
                    yield f"{place}: duplicate port definition with {there}"
                elif not port.host_port or not other.host_port:
                    yield f"{place}: overlapping port definition with {there}"
                elif port.host_port == other.host_port and bool(port.host_ip) != bool(other.host_ip):
                    yield f"{place}: dangerously ambiguous port definition with {there}"
            others.append((port, place))


def _go_port(port: core.ContainerPort) -> str:
    return (
        f"{{Name:{port.name} HostPort:{port.host_port} ContainerPort:{port.container_port} "
        f"Protocol:{port.protocol} HostIP:{port.host_ip}}}"
    )


def _pod_affinity_warnings(affinity: core.PodAffinity | core.PodAntiAffinity, path: str) -> Iterator[str]:
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        if term.label_selector is None:
            yield f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}].labelSelector: {_NO_SELECTOR}"
    for index, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if weighted.pod_affinity_term.label_selector is None:
            where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm"
            yield f"{where}.labelSelector: {_NO_SELECTOR}"
