"""Tables of who may do what, and of what extends the API server."""

from __future__ import annotations

from api import admissionregistration_v1 as admissionregistration
from api import apiregistration_v1 as apiregistration
from api import certificates_v1 as certificates
from api import flowcontrol_v1 as flowcontrol
from api import meta_v1 as meta
from api import node_v1 as node
from api import rbac_v1 as rbac
from api import resource_v1 as resource
from controlplane.apiserver.tables.ages import human, since
from controlplane.apiserver.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Printer,
    column,
    label_selector,
    number,
)


def _binding(item: rbac.RoleBinding | rbac.ClusterRoleBinding, now: float) -> list[Cell]:
    named: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in item.subjects:
        full = f"{subject.namespace}/{subject.name}" if subject.kind == "ServiceAccount" else subject.name
        named.setdefault(subject.kind, []).append(full)
    return [
        item.metadata.name,
        f"{item.role_ref.kind}/{item.role_ref.name}",
        since(item.metadata.creation_timestamp, now),
        ", ".join(named["User"]),
        ", ".join(named["Group"]),
        ", ".join(named["ServiceAccount"]),
    ]


def _signing_request(item: certificates.CertificateSigningRequest, now: float) -> list[Cell]:
    conditions = {condition.type for condition in item.status.conditions}
    state = "Denied" if "Denied" in conditions else "Approved" if "Approved" in conditions else "Pending"
    if "Failed" in conditions:
        state += ",Failed"
    if item.status.certificate:
        state += ",Issued"
    lifetime = item.spec.expiration_seconds
    return [
        item.metadata.name,
        since(item.metadata.creation_timestamp, now),
        item.spec.signer_name or NONE,
        item.spec.username,
        NONE if lifetime is None else human(lifetime),
        state,
    ]


def _webhooks(
    item: admissionregistration.MutatingWebhookConfiguration | admissionregistration.ValidatingWebhookConfiguration,
    now: float,
) -> list[Cell]:
    return [item.metadata.name, len(item.webhooks), since(item.metadata.creation_timestamp, now)]


def _kind(kind: admissionregistration.ParamKind | None) -> str:
    return UNSET if kind is None else f"{kind.api_version}/{kind.kind}"


def _parameter(reference: admissionregistration.ParamRef | None) -> str:
    if reference is None:
        return UNSET
    if reference.name:
        return f"{reference.namespace or '*'}/{reference.name}"
    return UNSET if reference.selector is None else label_selector(reference.selector)


def _validating_policy(item: admissionregistration.ValidatingAdmissionPolicy, now: float) -> list[Cell]:
    return [
        item.metadata.name,
        len(item.spec.validations),
        _kind(item.spec.param_kind),
        since(item.metadata.creation_timestamp, now),
    ]


def _mutating_policy(item: admissionregistration.MutatingAdmissionPolicy, now: float) -> list[Cell]:
    return [
        item.metadata.name,
        len(item.spec.mutations),
        _kind(item.spec.param_kind),
        since(item.metadata.creation_timestamp, now),
    ]


def _policy_binding(
    item: admissionregistration.ValidatingAdmissionPolicyBinding | admissionregistration.MutatingAdmissionPolicyBinding,
    now: float,
) -> list[Cell]:
    return [
        item.metadata.name,
        item.spec.policy_name,
        _parameter(item.spec.param_ref),
        since(item.metadata.creation_timestamp, now),
    ]


def _flow_schema(item: flowcontrol.FlowSchema, now: float) -> list[Cell]:
    method = item.spec.distinguisher_method
    dangling = next((entry.status for entry in item.status.conditions if entry.type == "Dangling"), "?")
    return [
        item.metadata.name,
        item.spec.priority_level_configuration.name,
        item.spec.matching_precedence,
        NONE if method is None else method.type,
        since(item.metadata.creation_timestamp, now),
        dangling,
    ]


def _priority_level(item: flowcontrol.PriorityLevelConfiguration, now: float) -> list[Cell]:
    limited = item.spec.limited
    shares: Cell = NONE
    queues: list[Cell] = [NONE, NONE, NONE]
    if limited is not None:
        shares = limited.nominal_concurrency_shares or 0
        queuing = None if limited.limit_response is None else limited.limit_response.queuing
        if queuing is not None:
            queues = [queuing.queues, queuing.hand_size, queuing.queue_length_limit]
    return [item.metadata.name, item.spec.type, shares, *queues, since(item.metadata.creation_timestamp, now)]


def _api_service(item: apiregistration.APIService, now: float) -> list[Cell]:
    service = item.spec.service
    available = next((entry for entry in item.status.conditions if entry.type == "Available"), None)
    state = "Unknown"
    if available is not None:
        state = "True" if available.status == "True" else f"{available.status} ({available.reason})"
    return [
        item.metadata.name,
        "Local" if service is None else f"{service.namespace}/{service.name}",
        state,
        since(item.metadata.creation_timestamp, now),
    ]


def _runtime_class(item: node.RuntimeClass, now: float) -> list[Cell]:
    return [item.metadata.name, item.handler, since(item.metadata.creation_timestamp, now)]


def _resource_claim(item: resource.ResourceClaim, now: float) -> list[Cell]:
    states = ["deleted"] if item.metadata.deletion_timestamp is not None else []
    if item.status.allocation is not None:
        states.append("allocated")
        if item.status.reserved_for:
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [item.metadata.name, ",".join(states), since(item.metadata.creation_timestamp, now)]


def _resource_slice(item: resource.ResourceSlice, now: float) -> list[Cell]:
    spec = item.spec
    return [
        item.metadata.name,
        spec.node_name or "",
        spec.driver,
        spec.pool.name,
        since(item.metadata.creation_timestamp, now),
    ]


def _name_and_age(item: meta.Object, now: float) -> list[Cell]:
    return [item.metadata.name, since(item.metadata.creation_timestamp, now)]


BINDINGS = Printer(
    (
        NAME,
        column("Role", "Role that is granted."),
        AGE,
        column("Users", "Users it is granted to.", wide=True),
        column("Groups", "Groups it is granted to.", wide=True),
        column("ServiceAccounts", "Service accounts it is granted to.", wide=True),
    ),
    _binding,
)
SIGNING_REQUESTS = Printer(
    (
        NAME,
        AGE,
        column("SignerName", "Who shall sign."),
        column("Requestor", "Who asked."),
        column("RequestedDuration", "How long the certificate shall be good for."),
        column("Condition", "How far the request has got."),
    ),
    _signing_request,
)
WEBHOOKS = Printer((NAME, number("Webhooks", "Number of webhooks."), AGE), _webhooks)
_PARAM_KIND = column("ParamKind", "Kind of the objects with its parameters.")
VALIDATING_POLICIES = Printer((NAME, number("Validations", "Number of rules."), _PARAM_KIND, AGE), _validating_policy)
MUTATING_POLICIES = Printer((NAME, number("Mutations", "Number of rules."), _PARAM_KIND, AGE), _mutating_policy)
POLICY_BINDINGS = Printer(
    (
        NAME,
        column("PolicyName", "Policy that is put in force."),
        column("ParamRef", "Object with its parameters."),
        AGE,
    ),
    _policy_binding,
)
FLOW_SCHEMAS = Printer(
    (
        NAME,
        column("PriorityLevel", "Priority level of its requests."),
        column("MatchingPrecedence", "Rank among schemas that match; the lowest wins."),
        column("DistinguisherMethod", "How flows are told apart."),
        AGE,
        column("MissingPL", "Whether the priority level is missing."),
    ),
    _flow_schema,
)
PRIORITY_LEVELS = Printer(
    (
        NAME,
        column("Type", "Whether it is limited."),
        column("NominalConcurrencyShares", "Its share of the requests at a time."),
        column("Queues", "Number of queues."),
        column("HandSize", "Queues that a flow may land in."),
        column("QueueLengthLimit", "Longest that a queue may get."),
        AGE,
    ),
    _priority_level,
)
API_SERVICES = Printer(
    (
        NAME,
        column("Service", "Who serves the group."),
        column("Available", "Whether it answers."),
        AGE,
    ),
    _api_service,
)
RUNTIME_CLASSES = Printer((NAME, column("Handler", "Runtime that runs its pods."), AGE), _runtime_class)
RESOURCE_CLAIMS = Printer((NAME, column("State", "How far the claim has got."), AGE), _resource_claim)
RESOURCE_SLICES = Printer(
    (
        NAME,
        column("Node", "Node that has the devices."),
        column("Driver", "Driver of the devices."),
        column("Pool", "Pool the devices belong to."),
        AGE,
    ),
    _resource_slice,
)
NAMES_AND_AGES = Printer((NAME, AGE), _name_and_age)
