"""ReplicaSets, Deployments and ReplicationControllers; and what all workloads of the apps group share."""

from __future__ import annotations

from typing import Any

from api import apps_v1 as apps
from api import core_v1 as core
from api import meta_v1 as meta
from api import selectors
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.int_or_string import percent
from api.validation.checks import at_most_all, count_or_percent, immutable, non_negative
from api.validation.metadata import validate_label_selector
from api.validation.podspec import validate_template

IntOrString = int | str

MISMATCH = "`selector` does not match template `labels`"
OVER_TOTAL = "cannot be greater than status.replicas"


def validate_selector(
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


def validate_restart(template: core.PodTemplateSpec, kind: str, out: FieldErrors) -> None:
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
    """The template of replicas. One equal to the `known` one was checked before: most updates only scale."""
    if not selector.empty and not selector.matches(template.metadata.labels):
        out.append(invalid("spec.template.metadata.labels", template.metadata.labels or None, MISMATCH))
    if template == known:
        return
    validate_template(template, "spec.template", out)
    validate_restart(template, kind, out)


# ReplicaSet


def validate_replica_set(
    replica_set: apps.ReplicaSet, out: FieldErrors, *, known: core.PodTemplateSpec | None = None
) -> None:
    spec = replica_set.spec
    non_negative(spec.replicas or 0, "spec.replicas", out)
    non_negative(spec.min_ready_seconds, "spec.minReadySeconds", out)
    # The reference implementation says "deployment" here, too.
    selector = validate_selector(
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
            out.append(invalid(f"status.{wire}", count, OVER_TOTAL))
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
    selector = validate_selector(
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
        unavailable, surge = or_zero(rolling.max_unavailable), or_zero(rolling.max_surge)
        count_or_percent(unavailable, f"{where}.maxUnavailable", out)
        count_or_percent(surge, f"{where}.maxSurge", out)
        if number_of(unavailable) == 0 and number_of(surge) == 0:
            detail = "may not be 0 when `maxSurge` is 0"
            out.append(invalid(f"{where}.maxUnavailable", unavailable, detail))
        at_most_all(unavailable, f"{where}.maxUnavailable", out)
    else:
        out.append(not_supported("spec.strategy", strategy, ("Recreate", "RollingUpdate")))


def or_zero(value: IntOrString | None) -> IntOrString:
    return 0 if value is None else value


def number_of(value: IntOrString) -> int:
    """The number, or the number of percents; 0 for a string that is neither."""
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is not None:
        return share
    return int(value) if value.removeprefix("-").isdecimal() else 0


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
            out.append(invalid(f"status.{wire}", count, OVER_TOTAL))
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than readyReplicas"
        out.append(invalid("status.availableReplicas", status.available_replicas, detail))
    validate_collisions(status.collision_count, old.status.collision_count, out)


def validate_collisions(new: int | None, old: int | None, out: FieldErrors) -> None:
    if old is not None and (new is None or new < old):
        out.append(invalid("status.collisionCount", new or 0, "cannot be decremented"))
