"""From the version an object is stored in to another it is served in, and back.

There are two such kinds among the stable ones: events, which two groups serve under different names for their fields,
and autoscalers, whose older version says of metrics only the share of CPU and keeps the rest in annotations, as
upstream writes it (source: pkg/apis/autoscaling/v1/conversion.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from api import autoscaling_v1 as autoscaling_v1
from api import autoscaling_v2 as autoscaling
from api import codec
from api import core_v1 as core
from api import events_v1 as events
from api.defaults.autoscaling import TARGET_UTILIZATION
from api.errors import GroupName


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a served version relates to the stored one. Objects given are left alone; results may share their members."""

    to_served: Callable[[Any], Any]
    to_stored: Callable[[Any], Any]
    #: Field labels of the served version by which the stored one calls them otherwise.
    fields: Mapping[str, str] = field(default_factory=dict)


def conversion(group: str, version: str, plural: str) -> Conversion | None:
    """The conversion of a resource that is stored in another version than it is served in."""
    return _CONVERSIONS.get((group, version, plural))


#: Attributes of an event that the newer group names otherwise: there to here.
_EVENT_NAMES = {
    "regarding": "involved_object",
    "note": "message",
    "reporting_controller": "reporting_component",
    "deprecated_source": "source",
    "deprecated_first_timestamp": "first_timestamp",
    "deprecated_last_timestamp": "last_timestamp",
    "deprecated_count": "count",
}
_EVENT_SAME = ("metadata", "event_time", "reporting_instance", "action", "reason", "related", "type")


def _event_to_served(stored: core.Event) -> events.Event:
    served = events.Event(**{name: getattr(stored, name) for name in _EVENT_SAME})
    for theirs, ours in _EVENT_NAMES.items():
        setattr(served, theirs, getattr(stored, ours))
    if stored.series is not None:
        observed = stored.series.last_observed_time
        served.series = events.EventSeries(count=stored.series.count, last_observed_time=observed)
    return served


def _event_to_stored(served: events.Event) -> core.Event:
    stored = core.Event(**{name: getattr(served, name) for name in _EVENT_SAME})
    for theirs, ours in _EVENT_NAMES.items():
        setattr(stored, ours, getattr(served, theirs))
    if served.series is not None:
        observed = served.series.last_observed_time
        stored.series = core.EventSeries(count=served.series.count, last_observed_time=observed)
    return stored


_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def _autoscaler_to_served(stored: autoscaling.HorizontalPodAutoscaler) -> autoscaling_v1.HorizontalPodAutoscaler:
    spec, status = stored.spec, stored.status
    annotations = {key: text for key, text in stored.metadata.annotations.items() if key not in _KEPT_APART}
    share, others = _cpu_share(spec.metrics)
    current, other_current = _current_share(status.current_metrics)
    for key, value in (
        (_METRICS, others),
        (_BEHAVIOR, spec.behavior),
        (_CURRENT, other_current),
        (_CONDITIONS, status.conditions),
    ):
        if value:
            annotations[key] = codec.encode(value).decode()
    return autoscaling_v1.HorizontalPodAutoscaler(
        metadata=msgspec.structs.replace(stored.metadata, annotations=annotations),
        spec=autoscaling_v1.HorizontalPodAutoscalerSpec(
            scale_target_ref=codec.from_builtins(
                codec.to_builtins(spec.scale_target_ref), autoscaling_v1.CrossVersionObjectReference
            ),
            min_replicas=spec.min_replicas,
            max_replicas=spec.max_replicas,
            target_cpu_utilization_percentage=share,
        ),
        status=autoscaling_v1.HorizontalPodAutoscalerStatus(
            observed_generation=status.observed_generation,
            last_scale_time=status.last_scale_time,
            current_replicas=status.current_replicas,
            desired_replicas=status.desired_replicas,
            current_cpu_utilization_percentage=current,
        ),
    )


def _autoscaler_to_stored(served: autoscaling_v1.HorizontalPodAutoscaler) -> autoscaling.HorizontalPodAutoscaler:
    spec, status = served.spec, served.status
    kept = served.metadata.annotations
    metrics = _read(kept, _METRICS, list[autoscaling.MetricSpec]) or []
    share = spec.target_cpu_utilization_percentage
    if share is None and not metrics:
        # The older version cannot default this itself: only here all metrics are known.
        share = TARGET_UTILIZATION
    if share is not None:
        target = autoscaling.MetricTarget(type="Utilization", average_utilization=share)
        resource = autoscaling.ResourceMetricSource(name="cpu", target=target)
        metrics.append(autoscaling.MetricSpec(type="Resource", resource=resource))
    current = _read(kept, _CURRENT, list[autoscaling.MetricStatus]) or []
    if status.current_cpu_utilization_percentage is not None:
        value = autoscaling.MetricValueStatus(average_utilization=status.current_cpu_utilization_percentage)
        current.append(
            autoscaling.MetricStatus(
                type="Resource", resource=autoscaling.ResourceMetricStatus(name="cpu", current=value)
            )
        )
    annotations = {key: text for key, text in kept.items() if key not in _KEPT_APART}
    return autoscaling.HorizontalPodAutoscaler(
        metadata=msgspec.structs.replace(served.metadata, annotations=annotations),
        spec=autoscaling.HorizontalPodAutoscalerSpec(
            scale_target_ref=codec.from_builtins(
                codec.to_builtins(spec.scale_target_ref), autoscaling.CrossVersionObjectReference
            ),
            min_replicas=spec.min_replicas,
            max_replicas=spec.max_replicas,
            metrics=metrics,
            behavior=_read(kept, _BEHAVIOR, autoscaling.HorizontalPodAutoscalerBehavior),
        ),
        status=autoscaling.HorizontalPodAutoscalerStatus(
            observed_generation=status.observed_generation,
            last_scale_time=status.last_scale_time,
            current_replicas=status.current_replicas,
            desired_replicas=status.desired_replicas,
            current_metrics=current,
            conditions=_read(kept, _CONDITIONS, list[autoscaling.HorizontalPodAutoscalerCondition]) or [],
        ),
    )


def _cpu_share(metrics: list[autoscaling.MetricSpec]) -> tuple[int | None, list[autoscaling.MetricSpec]]:
    """The wanted share of CPU, if there is one, and the metrics the older version has no field for."""
    share = None
    others = []
    for metric in metrics:
        source = metric.resource
        if share is None and source is not None and source.name == "cpu" and source.target.average_utilization:
            share = source.target.average_utilization
        else:
            others.append(metric)
    return share, others


def _current_share(metrics: list[autoscaling.MetricStatus]) -> tuple[int | None, list[autoscaling.MetricStatus]]:
    share = None
    others = []
    for metric in metrics:
        source = metric.resource
        if share is None and source is not None and source.name == "cpu" and source.current.average_utilization:
            share = source.current.average_utilization
        else:
            others.append(metric)
    return share, others


def _read(annotations: Mapping[str, str], key: str, into: Any) -> Any:
    """What an annotation keeps; None when it is absent or not readable (users can write there)."""
    text = annotations.get(key)
    if not text:
        return None
    try:
        return codec.decode(text.encode(), into)
    except codec.DecodeError:
        return None


_KEPT_APART = frozenset({_METRICS, _BEHAVIOR, _CURRENT, _CONDITIONS})

_CONVERSIONS: dict[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "events"): Conversion(
        _event_to_served,
        _event_to_stored,
        {
            **{
                f"regarding.{member}": f"involvedObject.{member}"
                for member in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
            },
            "reportingController": "reportingComponent",
        },
    ),
    ("autoscaling", "v1", "horizontalpodautoscalers"): Conversion(_autoscaler_to_served, _autoscaler_to_stored),
}

#: Resources of which another group keeps the objects.
STORED_ELSEWHERE = {GroupName("events.k8s.io", "events"): GroupName("", "events")}
