"""Tables of nodes, namespaces, events and the small things of the core group."""

from __future__ import annotations

from api import coordination_v1 as coordination
from api import core_v1 as core
from api import events_v1 as events
from api import scheduling_v1 as scheduling
from api.times import MicroTime, Time
from controlplane.apiserver.tables.ages import UNKNOWN, since
from controlplane.apiserver.tables.columns import (
    AGE,
    NAME,
    NAME_HELP,
    NONE,
    Cell,
    Printer,
    column,
    flag,
    number,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_OLD_ROLE = "kubernetes.io/role"


def _node(item: core.Node, now: float) -> list[Cell]:
    info = item.status.node_info
    return [
        item.metadata.name,
        _node_status(item),
        ",".join(_roles(item)) or NONE,
        since(item.metadata.creation_timestamp, now),
        info.kubelet_version,
        _address(item, "InternalIP"),
        _address(item, "ExternalIP"),
        info.os_image or UNKNOWN,
        info.kernel_version or UNKNOWN,
        info.container_runtime_version or UNKNOWN,
    ]


def _node_status(item: core.Node) -> str:
    ready = next((condition for condition in item.status.conditions if condition.type == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready.status == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if item.spec.unschedulable else word


def _roles(item: core.Node) -> list[str]:
    labels = item.metadata.labels
    found = {label.removeprefix(_ROLE_PREFIX) for label in labels if label.startswith(_ROLE_PREFIX)}
    found.add(labels.get(_OLD_ROLE, ""))
    return sorted(found - {""})


def _address(item: core.Node, type_: str) -> str:
    return next((address.address for address in item.status.addresses if address.type == type_), NONE)


def _namespace(item: core.Namespace, now: float) -> list[Cell]:
    return [item.metadata.name, item.status.phase, since(item.metadata.creation_timestamp, now)]


def _config_map(item: core.ConfigMap, now: float) -> list[Cell]:
    return [item.metadata.name, len(item.data) + len(item.binary_data), since(item.metadata.creation_timestamp, now)]


def _secret(item: core.Secret, now: float) -> list[Cell]:
    return [item.metadata.name, item.type, len(item.data), since(item.metadata.creation_timestamp, now)]


def _service_account(item: core.ServiceAccount, now: float) -> list[Cell]:
    return [item.metadata.name, len(item.secrets), since(item.metadata.creation_timestamp, now)]


def _resource_quota(item: core.ResourceQuota, now: float) -> list[Cell]:
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(item.status.hard):
        used = item.status.used.get(name)
        target = limits if name.startswith("limits.") else requests
        target.append(f"{name}: {'0' if used is None else used}/{item.status.hard[name]}")
    return [
        item.metadata.name,
        ", ".join(requests),
        ", ".join(limits),
        since(item.metadata.creation_timestamp, now),
    ]


def _lease(item: coordination.Lease, now: float) -> list[Cell]:
    return [item.metadata.name, item.spec.holder_identity or "", since(item.metadata.creation_timestamp, now)]


def _priority_class(item: scheduling.PriorityClass, now: float) -> list[Cell]:
    return [
        item.metadata.name,
        item.value,
        item.global_default,
        since(item.metadata.creation_timestamp, now),
        item.preemption_policy or "",
    ]


def _component_status(item: core.ComponentStatus, _now: float) -> list[Cell]:
    for condition in item.conditions:
        if condition.type == "Healthy":
            word = "Healthy" if condition.status == "True" else "Unhealthy"
            return [item.metadata.name, word, condition.message, condition.error]
    return [item.metadata.name, "Unknown", "", ""]


# ---------------------------------------------------------------- events


def _event(item: core.Event, now: float) -> list[Cell]:
    source = _source(item.source.component or item.reporting_component, item.source.host or item.reporting_instance)
    return _event_cells(
        now,
        name=item.metadata.name,
        first=item.first_timestamp or item.event_time,
        last=item.last_timestamp,
        series=None if item.series is None else (item.series.last_observed_time, item.series.count),
        count=item.count,
        words=(item.type, item.reason, item.message),
        about=item.involved_object,
        source=source,
    )


def _new_event(item: events.Event, now: float) -> list[Cell]:
    old = item.deprecated_source
    component, host = ("", "") if old is None else (old.component, old.host)
    return _event_cells(
        now,
        name=item.metadata.name,
        first=item.deprecated_first_timestamp or item.event_time,
        last=item.deprecated_last_timestamp,
        series=None if item.series is None else (item.series.last_observed_time, item.series.count),
        count=item.deprecated_count,
        words=(item.type, item.reason, item.note),
        about=item.regarding,
        source=_source(component or item.reporting_controller, host or item.reporting_instance),
    )


def _event_cells(
    now: float,
    *,
    name: str,
    first: Time | MicroTime | None,
    last: Time | MicroTime | None,
    series: tuple[MicroTime | None, int] | None,
    count: int,
    words: tuple[str, str, str],
    about: core.ObjectReference | None,
    source: str,
) -> list[Cell]:
    """Both kinds of event, the old one and that of events.k8s.io, as one row."""
    if series is not None:
        last, count = series
        last_seen = since(last, now)
    else:
        last_seen = since(last or first, now)
    type_, reason, message = words
    kind, of, path = ("", "", "") if about is None else (about.kind.lower(), about.name, about.field_path)
    return [
        last_seen,
        type_,
        reason,
        f"{kind}/{of}" if of else kind,
        path,
        source,
        message.strip(),
        since(first, now),
        count or 1,
        name,
    ]


def _source(component: str, instance: str) -> str:
    return f"{component}, {instance}" if instance else component


NODES = Printer(
    (
        NAME,
        column("Status", "Whether the node is ready, and takes pods."),
        column("Roles", "Roles of the node, from its labels."),
        AGE,
        column("Version", "Version of the node agent."),
        column("Internal-IP", "First address within the cluster.", wide=True),
        column("External-IP", "First address reachable from outside.", wide=True),
        column("OS-Image", "Operating system.", wide=True),
        column("Kernel-Version", "Version of the kernel.", wide=True),
        column("Container-Runtime", "Container runtime and its version.", wide=True),
    ),
    _node,
)
NAMESPACES = Printer((NAME, column("Status", "Whether the namespace is in use or on its way out."), AGE), _namespace)
CONFIG_MAPS = Printer((NAME, column("Data", "Number of entries."), AGE), _config_map)
SECRETS = Printer(
    (NAME, column("Type", "What kind of secret it is."), column("Data", "Number of entries."), AGE), _secret
)
SERVICE_ACCOUNTS = Printer((NAME, column("Secrets", "Number of secrets it names."), AGE), _service_account)
RESOURCE_QUOTAS = Printer(
    (
        NAME,
        column("Request", "Used and allowed amounts, but for limits."),
        column("Limit", "Used and allowed limits."),
        AGE,
    ),
    _resource_quota,
)
LEASES = Printer((NAME, column("Holder", "Who holds the lease."), AGE), _lease)
PRIORITY_CLASSES = Printer(
    (
        NAME,
        number("Value", "Priority that pods of the class have."),
        flag("Global-Default", "Whether pods without a class get this one."),
        AGE,
        column("PreemptionPolicy", "Whether its pods push out others.", wide=True),
    ),
    _priority_class,
)
COMPONENT_STATUSES = Printer(
    (
        NAME,
        column("Status", "Whether the component is healthy."),
        column("Message", "What the component says."),
        column("Error", "What went wrong."),
    ),
    _component_status,
)
_EVENT_COLUMNS = (
    column("Last Seen", "Time since the event was last seen."),
    column("Type", "Normal or Warning."),
    column("Reason", "Why the event was made, in a word."),
    column("Object", "What the event is about."),
    column("Subobject", "Which part of the object it is about.", wide=True),
    column("Source", "Who made the event.", wide=True),
    column("Message", "What happened."),
    column("First Seen", "Time since the event was first seen.", wide=True),
    column("Count", "How often it was seen.", wide=True),
    column("Name", NAME_HELP, format_="name", wide=True),
)
EVENTS = Printer(_EVENT_COLUMNS, _event)
NEW_EVENTS = Printer(_EVENT_COLUMNS, _new_event)
