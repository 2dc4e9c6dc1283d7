"""DaemonSets."""

from __future__ import annotations

from api import apps_v1 as apps
from api import selectors
from api.fields import FieldErrors, invalid, not_supported, required
from api.validation.checks import at_most_all, count_or_percent, immutable, non_negative
from api.validation.metadata import validate_label_selector
from api.validation.podspec import validate_template
from api.validation.replicas import MISMATCH, number_of, or_zero, validate_collisions, validate_restart

_STRATEGIES = ("RollingUpdate", "OnDelete")


def validate_daemon_set(daemon_set: apps.DaemonSet, out: FieldErrors) -> None:
    spec = daemon_set.spec
    validate_label_selector(spec.selector, "spec.selector", out)
    try:
        matches = selectors.from_struct(spec.selector).matches(spec.template.metadata.labels)
    except selectors.SelectorError:
        matches = True  # complained about above
    if not matches:
        out.append(invalid("spec.template.metadata.labels", spec.template.metadata.labels or None, MISMATCH))
    if spec.selector is not None and not spec.selector.match_labels and not spec.selector.match_expressions:
        out.append(invalid("spec.selector", spec.selector, "empty selector is invalid for daemonset"))
    validate_template(spec.template, "spec.template", out)
    validate_restart(spec.template, "DaemonSet", out)
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
    unavailable, surge = or_zero(rolling.max_unavailable), or_zero(rolling.max_surge)
    for value, wire in ((unavailable, "maxUnavailable"), (surge, "maxSurge")):
        count_or_percent(value, f"{where}.{wire}", out)
        at_most_all(value, f"{where}.{wire}", out)
    if number_of(unavailable) and number_of(surge):
        out.append(invalid(f"{where}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not number_of(unavailable) and not number_of(surge):
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
    validate_collisions(status.collision_count, old.status.collision_count, out)
