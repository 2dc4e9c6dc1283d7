"""StatefulSets, and the ControllerRevisions they and daemon sets keep."""

from __future__ import annotations

from api import apps_v1 as apps
from api.codec import deepcopy
from api.fields import FieldErrors, forbidden, invalid, required
from api.validation.checks import at_most_all, count_or_percent, immutable, non_negative, one_of
from api.validation.metadata import validate_annotations, validate_labels
from api.validation.podspec import validate_pod_annotations
from api.validation.replicas import (
    MISMATCH,
    OVER_TOTAL,
    number_of,
    validate_collisions,
    validate_restart,
    validate_selector,
)

_MANAGEMENT_POLICIES = ("OrderedReady", "Parallel")


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
    selector = validate_selector(spec.selector, "empty selector is invalid for statefulset", "", out)
    template = spec.template
    if selector is not None:
        if not selector.empty and not selector.matches(template.metadata.labels):
            out.append(invalid("spec.template.metadata.labels", template.metadata.labels or None, MISMATCH))
        # The spec is not checked: its mounts may refer to claims that only the pods will have as volumes.
        validate_labels(template.metadata.labels, "spec.template.labels", out)
        validate_annotations(template.metadata.annotations, "spec.template.annotations", out)
        validate_pod_annotations(template.metadata.annotations, template.spec, "spec.template.annotations", out)
    validate_restart(template, "StatefulSet", out)


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
            count_or_percent(rolling.max_unavailable, at, out)
            if number_of(rolling.max_unavailable) == 0:
                out.append(invalid(at, rolling.max_unavailable, "cannot be 0"))
            at_most_all(rolling.max_unavailable, at, out)


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
            out.append(invalid(f"status.{wire}", count, OVER_TOTAL))
    if status.available_replicas > status.ready_replicas:
        detail = "cannot be greater than status.readyReplicas"
        out.append(invalid("status.availableReplicas", status.available_replicas, detail))
    validate_collisions(status.collision_count, old.status.collision_count, out)


def validate_revision(revision: apps.ControllerRevision, out: FieldErrors) -> None:
    if revision.data is None:
        out.append(required("data", "data is mandatory"))
    non_negative(revision.revision, "revision", out)


def validate_revision_update(new: apps.ControllerRevision, old: apps.ControllerRevision, out: FieldErrors) -> None:
    validate_revision(new, out)
    immutable(new.data, old.data, "data", out)
