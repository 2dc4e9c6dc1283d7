"""ReplicaSets, Deployments, DaemonSets, StatefulSets and ReplicationControllers; ControllerRevisions."""

from __future__ import annotations

from typing import Any

from api import apps_v1 as apps
from api import core_v1 as core
from api import meta_v1 as meta
from api import names, selectors
from api.codec import deepcopy
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.int_or_string import percent
from api.validation.checks import complain, immutable, non_negative, one_of
from api.validation.metadata import validate_annotations, validate_label_selector, validate_labels
from api.validation.podspec import validate_pod_annotations, validate_template
from api.validation.rules import Rules

IntOrString = int | str

_MISMATCH = "`selector` does not match template `labels`"
_OVER_TOTAL = "cannot be greater than status.replicas"
_MANAGEMENT_POLICIES = ("OrderedReady", "Parallel")
_STRATEGIES = ("RollingUpdate", "OnDelete")


def _validate_selector(
    selector: meta.LabelSelector | None, empty: str, bad: str, out: FieldErrors
) -> selectors.LabelSelector | None:
    """The selector of a workload, as something that matches; None if it is none."""
    if selector is None:
        out.append(required("spec.selector"))
    else:
        validate_label_selector(selector, "spec.selector", out)
        if not selector.match_labels and not selector.match_expressions:
            out.append(invalid("spec.selector", selector, empty))
    try:
        return selectors.from_struct(selector)
    except selectors.SelectorError:
        out.append(invalid("spec.selector", selector, bad))
        return None


def _validate_restart(template: core.PodTemplateSpec, kind: str, out: FieldErrors) -> None:
    """Pods of a workload run until they are replaced."""
    where = "spec.template.spec"
    if template.spec.restart_policy != "Always":
        out.append(not_supported(f"{where}.restartPolicy", template.spec.restart_policy, ("Always",)))
    if template.spec.active_deadline_seconds is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        out.append(forbidden(f"{where}.activeDeadlineSeconds", detail))


def _validate_replica_template(
    template: core.PodTemplateSpec,
    selector: selectors.LabelSelector,
    kind: str,
    out: FieldErrors,
    known: core.PodTemplateSpec | None = None,
) -> None:
    """The template of replicas; one equal to the `known` one was checked before: most updates are of the scale alone."""
    if not selector.empty and not selector.matches(template.metadata.labels):
        out.append(invalid("spec.template.metadata.labels", template.metadata.labels or None, _MISMATCH))
    if template == known:
        return
    validate_template(template, "spec.template", out)
    _validate_restart(template, kind, out)


# ReplicaSet


def validate_replica_set(
    replica_set: apps.ReplicaSet, out: FieldErrors, *, known: core.PodTemplateSpec | None = None
) -> None:
    spec = replica_set.spec
    non_negative(spec.replicas or 0, "spec.replicas", out)
    non_negative(spec.min_ready_seconds, "spec.minReadySeconds", out)
    # The reference implementation says "deployment" here, too.
    selector = _validate_selector(
        spec.selector, "empty selector is invalid for deployment", "invalid label selector", out
    )
    if selector is not None:
        _validate_replica_template(spec.template, selector, "ReplicaSet", out, known)


def validate_replica_set_update(new: apps.ReplicaSet, old: apps.ReplicaSet, out: FieldErrors) -> None:
    validate_replica_set(new, out, known=old.spec.template)
    immutable(new.spec.selector, old.spec.selector, "spec.selector", out)


def validate_replica_status_update(new: Any, old: Any, out: FieldErrors) -> None:
    """ReplicaSets and ReplicationControllers report alike."""
    status = new.status
    counts = (
        (status.replicas, "replicas"),
        (status.fully_labeled_replicas, "fullyLabeledReplicas"),
        (status.ready_replicas, "readyReplicas"),
        (status.available_replicas, "availableReplicas"),
        (status.observed_generation, "observedGeneration"),
    )
    for count, wire in counts:
        non_negative(count, f"status.{wire}", out)
    for count, wire in counts[1:4]:
        if count > status.replicas:
            out.append(invalid(f"status.{wire}", count, _OVER_TOTAL))
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than readyReplicas"
        out.append(invalid("status.availableReplicas", status.available_replicas, detail))


def validate_replication_controller(controller: core.ReplicationController, out: FieldErrors) -> None:
    spec = controller.spec
    non_negative(spec.min_ready_seconds, "spec.minReadySeconds", out)
    if not spec.selector:
        out.append(required("spec.selector"))
    non_negative(spec.replicas or 0, "spec.replicas", out)
    if spec.template is None:
        out.append(required("spec.template"))
    else:
        selector = selectors.from_labels(spec.selector)
        _validate_replica_template(spec.template, selector, "ReplicationController", out)


# Deployment


def validate_deployment(
    deployment: apps.Deployment, out: FieldErrors, *, known: core.PodTemplateSpec | None = None
) -> None:
    spec = deployment.spec
    non_negative(spec.replicas or 0, "spec.replicas", out)
    selector = _validate_selector(
        spec.selector, "empty selector is invalid for deployment", "invalid label selector", out
    )
    if selector is not None:
        _validate_replica_template(spec.template, selector, "ReplicaSet", out, known)
    _validate_deployment_strategy(spec.strategy, out)
    non_negative(spec.min_ready_seconds, "spec.minReadySeconds", out)
    if spec.revision_history_limit is not None:
        non_negative(spec.revision_history_limit, "spec.revisionHistoryLimit", out)
    deadline = spec.progress_deadline_seconds
    if deadline is not None:
        non_negative(deadline, "spec.progressDeadlineSeconds", out)
        if deadline <= spec.min_ready_seconds:
            out.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))


def _validate_deployment_strategy(strategy: apps.DeploymentStrategy, out: FieldErrors) -> None:
    rolling, where = strategy.rolling_update, "spec.strategy.rollingUpdate"
    if strategy.type == "Recreate":
        if rolling is not None:
            out.append(forbidden(where, "may not be specified when strategy `type` is 'Recreate'"))
    elif strategy.type == "RollingUpdate":
        if rolling is None:
            out.append(required(where, "this should be defaulted and never be nil"))
            return
        unavailable, surge = _or_zero(rolling.max_unavailable), _or_zero(rolling.max_surge)
        _validate_count_or_percent(unavailable, f"{where}.maxUnavailable", out)
        _validate_count_or_percent(surge, f"{where}.maxSurge", out)
        if _number(unavailable) == 0 and _number(surge) == 0:
            detail = "may not be 0 when `maxSurge` is 0"
            out.append(invalid(f"{where}.maxUnavailable", unavailable, detail))
        _validate_at_most_all(unavailable, f"{where}.maxUnavailable", out)
    else:
        out.append(not_supported("spec.strategy", strategy, ("Recreate", "RollingUpdate")))


def _or_zero(value: IntOrString | None) -> IntOrString:
    return 0 if value is None else value


def _validate_count_or_percent(value: IntOrString, path: str, out: FieldErrors) -> None:
    if isinstance(value, int):
        non_negative(value, path, out)
    elif bad := names.percent(value):
        complain(out, path, value, bad)


def _number(value: IntOrString) -> int:
    """The number, or the number of percents; 0 for a string that is neither."""
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is not None:
        return share
    return int(value) if value.removeprefix("-").isdecimal() else 0


def _validate_at_most_all(value: IntOrString, path: str, out: FieldErrors) -> None:
    share = percent(value)
    if share is not None and share > 100:
        out.append(invalid(path, value, "must not be greater than 100%"))


def validate_deployment_update(new: apps.Deployment, old: apps.Deployment, out: FieldErrors) -> None:
    validate_deployment(new, out, known=old.spec.template)
    immutable(new.spec.selector, old.spec.selector, "spec.selector", out)


def validate_deployment_status_update(new: apps.Deployment, old: apps.Deployment, out: FieldErrors) -> None:
    status = new.status
    counts = (
        (status.observed_generation, "observedGeneration"),
        (status.replicas, "replicas"),
        (status.updated_replicas, "updatedReplicas"),
        (status.ready_replicas, "readyReplicas"),
        (status.available_replicas, "availableReplicas"),
        (status.unavailable_replicas, "unavailableReplicas"),
        (status.collision_count or 0, "collisionCount"),
    )
    for count, wire in counts:
        non_negative(count, f"status.{wire}", out)
    for count, wire in counts[2:5]:
        if count > status.replicas:
            out.append(invalid(f"status.{wire}", count, _OVER_TOTAL))
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than readyReplicas"
        out.append(invalid("status.availableReplicas", status.available_replicas, detail))
    _validate_collisions(status.collision_count, old.status.collision_count, out)


def _validate_collisions(new: int | None, old: int | None, out: FieldErrors) -> None:
    if old is not None and (new is None or new < old):
        out.append(invalid("status.collisionCount", new or 0, "cannot be decremented"))


# DaemonSet


def validate_daemon_set(daemon_set: apps.DaemonSet, out: FieldErrors) -> None:
    spec = daemon_set.spec
    validate_label_selector(spec.selector, "spec.selector", out)
    try:
        matches = selectors.from_struct(spec.selector).matches(spec.template.metadata.labels)
    except selectors.SelectorError:
        matches = True  # complained about above
    if not matches:
        out.append(invalid("spec.template.metadata.labels", spec.template.metadata.labels or None, _MISMATCH))
    if spec.selector is not None and not spec.selector.match_labels and not spec.selector.match_expressions:
        out.append(invalid("spec.selector", spec.selector, "empty selector is invalid for daemonset"))
    validate_template(spec.template, "spec.template", out)
    _validate_restart(spec.template, "DaemonSet", out)
    non_negative(spec.min_ready_seconds, "spec.minReadySeconds", out)
    _validate_daemon_strategy(spec.update_strategy, out)
    if spec.revision_history_limit is not None:
        non_negative(spec.revision_history_limit, "spec.revisionHistoryLimit", out)


def _validate_daemon_strategy(strategy: apps.DaemonSetUpdateStrategy, out: FieldErrors) -> None:
    if strategy.type == "OnDelete":
        return
    if strategy.type != "RollingUpdate":
        out.append(not_supported("spec.updateStrategy", strategy, _STRATEGIES))
        return
    rolling, where = strategy.rolling_update, "spec.updateStrategy.rollingUpdate"
    if rolling is None:
        out.append(required(where))
        return
    unavailable, surge = _or_zero(rolling.max_unavailable), _or_zero(rolling.max_surge)
    for value, wire in ((unavailable, "maxUnavailable"), (surge, "maxSurge")):
        _validate_count_or_percent(value, f"{where}.{wire}", out)
        _validate_at_most_all(value, f"{where}.{wire}", out)
    if _number(unavailable) and _number(surge):
        out.append(invalid(f"{where}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not _number(unavailable) and not _number(surge):
        out.append(required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


def validate_daemon_set_update(new: apps.DaemonSet, old: apps.DaemonSet, out: FieldErrors) -> None:
    validate_daemon_set(new, out)
    immutable(new.spec.selector, old.spec.selector, "spec.selector", out)


def validate_daemon_set_status_update(new: apps.DaemonSet, old: apps.DaemonSet, out: FieldErrors) -> None:
    status = new.status
    counts = (
        (status.current_number_scheduled, "currentNumberScheduled"),
        (status.number_misscheduled, "numberMisscheduled"),
        (status.desired_number_scheduled, "desiredNumberScheduled"),
        (status.number_ready, "numberReady"),
        (status.observed_generation, "observedGeneration"),
        (status.updated_number_scheduled, "updatedNumberScheduled"),
        (status.number_available, "numberAvailable"),
        (status.number_unavailable, "numberUnavailable"),
        (status.collision_count or 0, "collisionCount"),
    )
    for count, wire in counts:
        non_negative(count, f"status.{wire}", out)
    _validate_collisions(status.collision_count, old.status.collision_count, out)


# StatefulSet


def validate_stateful_set(stateful_set: apps.StatefulSet, out: FieldErrors) -> None:
    spec = stateful_set.spec
    if not spec.pod_management_policy:
        out.append(required("spec.podManagementPolicy"))
    elif spec.pod_management_policy not in _MANAGEMENT_POLICIES:
        detail = "must be 'OrderedReady' or 'Parallel'"
        out.append(invalid("spec.podManagementPolicy", spec.pod_management_policy, detail))
    _validate_stateful_strategy(spec.update_strategy, out)
    retention = spec.persistent_volume_claim_retention_policy
    if retention is not None:
        where = "spec.persistentVolumeClaimRetentionPolicy"
        one_of(retention.when_deleted, ("Retain", "Delete"), f"{where}.whenDeleted", out, ordered=True)
        one_of(retention.when_scaled, ("Retain", "Delete"), f"{where}.whenScaled", out, ordered=True)
    non_negative(spec.replicas or 0, "spec.replicas", out)
    non_negative(spec.min_ready_seconds, "spec.minReadySeconds", out)
    if spec.ordinals is not None:
        non_negative(spec.ordinals.start, "spec.ordinals.start", out)
    selector = _validate_selector(spec.selector, "empty selector is invalid for statefulset", "", out)
    template = spec.template
    if selector is not None:
        if not selector.empty and not selector.matches(template.metadata.labels):
            out.append(invalid("spec.template.metadata.labels", template.metadata.labels or None, _MISMATCH))
        # The spec is not checked: its mounts may refer to claims that only the pods will have as volumes.
        validate_labels(template.metadata.labels, "spec.template.labels", out)
        validate_annotations(template.metadata.annotations, "spec.template.annotations", out)
        validate_pod_annotations(template.metadata.annotations, template.spec, "spec.template.annotations", out)
    _validate_restart(template, "StatefulSet", out)


def _validate_stateful_strategy(strategy: apps.StatefulSetUpdateStrategy, out: FieldErrors) -> None:
    where, rolling = "spec.updateStrategy", strategy.rolling_update
    if not strategy.type:
        out.append(required(where))
    elif strategy.type == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            out.append(invalid(f"{where}.rollingUpdate", rolling, detail))
    elif strategy.type != "RollingUpdate":
        out.append(invalid(where, strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    elif rolling is not None:
        non_negative(rolling.partition or 0, f"{where}.rollingUpdate.partition", out)
        if rolling.max_unavailable is not None:
            at = f"{where}.rollingUpdate.maxUnavailable"
            _validate_count_or_percent(rolling.max_unavailable, at, out)
            if _number(rolling.max_unavailable) == 0:
                out.append(invalid(at, rolling.max_unavailable, "cannot be 0"))
            _validate_at_most_all(rolling.max_unavailable, at, out)


_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "update_strategy",
    "revision_history_limit",
    "persistent_volume_claim_retention_policy",
    "min_ready_seconds",
)


def validate_stateful_set_update(new: apps.StatefulSet, old: apps.StatefulSet, out: FieldErrors) -> None:
    validate_stateful_set(new, out)
    masked: apps.StatefulSetSpec = deepcopy(new.spec)
    for attribute in _STATEFUL_MUTABLE:
        setattr(masked, attribute, getattr(old.spec, attribute))
    if masked != old.spec:
        detail = (
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        )
        out.append(forbidden("spec", detail))


def validate_stateful_set_status_update(new: apps.StatefulSet, old: apps.StatefulSet, out: FieldErrors) -> None:
    status = new.status
    counts = (
        (status.replicas, "replicas"),
        (status.ready_replicas, "readyReplicas"),
        (status.current_replicas, "currentReplicas"),
        (status.updated_replicas, "updatedReplicas"),
        (status.available_replicas, "availableReplicas"),
        (status.observed_generation, "observedGeneration"),
        (status.collision_count or 0, "collisionCount"),
    )
    for count, wire in counts:
        non_negative(count, f"status.{wire}", out)
    for count, wire in counts[1:5]:
        if count > status.replicas:
            out.append(invalid(f"status.{wire}", count, _OVER_TOTAL))
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than status.readyReplicas"
        out.append(invalid("status.availableReplicas", status.available_replicas, detail))
    _validate_collisions(status.collision_count, old.status.collision_count, out)


# ControllerRevision


def validate_revision(revision: apps.ControllerRevision, out: FieldErrors) -> None:
    if revision.data is None:
        out.append(required("data", "data is mandatory"))
    non_negative(revision.revision, "revision", out)


def validate_revision_update(new: apps.ControllerRevision, old: apps.ControllerRevision, out: FieldErrors) -> None:
    validate_revision(new, out)
    immutable(new.data, old.data, "data", out)


RULES = {
    "ReplicaSet": Rules(
        create=validate_replica_set, update=validate_replica_set_update, status=validate_replica_status_update
    ),
    "Deployment": Rules(
        create=validate_deployment, update=validate_deployment_update, status=validate_deployment_status_update
    ),
    "DaemonSet": Rules(
        create=validate_daemon_set, update=validate_daemon_set_update, status=validate_daemon_set_status_update
    ),
    "StatefulSet": Rules(
        name=names.name_is_label,
        create=validate_stateful_set,
        update=validate_stateful_set_update,
        status=validate_stateful_set_status_update,
    ),
    "ControllerRevision": Rules(create=validate_revision, update=validate_revision_update),
}
