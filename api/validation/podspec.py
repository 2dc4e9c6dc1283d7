"""The spec of a pod, as it stands in pods and in the templates of workloads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from api import core_v1 as core
from api import meta_v1 as meta
from api import names
from api.fields import WHOLE, FieldErrors, duplicate, forbidden, invalid, required
from api.pod_resources import aggregate_requests
from api.validation.addresses import validate_address
from api.validation.checks import complain, dns_label, dns_subdomain, one_of, qualified, required_one_of
from api.validation.containers import (
    Surroundings,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from api.validation.metadata import validate_annotations, validate_labels
from api.validation.resources import (
    ZERO,
    validate_pod_resource_name,
    validate_requirements,
)
from api.validation.scheduling import validate_affinity, validate_spread, validate_tolerations
from api.validation.security import (
    validate_pod_security,
    validate_profile_annotations,
    validate_profiles_match,
    visit_containers,
)
from api.validation.volumes import validate_volumes
from api.validation.windows import validate_host_process, validate_os

RESTART_POLICIES = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMESERVERS = 3
_SEARCH_PATHS = 32
_SEARCH_BYTES = 2048
_MAX_DEADLINE = 2**31 - 1
_HOSTNAME_OVERRIDE_LIMIT = 64
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR = "kubernetes.io/config.mirror"


def validate_pod_spec(spec: core.PodSpec, metadata: meta.ObjectMeta | None, path: str, out: FieldErrors) -> None:
    """Checks a spec whole. `metadata` is that of the pod; None when the spec stands in a template."""
    if spec.termination_grace_period_seconds is None:
        out.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes = (
        validate_volumes(spec.volumes, metadata, f"{path}.volumes", out, in_pod=metadata is not None)
        if spec.volumes
        else {}
    )
    claims = {claim.name for claim in spec.resource_claims if claim.name}
    if spec.resource_claims:
        _validate_resource_claims(spec.resource_claims, f"{path}.resourceClaims", out)
    host_users = spec.host_users is not False
    pod = Surroundings(volumes, claims, spec.termination_grace_period_seconds, spec.restart_policy, host_users)
    validate_containers(spec.containers, pod, f"{path}.containers", out)
    if spec.init_containers:
        validate_init_containers(spec, pod, f"{path}.initContainers", out)
    if spec.ephemeral_containers:
        validate_ephemeral_containers(spec, pod, f"{path}.ephemeralContainers", out)
    if spec.resources is not None:
        _validate_pod_resources(spec, spec.resources, claims, f"{path}.resources", out)
    if spec.host_network:
        _validate_host_network_ports(spec, path, out, in_pod=metadata is not None)
    _validate_policies(spec, path, out)
    if spec.node_selector:
        validate_labels(spec.node_selector, f"{path}.nodeSelector", out)
    validate_pod_security(spec, path, out)
    if spec.affinity is not None:
        validate_affinity(spec.affinity, f"{path}.affinity", out)
    _validate_dns(spec, f"{path}.dnsConfig", out)
    for index, readiness in enumerate(spec.readiness_gates):
        qualified(readiness.condition_type, f"{path}.readinessGates[{index}].conditionType", out)
    if spec.scheduling_gates:
        _validate_scheduling_gates(spec.scheduling_gates, f"{path}.schedulingGates", out)
    if spec.topology_spread_constraints:
        validate_spread(spec.topology_spread_constraints, f"{path}.topologySpreadConstraints", out)
    validate_host_process(spec, path, visit_containers, out)
    if not host_users:
        _validate_user_namespace(spec, path, out)
    _validate_names(spec, path, out)
    if spec.tolerations:
        validate_tolerations(spec.tolerations, f"{path}.tolerations", out)
    if spec.host_aliases:
        _validate_host_aliases(spec.host_aliases, f"{path}.hostAliases", out)
    if spec.overhead:
        overhead = core.ResourceRequirements(limits=spec.overhead)
        validate_requirements(overhead, (), f"{path}.overhead", out)
    validate_os(spec, path, visit_containers, out)


def validate_template(template: core.PodTemplateSpec, path: str, out: FieldErrors) -> None:
    """The pod template of a workload."""
    metadata = template.metadata
    if metadata.labels:
        validate_labels(metadata.labels, f"{path}.labels", out)
    if metadata.annotations:
        validate_annotations(metadata.annotations, f"{path}.annotations", out)
        validate_pod_annotations(metadata.annotations, template.spec, f"{path}.annotations", out)
    validate_pod_spec(template.spec, None, f"{path}.spec", out)
    validate_profiles_match(metadata.annotations, template.spec, f"{path}.spec", out)
    if template.spec.ephemeral_containers:
        detail = "ephemeral containers not allowed in pod template"
        out.append(forbidden(f"{path}.spec.ephemeralContainers", detail))


def validate_pod_annotations(annotations: dict[str, str], spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    """Annotations that mean something to the system; `path` is theirs."""
    if _MIRROR in annotations and not spec.node_name:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        out.append(invalid(f"{path}[{_MIRROR}]", annotations[_MIRROR], detail))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        out.append(invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))
    validate_profile_annotations(annotations, spec, path, out)


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    if not (digits.isdigit() and digits.isascii()) or (digits[0] == "0" and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31 if len(digits) <= 10 else False


def _validate_policies(spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    if spec.restart_policy not in RESTART_POLICIES:
        required_one_of(spec.restart_policy, RESTART_POLICIES, f"{path}.restartPolicy", out, ordered=True)
    if spec.dns_policy not in _DNS_POLICIES:
        required_one_of(spec.dns_policy, _DNS_POLICIES, f"{path}.dnsPolicy", out, ordered=True)
    if spec.preemption_policy is not None:
        required_one_of(spec.preemption_policy, PREEMPTION_POLICIES, f"{path}.preemptionPolicy", out, ordered=True)
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= _MAX_DEADLINE:
        detail = names.range_error(1, _MAX_DEADLINE)
        out.append(invalid(f"{path}.activeDeadlineSeconds", deadline, detail))


def _validate_names(spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    if spec.service_account_name:
        dns_subdomain(spec.service_account_name, f"{path}.serviceAccountName", out)
    if spec.node_name:
        dns_subdomain(spec.node_name, f"{path}.nodeName", out)
    if spec.hostname:
        dns_label(spec.hostname, f"{path}.hostname", out)
    if spec.subdomain:
        dns_label(spec.subdomain, f"{path}.subdomain", out)
    if spec.priority_class_name:
        dns_subdomain(spec.priority_class_name, f"{path}.priorityClassName", out)
    if spec.runtime_class_name is not None:
        dns_subdomain(spec.runtime_class_name, f"{path}.runtimeClassName", out)
    if spec.hostname_override is not None:
        _validate_hostname_override(spec, spec.hostname_override, f"{path}.hostnameOverride", out)


def _validate_hostname_override(spec: core.PodSpec, hostname: str, path: str, out: FieldErrors) -> None:
    """The whole hostname (KEP-4762): the kernel takes 64 bytes."""
    if names.byte_length(hostname) > _HOSTNAME_OVERRIDE_LIMIT:
        out.append(invalid(path, hostname, names.max_length_error(_HOSTNAME_OVERRIDE_LIMIT)))
    dns_subdomain(hostname, path, out)
    if spec.set_hostname_as_fqdn:
        out.append(forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
    if spec.host_network:
        out.append(forbidden(path, "may not be specified when hostNetwork is true"))


def _validate_resource_claims(claims: Sequence[core.PodResourceClaim], path: str, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where = f"{path}[{index}]"
        if not claim.name:
            out.append(required(f"{where}.name"))
        elif claim.name in seen:
            out.append(duplicate(f"{where}.name", claim.name))
        else:
            dns_label(claim.name, f"{where}.name", out)
            seen.add(claim.name)
        name, template = claim.resource_claim_name, claim.resource_claim_template_name
        if name is not None and template is not None:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            out.append(invalid(where, claim, detail))
        if name is None and template is None:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            out.append(invalid(where, claim, detail))
        if name is not None:
            dns_subdomain(name, f"{where}.resourceClaimName", out)
        if template is not None:
            dns_subdomain(template, f"{where}.resourceClaimTemplateName", out)


def _validate_pod_resources(
    spec: core.PodSpec,
    resources: core.ResourceRequirements,
    claims: Collection[str],
    path: str,
    out: FieldErrors,
) -> None:
    """Pod-level resources (KEP-2837): no less than the containers request together, no limit above them."""
    if resources.claims:
        out.append(forbidden(f"{path}.claims", "claims cannot be set for Resources at pod-level"))
    validate_requirements(resources, claims, path, out, validate_pod_resource_name)
    for name, amount in aggregate_requests(spec).items():
        own = resources.requests.get(name, ZERO)
        if amount > own:
            detail = f"must be greater than or equal to aggregate container requests of {amount}"
            out.append(invalid(f"{path}.requests[{name}]", str(own), detail))
    for index, container in enumerate(spec.containers):
        for name, amount in container.resources.limits.items():
            limit = resources.limits.get(name)
            if limit is not None and amount > limit:
                where = f"{path}.containers[{index}][{name}].limits"
                out.append(invalid(where, str(amount), f"must be less than or equal to pod limits of {limit}"))


def _validate_host_network_ports(spec: core.PodSpec, path: str, out: FieldErrors, *, in_pod: bool) -> None:
    for index, container in enumerate(spec.containers):
        for position, port in enumerate(container.ports):
            if (in_pod or port.host_port) and port.host_port != port.container_port:
                where = f"{path}.containers[{index}].ports[{position}].hostPort"
                detail = "must match `containerPort` when `hostNetwork` is true"
                out.append(invalid(where, port.host_port, detail))


def _validate_user_namespace(spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    """A pod with a user namespace of its own (KEP-127) shares no other namespace with the host."""
    detail = "when `pod.Spec.HostUsers` is false"
    if spec.host_network:
        out.append(forbidden(f"{path}.hostNetwork", detail))
    if spec.host_pid:
        out.append(forbidden(f"{path}.HostPID", detail))
    if spec.host_ipc:
        out.append(forbidden(f"{path}.HostIPC", detail))


def _validate_dns(spec: core.PodSpec, path: str, out: FieldErrors) -> None:
    config = spec.dns_config
    if spec.dns_policy == "None":
        if config is None:
            out.append(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.nameservers:
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            out.append(required(f"{path}.nameservers", detail))
            return
    if config is None:
        return
    if len(config.nameservers) > _NAMESERVERS:
        detail = f"must not have more than {_NAMESERVERS} nameservers"
        out.append(invalid(f"{path}.nameservers", config.nameservers, detail))
    for index, server in enumerate(config.nameservers):
        validate_address(server, f"{path}.nameservers[{index}]", out)
    if len(config.searches) > _SEARCH_PATHS:
        detail = f"must not have more than {_SEARCH_PATHS} search paths"
        out.append(invalid(f"{path}.searches", config.searches, detail))
    if names.byte_length(" ".join(config.searches)) > _SEARCH_BYTES:
        detail = f"must not have more than {_SEARCH_BYTES} characters (including spaces) in the search list"
        out.append(invalid(f"{path}.searches", config.searches, detail))
    for index, search in enumerate(config.searches):
        if search == ".":
            continue
        domain = search.removesuffix(".")
        if bad := names.dns1123_subdomain_with_underscore(domain):
            complain(out, f"{path}.searches[{index}]", domain, bad)
    for index, option in enumerate(config.options):
        if not option.name:
            out.append(required(f"{path}.options[{index}]", "must not be empty"))


def _validate_scheduling_gates(gates: Sequence[core.PodSchedulingGate], path: str, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        qualified(gate.name, f"{path}[{index}]", out)
        if gate.name in seen:
            out.append(duplicate(f"{path}[{index}]", gate.name))
        seen.add(gate.name)


def _validate_host_aliases(aliases: Sequence[core.HostAlias], path: str, out: FieldErrors) -> None:
    for index, alias in enumerate(aliases):
        validate_address(alias.ip, f"{path}[{index}].ip", out)
        for position, hostname in enumerate(alias.hostnames):
            dns_subdomain(hostname, f"{path}[{index}].hostnames[{position}]", out)


def validate_log_options(options: core.PodLogOptions, out: FieldErrors) -> None:
    """The query of a request for logs."""
    if options.tail_lines is not None and options.tail_lines < 0:
        out.append(invalid("tailLines", options.tail_lines, "must be greater than or equal to 0"))
    if options.limit_bytes is not None and options.limit_bytes < 1:
        out.append(invalid("limitBytes", options.limit_bytes, "must be greater than 0"))
    if options.since_seconds is not None:
        if options.since_time is not None:
            detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
            out.append(forbidden(WHOLE, detail))
        elif options.since_seconds < 1:
            out.append(invalid("sinceSeconds", options.since_seconds, "must be greater than 0"))
    if options.stream is not None:
        one_of(options.stream, ("All", "Stderr", "Stdout"), "stream", out)
        if options.stream != "All" and options.tail_lines is not None:
            out.append(forbidden(WHOLE, "`tailLines` and specific `stream` are mutually exclusive for now"))
