"""Pods: what may be created, and the little that may change afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api import core_v1 as core
from api import names
from api.codec import deepcopy
from api.fields import WHOLE, FieldErrors, duplicate, forbidden, invalid, not_supported, required
from api.pod_resources import compute_qos_class, qos_class
from api.pod_restarts import may_restart_all, restarts_after
from api.pods import CONFIG_MIRROR, find_container, is_mirror, is_restartable_init
from api.quantity import Quantity
from api.validation.addresses import families, validate_address
from api.validation.checks import complain, immutable, qualified
from api.validation.containers import validate_image_spacing
from api.validation.differences import describe
from api.validation.podspec import validate_pod_annotations, validate_pod_spec
from api.validation.scheduling import (
    validate_node_affinity_growth,
    validate_node_selector_growth,
    validate_tolerations,
)
from api.validation.security import APPARMOR_CONTAINER, validate_profiles_match

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MAX_DEADLINE = 2**31 - 1
_RESIZABLE = ("cpu", "memory")
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def validate_pod(pod: core.Pod, out: FieldErrors, *, known: core.PodSpec | None = None) -> None:
    """Everything but the metadata's own rules, on create and on update; a spec equal to the `known` one is fine."""
    if pod.metadata.annotations:
        validate_pod_annotations(pod.metadata.annotations, pod.spec, "metadata.annotations", out)
    if pod.spec == known:
        return
    validate_pod_spec(pod.spec, pod.metadata, "spec", out)
    if not pod.spec.service_account_name:
        for index, volume in enumerate(pod.spec.volumes):
            for position, source in enumerate(volume.projected.sources if volume.projected is not None else ()):
                if source.service_account_token is not None:
                    where = f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken"
                    out.append(forbidden(where, "must not be specified when serviceAccountName is not set"))
    for index, container in enumerate(pod.spec.containers):
        validate_image_spacing(container, f"spec.containers[{index}]", out)
    for index, container in enumerate(pod.spec.init_containers):
        validate_image_spacing(container, f"spec.initContainers[{index}]", out)


def validate_pod_create(pod: core.Pod, out: FieldErrors) -> None:
    validate_pod(pod, out)
    if pod.spec.ephemeral_containers:
        out.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if pod.spec.node_name and pod.spec.scheduling_gates:
        detail = "cannot be set until all schedulingGates have been cleared"
        out.append(forbidden("spec.nodeName", detail))
    validate_profiles_match(pod.metadata.annotations, pod.spec, "spec", out)


def validate_pod_update(new: core.Pod, old: core.Pod, out: FieldErrors) -> None:
    """Images, the deadline (shorter only), more tolerations, fewer gates; a gated pod's node affinity too."""
    validate_pod(new, out, known=old.spec)
    _validate_annotation_changes(new.metadata.annotations, old.metadata.annotations, out)
    before, after = old.spec, new.spec
    if after == before:
        return
    pairs = (
        ("containers", after.containers, before.containers),
        ("initContainers", after.init_containers, before.init_containers),
    )
    for wire, changed, known in pairs:
        if len(changed) != len(known):
            out.append(forbidden(f"spec.{wire}", "pod updates may not add or remove containers"))
            return
    if not _validate_deadline(after.active_deadline_seconds, before.active_deadline_seconds, out):
        return
    _validate_only_added(after.tolerations, before.tolerations, "spec.tolerations", out)
    _validate_only_removed_gates(after.scheduling_gates, before.scheduling_gates, "spec.schedulingGates", out)
    masked = _mask_mutable(after, before, out)
    if masked != before:
        detail = f"pod updates may not change fields other than {_UPDATABLE}\n{describe(before, masked)}"
        out.append(forbidden("spec", detail))


def _mask_mutable(new: core.PodSpec, old: core.PodSpec, out: FieldErrors) -> core.PodSpec:
    """The new spec with the old values where a change is allowed."""
    masked: core.PodSpec = deepcopy(new)
    for containers, known in ((masked.containers, old.containers), (masked.init_containers, old.init_containers)):
        for container, previous in zip(containers, known, strict=True):
            container.image = previous.image
    masked.active_deadline_seconds = old.active_deadline_seconds
    masked.scheduling_gates = old.scheduling_gates
    masked.tolerations = old.tolerations
    grace = old.termination_grace_period_seconds
    if grace is not None and grace < 0 and masked.termination_grace_period_seconds == 1:
        masked.termination_grace_period_seconds = grace
    if old.scheduling_gates:
        _mask_placement(masked, old, out)
    return masked


def _mask_placement(masked: core.PodSpec, old: core.PodSpec, out: FieldErrors) -> None:
    """A gated pod (KEP-3838) may still be narrowed to fewer nodes."""
    if masked.node_selector != old.node_selector:
        validate_node_selector_growth(masked.node_selector, old.node_selector, "spec.nodeSelector", out)
        masked.node_selector = old.node_selector
    before = old.affinity.node_affinity if old.affinity is not None else None
    after = masked.affinity.node_affinity if masked.affinity is not None else None
    if before == after:
        return
    validate_node_affinity_growth(after, before, "spec.affinity.nodeAffinity", out)
    if masked.affinity is None:
        masked.affinity = core.Affinity(node_affinity=before)
        return
    masked.affinity.node_affinity = before
    if old.affinity is None and masked.affinity == core.Affinity():
        masked.affinity = None


def _validate_annotation_changes(new: Mapping[str, str], old: Mapping[str, str], out: FieldErrors) -> None:
    """What tells a mirror pod, and profiles, are fixed for a pod's life."""
    for key in old.keys() | new.keys():
        if new.get(key) == old.get(key):
            continue
        where = f"metadata.annotations[{key}]"
        action = "remove or update" if key in old else "add"
        if key.startswith(APPARMOR_CONTAINER):
            out.append(forbidden(where, f"may not {action} AppArmor annotations"))
        elif key == CONFIG_MIRROR:
            out.append(forbidden(where, f"may not {action} mirror pod annotation"))


def _validate_deadline(new: int | None, old: int | None, out: FieldErrors) -> bool:
    """From none to some, or shorter. Returns false when the rest of the checks would only confuse."""
    where = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            out.append(invalid(where, new, "must not update from a positive integer to nil value"))
        return True
    if not 0 <= new <= _MAX_DEADLINE:
        out.append(invalid(where, new, names.range_error(0, _MAX_DEADLINE)))
        return False
    if old is not None and old < new:
        out.append(invalid(where, new, "must be less than or equal to previous value"))
        return False
    return True


def _validate_only_added(
    new: Sequence[core.Toleration], old: Sequence[core.Toleration], path: str, out: FieldErrors
) -> None:
    def identity(toleration: core.Toleration) -> tuple[str, str, str, str]:
        return toleration.key, toleration.operator, toleration.value, toleration.effect

    if {identity(item) for item in old} - {identity(item) for item in new}:
        detail = "existing toleration can not be modified except its tolerationSeconds"
        out.append(forbidden(path, detail))
        return
    if new != old:
        validate_tolerations(new, path, out)


def _validate_only_removed_gates(
    new: Sequence[core.PodSchedulingGate], old: Sequence[core.PodSchedulingGate], path: str, out: FieldErrors
) -> None:
    known = {gate.name for gate in old}
    for index, gate in enumerate(new):
        if gate.name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.name}'"
            out.append(forbidden(f"{path}[{index}].name", detail))


def validate_pod_status_update(new: core.Pod, old: core.Pod, out: FieldErrors) -> None:
    _validate_annotation_changes(new.metadata.annotations, old.metadata.annotations, out)
    for index, condition in enumerate(new.status.conditions):
        if condition.type not in _SYSTEM_CONDITIONS:
            qualified(condition.type, f"metadata.conditions[{index}].Type", out)
    if new.spec.node_name != old.spec.node_name:
        out.append(forbidden("status.nodeName", "may not be changed directly"))
    nominated = new.status.nominated_node_name
    if nominated and nominated != old.status.nominated_node_name and (bad := names.dns1123_subdomain(nominated)):
        complain(out, "status.nominatedNodeName", nominated, bad)
    immutable(new.status.qos_class, old.status.qos_class, "status.qosClass", out)
    _validate_transitions(old, new.status.container_statuses, old.status.container_statuses, "container", out)
    _validate_transitions(
        old, new.status.init_container_statuses, old.status.init_container_statuses, "initContainer", out
    )
    _validate_transitions(
        old,
        new.status.ephemeral_container_statuses,
        old.status.ephemeral_container_statuses,
        "ephemeralContainer",
        out,
    )
    _validate_addresses(new.status, out)


def _validate_transitions(
    pod: core.Pod,
    new: Sequence[core.ContainerStatus],
    old: Sequence[core.ContainerStatus],
    sort: str,
    out: FieldErrors,
) -> None:
    """A container that ended for good stays ended."""
    running = {status.name for status in new if status.state.terminated is None}
    for index, status in enumerate(old):
        ended = status.state.terminated
        if ended is not None and status.name in running and not _restarts(pod, status.name, ended.exit_code):
            where = f"status.{sort}Statuses[{index}].state"
            out.append(forbidden(where, "may not be transitioned to non-terminated state"))


def _restarts(pod: core.Pod, name: str, exit_code: int) -> bool:
    container = find_container(pod.spec, name)
    if not isinstance(container, core.Container):
        return False
    return may_restart_all(pod) or restarts_after(pod, container, exit_code)


def _validate_addresses(status: core.PodStatus, out: FieldErrors) -> None:
    _validate_family_list([item.ip for item in status.pod_ips], status.pod_ips, "status.podIPs", out)
    if status.host_ips:
        if status.host_ip != status.host_ips[0].ip:
            out.append(invalid("status.hostIPs[0].ip", status.host_ips[0].ip, "must be equal to `hostIP`"))
        _validate_family_list([item.ip for item in status.host_ips], status.host_ips, "status.hostIPs", out)


def _validate_family_list(
    addresses: list[str], shown: Sequence[core.PodIP | core.HostIP], path: str, out: FieldErrors
) -> None:
    """One address per IP family, at most two."""
    for index, address in enumerate(addresses):
        validate_address(address, f"{path}[{index}]", out)
    if len(addresses) < 2:
        return
    if len(addresses) > 2 or len(families(addresses)) != 2:
        out.append(invalid(path, list(shown), "may specify no more than one IP for each IP family"))
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            out.append(duplicate(f"{path}[{index}]", shown[index]))


def validate_binding(binding: core.Binding, out: FieldErrors) -> None:
    """The body of pods/binding: a node's name."""
    if binding.target.kind not in ("", "Node"):
        out.append(not_supported("target.kind", binding.target.kind, ("Node", "<empty>")))
    if not binding.target.name:
        out.append(required("target.name"))


def validate_ephemeral_update(new: core.Pod, old: core.Pod, out: FieldErrors) -> None:
    """pods/ephemeralcontainers: more of them may come, none may change or go."""
    if is_mirror(old):
        out.append(forbidden(WHOLE, "static pods do not support ephemeral containers"))
        return
    validate_pod(new, out)
    kept = {container.name: container for container in new.spec.ephemeral_containers}
    for container in old.spec.ephemeral_containers:
        now = kept.get(container.name)
        if now is None:
            detail = f'existing ephemeral containers "{container.name}" may not be removed\n'
            out.append(forbidden("spec.ephemeralContainers", detail))
        elif now != container:
            detail = f'existing ephemeral containers "{container.name}" may not be changed\n'
            out.append(forbidden("spec.ephemeralContainers", detail + describe(container, now)))


def validate_resize(new: core.Pod, old: core.Pod, out: FieldErrors) -> None:
    """pods/resize (KEP-1287): cpu and memory of regular containers and sidecars, within the QoS class."""
    refusal = ""
    if is_mirror(old):
        refusal = "static pods cannot be resized"
    elif old.spec.os is not None and old.spec.os.name == "windows":
        refusal = "windows pods cannot be resized"
    if refusal:
        out.append(forbidden(WHOLE, refusal))
        return
    validate_pod(new, out)
    if qos_class(old) != compute_qos_class(new.spec):
        detail = "Pod QOS Class may not change as a result of resizing"
        out.append(invalid("spec", new.status.qos_class, detail))
    masked: core.PodSpec = deepcopy(new.spec)
    groups = (
        ("containers", masked.containers, old.spec.containers),
        ("initContainers", masked.init_containers, old.spec.init_containers),
    )
    for wire, changed, known in groups:
        for index, (container, previous) in enumerate(zip(changed, known, strict=False)):
            if wire == "initContainers" and not is_restartable_init(previous):
                if container != previous:
                    detail = "resources for non-sidecar init containers are immutable"
                    out.append(forbidden("spec", detail))
                continue
            _validate_container_resize(container, previous, f"spec.{wire}[{index}].resources", out)
            for part, before in (
                (container.resources.limits, previous.resources.limits),
                (container.resources.requests, previous.resources.requests),
            ):
                _restore(part, before)
    if masked != old.spec:
        out.append(forbidden("spec", "only cpu and memory resources are mutable"))


def _restore(part: dict[str, Quantity], before: Mapping[str, Quantity]) -> None:
    for name in _RESIZABLE:
        part.pop(name, None)
        if name in before:
            part[name] = before[name]


def _validate_container_resize(new: core.Container, old: core.Container, path: str, out: FieldErrors) -> None:
    if old.resources.requests.keys() - new.resources.requests.keys():
        out.append(forbidden(f"{path}.requests", "resource requests cannot be removed"))
    if old.resources.limits.keys() - new.resources.limits.keys():
        out.append(forbidden(f"{path}.limits", "resource limits cannot be removed"))
