"""Defaults of pods and of the pod templates in other objects.

A template gets less than a pod: requests from limits, service links and host ports of the host network are filled in
only when the pod itself is made, so that old templates do not change under their owners.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from api import core_v1 as core
from api.pod_resources import aggregate_limits, aggregate_requests, is_pod_level
from api.quantity import Quantity
from api.resource_names import is_hugepages, is_overcommittable

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_GRACE_PERIOD = 30
TERMINATION_MESSAGE_PATH = "/dev/termination-log"
FILE_MODE = 0o644
TOKEN_EXPIRATION = 3600

AnyContainer = core.Container | core.EphemeralContainer

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_match_reference = re.compile(
    rf"(?:(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_PATH_PART}(?:/{_PATH_PART})*"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
).fullmatch
_MILLI = 10**6


def pull_policy(image: str) -> str:
    """Always for an image tagged `latest` or not at all, IfNotPresent for another tag, a digest, or no image name."""
    reference = _match_reference(image)
    if reference is None:
        return "IfNotPresent"
    tag = reference["tag"] or ("" if reference["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def default_pod(pod: core.Pod) -> None:
    spec = pod.spec
    default_pod_spec(spec)
    for container in spec.containers:
        _requests_from_limits(container.resources)
    for container in spec.init_containers:
        _requests_from_limits(container.resources)
    if spec.resources is not None:
        _default_pod_resources(spec, spec.resources)
    if spec.enable_service_links is None:
        spec.enable_service_links = True
    if spec.host_network:
        _host_ports_from_container_ports(spec.containers)
        _host_ports_from_container_ports(spec.init_containers)
    _one_address_in_both_fields(pod.status)


def _one_address_in_both_fields(status: core.PodStatus) -> None:
    """`podIP` is the older name of the first of `podIPs`, and wins where they differ."""
    if status.pod_ip:
        if not status.pod_ips or status.pod_ips[0].ip != status.pod_ip:
            status.pod_ips = [core.PodIP(ip=status.pod_ip)]
    elif status.pod_ips:
        status.pod_ip = status.pod_ips[0].ip


def default_template(template: core.PodTemplateSpec) -> None:
    default_pod_spec(template.spec)


def default_pod_spec(spec: core.PodSpec) -> None:
    if not spec.dns_policy:
        spec.dns_policy = "ClusterFirst"
    if not spec.restart_policy:
        spec.restart_policy = "Always"
    if spec.security_context is None:
        spec.security_context = core.PodSecurityContext()
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = DEFAULT_GRACE_PERIOD
    if not spec.scheduler_name:
        spec.scheduler_name = DEFAULT_SCHEDULER
    # Two fields for one thing; the longer name is the newer one.
    if spec.service_account_name:
        spec.service_account = spec.service_account_name
    elif spec.service_account:
        spec.service_account_name = spec.service_account
    for volume in spec.volumes:
        default_volume(volume)
    for container in spec.init_containers:
        _default_container(container)
    for container in spec.containers:
        _default_container(container)
    for ephemeral in spec.ephemeral_containers:
        _default_container(ephemeral)
    if spec.overhead:
        round_amounts(spec.overhead)
    if spec.resources is not None:
        round_amounts(spec.resources.limits)
        round_amounts(spec.resources.requests)


def round_amounts(amounts: dict[str, Quantity]) -> None:
    """Amounts are kept to the thousandth: what is finer is rounded up."""
    for name, amount in amounts.items():
        if amount.nano % _MILLI:
            amounts[name] = Quantity.from_milli(amount.milli(), amount.format)


def _default_container(container: AnyContainer) -> None:
    if not container.image_pull_policy:
        container.image_pull_policy = pull_policy(container.image)
    if not container.termination_message_path:
        container.termination_message_path = TERMINATION_MESSAGE_PATH
    if not container.termination_message_policy:
        container.termination_message_policy = "File"
    for port in container.ports:
        if not port.protocol:
            port.protocol = "TCP"
    for variable in container.env:
        source = variable.value_from
        if source is not None:
            if source.field_ref is not None and not source.field_ref.api_version:
                source.field_ref.api_version = "v1"
            if source.file_key_ref is not None and source.file_key_ref.optional is None:
                source.file_key_ref.optional = False
    resources = container.resources
    if resources.limits or resources.requests:
        round_amounts(resources.limits)
        round_amounts(resources.requests)
    for probe in (container.liveness_probe, container.readiness_probe, container.startup_probe):
        if probe is not None:
            _default_probe(probe)
    if container.lifecycle is not None:
        for handler in (container.lifecycle.post_start, container.lifecycle.pre_stop):
            if handler is not None and handler.http_get is not None:
                _default_http_get(handler.http_get)
    context = container.security_context
    if context is not None and context.proc_mount == "":
        context.proc_mount = "Default"


def _default_probe(probe: core.Probe) -> None:
    if not probe.timeout_seconds:
        probe.timeout_seconds = 1
    if not probe.period_seconds:
        probe.period_seconds = 10
    if not probe.success_threshold:
        probe.success_threshold = 1
    if not probe.failure_threshold:
        probe.failure_threshold = 3
    if probe.http_get is not None:
        _default_http_get(probe.http_get)
    if probe.grpc is not None and probe.grpc.service is None:
        probe.grpc.service = ""


def _default_http_get(action: core.HTTPGetAction) -> None:
    if not action.path:
        action.path = "/"
    if not action.scheme:
        action.scheme = "HTTP"


def _requests_from_limits(resources: core.ResourceRequirements) -> None:
    for name, amount in resources.limits.items():
        resources.requests.setdefault(name, amount)


def _host_ports_from_container_ports(containers: Sequence[core.Container]) -> None:
    for container in containers:
        for port in container.ports:
            if not port.host_port:
                port.host_port = port.container_port


def _default_pod_resources(spec: core.PodSpec, resources: core.ResourceRequirements) -> None:
    """Pod-level requests follow from the containers' and from the pod's limits (KEP-2837)."""
    if resources.limits or resources.requests:
        for name, amount in aggregate_limits(spec).items():
            if is_hugepages(name) and name not in resources.requests:
                resources.limits.setdefault(name, amount)
    if not resources.limits:
        return
    for name, amount in aggregate_requests(spec).items():
        if is_pod_level(name) and is_overcommittable(name):
            resources.requests.setdefault(name, amount)
    for name, amount in resources.limits.items():
        if is_pod_level(name):
            resources.requests.setdefault(name, amount)


_VOLUME_SOURCES = tuple(name for name in core.Volume.__struct_fields__ if name != "name")


def default_volume(volume: core.Volume) -> None:
    """A volume without a source is an emptyDir; files of projections are 0644."""
    if volume.config_map is not None:
        _default_mode(volume.config_map)
    elif volume.secret is not None:
        _default_mode(volume.secret)
    elif volume.projected is not None:
        _default_projected(volume.projected)
    elif volume.downward_api is not None:
        _default_mode(volume.downward_api)
        _default_field_refs(volume.downward_api.items)
    elif volume.host_path is not None:
        if volume.host_path.type is None:
            volume.host_path.type = ""
    elif volume.image is not None:
        if not volume.image.pull_policy:
            volume.image.pull_policy = pull_policy(volume.image.reference)
    elif volume.ephemeral is not None:
        template = volume.ephemeral.volume_claim_template
        if template is not None:
            default_claim_spec(template.spec)
    else:
        _default_other_volume(volume)


def default_claim_spec(spec: core.PersistentVolumeClaimSpec) -> None:
    if spec.volume_mode is None:
        spec.volume_mode = "Filesystem"
    round_amounts(spec.resources.limits)
    round_amounts(spec.resources.requests)


def _default_mode(
    source: core.ConfigMapVolumeSource
    | core.SecretVolumeSource
    | core.DownwardAPIVolumeSource
    | core.ProjectedVolumeSource,
) -> None:
    if source.default_mode is None:
        source.default_mode = FILE_MODE


def _default_field_refs(files: Sequence[core.DownwardAPIVolumeFile]) -> None:
    for file in files:
        if file.field_ref is not None and not file.field_ref.api_version:
            file.field_ref.api_version = "v1"


def _default_projected(source: core.ProjectedVolumeSource) -> None:
    _default_mode(source)
    for projection in source.sources:
        token = projection.service_account_token
        if token is not None and token.expiration_seconds is None:
            token.expiration_seconds = TOKEN_EXPIRATION
        if projection.downward_api is not None:
            _default_field_refs(projection.downward_api.items)
        certificate = projection.pod_certificate
        if certificate is not None and certificate.max_expiration_seconds is None:
            certificate.max_expiration_seconds = 86400


def _default_other_volume(volume: core.Volume) -> None:
    if all(getattr(volume, name) is None for name in _VOLUME_SOURCES):
        volume.empty_dir = core.EmptyDirVolumeSource()
    if volume.iscsi is not None:
        default_iscsi(volume.iscsi)
    if volume.rbd is not None:
        default_rbd(volume.rbd)
    if volume.azure_disk is not None:
        default_azure_disk(volume.azure_disk)
    if volume.scale_io is not None:
        default_scale_io(volume.scale_io)


def default_iscsi(source: core.ISCSIVolumeSource | core.ISCSIPersistentVolumeSource) -> None:
    if not source.iscsi_interface:
        source.iscsi_interface = "default"


def default_rbd(source: core.RBDVolumeSource | core.RBDPersistentVolumeSource) -> None:
    source.pool = source.pool or "rbd"
    source.user = source.user or "admin"
    source.keyring = source.keyring or "/etc/ceph/keyring"


def default_azure_disk(source: core.AzureDiskVolumeSource) -> None:
    if source.caching_mode is None:
        source.caching_mode = "ReadWrite"
    if source.kind is None:
        source.kind = "Shared"
    if source.fs_type is None:
        source.fs_type = "ext4"
    if source.read_only is None:
        source.read_only = False


def default_scale_io(source: core.ScaleIOVolumeSource | core.ScaleIOPersistentVolumeSource) -> None:
    source.storage_mode = source.storage_mode or "ThinProvisioned"
    source.fs_type = source.fs_type or "xfs"
