"""Tables of what runs pods: deployments, replica sets, jobs and their kin."""

from __future__ import annotations

from collections.abc import Sequence

from api import apps_v1 as apps
from api import autoscaling_v1, autoscaling_v2, policy_v1, selectors
from api import batch_v1 as batch
from api import core_v1 as core
from api.owners import controller_of
from controlplane.apiserver.tables.ages import human, since
from controlplane.apiserver.tables.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Cell,
    Printer,
    column,
    first_few,
    flag,
    label_map,
    label_selector,
    number,
)


def _names(containers: Sequence[core.Container]) -> str:
    return ",".join(container.name for container in containers)


def _images(containers: Sequence[core.Container]) -> str:
    return ",".join(container.image for container in containers)


def _deployment(item: apps.Deployment, now: float) -> list[Cell]:
    containers = item.spec.template.spec.containers
    try:
        selector = str(selectors.from_struct(item.spec.selector))
    except selectors.SelectorError:
        selector = "<invalid>"
    return [
        item.metadata.name,
        f"{item.status.ready_replicas}/{item.spec.replicas or 0}",
        item.status.updated_replicas,
        item.status.available_replicas,
        since(item.metadata.creation_timestamp, now),
        _names(containers),
        _images(containers),
        selector,
    ]


def _replica_set(item: apps.ReplicaSet, now: float) -> list[Cell]:
    containers = item.spec.template.spec.containers
    return [
        item.metadata.name,
        item.spec.replicas or 0,
        item.status.replicas,
        item.status.ready_replicas,
        since(item.metadata.creation_timestamp, now),
        _names(containers),
        _images(containers),
        label_selector(item.spec.selector),
    ]


def _replication_controller(item: core.ReplicationController, now: float) -> list[Cell]:
    containers = item.spec.template.spec.containers if item.spec.template is not None else []
    return [
        item.metadata.name,
        item.spec.replicas or 0,
        item.status.replicas,
        item.status.ready_replicas,
        since(item.metadata.creation_timestamp, now),
        _names(containers),
        _images(containers),
        label_map(item.spec.selector),
    ]


def _stateful_set(item: apps.StatefulSet, now: float) -> list[Cell]:
    containers = item.spec.template.spec.containers
    return [
        item.metadata.name,
        f"{item.status.ready_replicas}/{item.spec.replicas or 0}",
        since(item.metadata.creation_timestamp, now),
        _names(containers),
        _images(containers),
    ]


def _daemon_set(item: apps.DaemonSet, now: float) -> list[Cell]:
    pod, status = item.spec.template.spec, item.status
    return [
        item.metadata.name,
        status.desired_number_scheduled,
        status.current_number_scheduled,
        status.number_ready,
        status.updated_number_scheduled,
        status.number_available,
        label_map(pod.node_selector),
        since(item.metadata.creation_timestamp, now),
        _names(pod.containers),
        _images(pod.containers),
        label_selector(item.spec.selector),
    ]


def _controller_revision(item: apps.ControllerRevision, now: float) -> list[Cell]:
    owner, controller = controller_of(item), NONE
    if owner is not None:
        group = owner.api_version.rpartition("/")[0]
        controller = f"{f'{owner.kind}.{group}' if group else owner.kind}".lower() + f"/{owner.name}"
    return [item.metadata.name, controller, item.revision, since(item.metadata.creation_timestamp, now)]


def _pod_template(item: core.PodTemplate, _now: float) -> list[Cell]:
    containers = item.template.spec.containers
    return [item.metadata.name, _names(containers), _images(containers), label_map(item.template.metadata.labels)]


# ---------------------------------------------------------------- jobs

_JOB_STATES = (("Complete", "Complete"), ("Failed", "Failed"), ("", "Terminating"), ("Suspended", "Suspended"))


def _job_state(item: batch.Job) -> str:
    true = {condition.type for condition in item.status.conditions if condition.status == "True"}
    for condition, word in _JOB_STATES:
        if condition in true or (not condition and item.metadata.deletion_timestamp is not None):
            return word
    return "FailureTarget" if "FailureTarget" in true else "Running"


def _job(item: batch.Job, now: float) -> list[Cell]:
    status, spec = item.status, item.spec
    if spec.completions is not None:
        completions = f"{status.succeeded}/{spec.completions}"
    elif (spec.parallelism or 0) > 1:
        completions = f"{status.succeeded}/1 of {spec.parallelism}"
    else:
        completions = f"{status.succeeded}/1"
    duration = ""
    if status.start_time is not None:
        end = now if status.completion_time is None else status.completion_time.timestamp()
        duration = human(end - status.start_time.timestamp())
    containers = spec.template.spec.containers
    return [
        item.metadata.name,
        _job_state(item),
        completions,
        duration,
        since(item.metadata.creation_timestamp, now),
        _names(containers),
        _images(containers),
        label_selector(spec.selector),
    ]


def _cron_job(item: batch.CronJob, now: float) -> list[Cell]:
    spec, last = item.spec, item.status.last_schedule_time
    containers = spec.job_template.spec.template.spec.containers
    return [
        item.metadata.name,
        spec.schedule,
        NONE if spec.time_zone is None else spec.time_zone,
        UNSET if spec.suspend is None else str(spec.suspend),
        len(item.status.active),
        NONE if last is None else since(last, now),
        since(item.metadata.creation_timestamp, now),
        _names(containers),
        _images(containers),
        label_selector(spec.job_template.spec.selector),
    ]


# ---------------------------------------------------------------- scaling and disruption


def _metric(spec: autoscaling_v2.MetricSpec, status: autoscaling_v2.MetricStatus | None) -> str:
    """One metric of an autoscaler as ``current/target``."""
    current: autoscaling_v2.MetricValueStatus | None = None
    if spec.type == "External" and spec.external is not None:
        target = spec.external.target
        current = status.external.current if status is not None and status.external is not None else None
    elif spec.type == "Object" and spec.object is not None:
        target = spec.object.target
        current = status.object.current if status is not None and status.object is not None else None
    elif spec.type == "Pods" and spec.pods is not None:
        current = status.pods.current if status is not None and status.pods is not None else None
        value = None if current is None else current.average_value
        return f"{value or '<unknown>'}/{spec.pods.target.average_value or 0}"
    elif spec.type == "Resource" and spec.resource is not None:
        current = status.resource.current if status is not None and status.resource is not None else None
        return f"{spec.resource.name}: {_usage(spec.resource.target, current)}"
    elif spec.type == "ContainerResource" and spec.container_resource is not None:
        found = status.container_resource if status is not None else None
        current = found.current if found is not None else None
        return f"{spec.container_resource.name}: {_usage(spec.container_resource.target, current)}"
    else:
        return "<unknown type>"
    if target.average_value is not None:
        value = None if current is None else current.average_value
        return f"{value or '<unknown>'}/{target.average_value} (avg)"
    value = None if current is None else current.value
    return f"{value or '<unknown>'}/{target.value or 0}"


def _usage(target: autoscaling_v2.MetricTarget, current: autoscaling_v2.MetricValueStatus | None) -> str:
    if target.average_value is not None:
        value = None if current is None else current.average_value
        return f"{value or '<unknown>'}/{target.average_value}"
    share = None if current is None else current.average_utilization
    wanted = "<auto>" if target.average_utilization is None else f"{target.average_utilization}%"
    return f"{'<unknown>' if share is None else f'{share}%'}/{wanted}"


def _autoscaler(item: autoscaling_v2.HorizontalPodAutoscaler, now: float) -> list[Cell]:
    statuses = item.status.current_metrics
    metrics = [
        _metric(spec, statuses[index] if index < len(statuses) else None)
        for index, spec in enumerate(item.spec.metrics)
    ]
    return [
        item.metadata.name,
        f"{item.spec.scale_target_ref.kind}/{item.spec.scale_target_ref.name}",
        first_few(metrics, 2, ", ") or NONE,
        UNSET if item.spec.min_replicas is None else str(item.spec.min_replicas),
        item.spec.max_replicas,
        item.status.current_replicas,
        since(item.metadata.creation_timestamp, now),
    ]


def _old_autoscaler(item: autoscaling_v1.HorizontalPodAutoscaler, now: float) -> list[Cell]:
    target, current = item.spec.target_cpu_utilization_percentage, item.status.current_cpu_utilization_percentage
    metrics = NONE
    if target is not None:
        metrics = f"cpu: {'<unknown>' if current is None else f'{current}%'}/{target}%"
    return [
        item.metadata.name,
        f"{item.spec.scale_target_ref.kind}/{item.spec.scale_target_ref.name}",
        metrics,
        UNSET if item.spec.min_replicas is None else str(item.spec.min_replicas),
        item.spec.max_replicas,
        item.status.current_replicas,
        since(item.metadata.creation_timestamp, now),
    ]


def _scale(item: autoscaling_v1.Scale, now: float) -> list[Cell]:
    return [
        item.metadata.name,
        item.spec.replicas,
        item.status.replicas,
        since(item.metadata.creation_timestamp, now),
    ]


def _disruption_budget(item: policy_v1.PodDisruptionBudget, now: float) -> list[Cell]:
    spec = item.spec
    return [
        item.metadata.name,
        "N/A" if spec.min_available is None else str(spec.min_available),
        "N/A" if spec.max_unavailable is None else str(spec.max_unavailable),
        item.status.disruptions_allowed,
        since(item.metadata.creation_timestamp, now),
    ]


_READY = column("Ready", "Pods that are ready, of those wanted.")
_REPLICA_COLUMNS = (
    NAME,
    number("Desired", "Pods wanted."),
    number("Current", "Pods there are."),
    number("Ready", "Pods that are ready."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
_AUTOSCALER_COLUMNS = (
    NAME,
    column("Reference", "What is scaled."),
    column("Targets", "Current and wanted value of each metric."),
    column("MinPods", "Fewest pods it scales down to."),
    column("MaxPods", "Most pods it scales up to."),
    column("Replicas", "Pods there are."),
    AGE,
)

DEPLOYMENTS = Printer(
    (
        NAME,
        _READY,
        column("Up-to-date", "Pods made from the newest template."),
        column("Available", "Pods that have been ready for long enough."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _deployment,
)
REPLICA_SETS = Printer(_REPLICA_COLUMNS, _replica_set)
REPLICATION_CONTROLLERS = Printer(_REPLICA_COLUMNS, _replication_controller)
STATEFUL_SETS = Printer((NAME, _READY, AGE, CONTAINERS, IMAGES), _stateful_set)
DAEMON_SETS = Printer(
    (
        NAME,
        number("Desired", "Nodes that should run the pod."),
        number("Current", "Nodes that run the pod and should."),
        number("Ready", "Nodes on which the pod is ready."),
        number("Up-to-date", "Nodes that run the newest pod."),
        number("Available", "Nodes on which the pod has been ready for long enough."),
        column("Node Selector", "Labels that choose the nodes."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _daemon_set,
)
CONTROLLER_REVISIONS = Printer(
    (NAME, column("Controller", "Owner of the revision."), column("Revision", "Number of the revision."), AGE),
    _controller_revision,
)
POD_TEMPLATES = Printer(
    (
        NAME,
        column("Containers", "Names of the containers in the template."),
        column("Images", "Images of the containers in the template."),
        column("Pod Labels", "Labels of the template."),
    ),
    _pod_template,
)
JOBS = Printer(
    (
        NAME,
        column("Status", "What state the job is in."),
        column("Completions", "Pods that have succeeded, of those that must."),
        column("Duration", "Time the job took, or has taken so far."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _job,
)
CRON_JOBS = Printer(
    (
        NAME,
        column("Schedule", "When jobs start, as a cron expression."),
        column("Timezone", "Time zone of the schedule."),
        flag("Suspend", "Whether no more jobs are started."),
        number("Active", "Jobs that are running."),
        column("Last Schedule", "Time since the last job was due."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _cron_job,
)
AUTOSCALERS = Printer(_AUTOSCALER_COLUMNS, _autoscaler)
OLD_AUTOSCALERS = Printer(_AUTOSCALER_COLUMNS, _old_autoscaler)
SCALES = Printer(
    (column("Name"), number("Desired", "Replicas wanted."), number("Available", "Replicas there are."), AGE), _scale
)
DISRUPTION_BUDGETS = Printer(
    (
        NAME,
        column("Min Available", "Fewest pods that must stay available."),
        column("Max Unavailable", "Most pods that may be unavailable."),
        number("Allowed Disruptions", "Pods that may be disrupted now."),
        AGE,
    ),
    _disruption_budget,
)
