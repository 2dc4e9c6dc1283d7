"""What a HorizontalPodAutoscaler looks at: one source for each metric, and what its value ought to be."""

from __future__ import annotations

from api import autoscaling_v2 as autoscaling
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.quantity import Quantity
from api.validation.checks import dns_label, required_segment, required_text
from api.validation.resources import validate_container_resource_name

_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_ZERO = Quantity("0")


def validate_metrics(metrics: list[autoscaling.MetricSpec], path: str, out: FieldErrors) -> None:
    for index, metric in enumerate(metrics):
        _validate_metric(metric, f"{path}[{index}]", out)


def _validate_metric(metric: autoscaling.MetricSpec, path: str, out: FieldErrors) -> None:
    if not metric.type:
        out.append(required(f"{path}.type", "must specify a metric source type"))
    if metric.type not in _TYPES:
        out.append(not_supported(f"{path}.type", metric.type, _TYPES))
    present = [wire for wire in _SOURCES if getattr(metric, _SOURCES[wire]) is not None]
    if present:
        _validate_source(metric, present[0], f"{path}.{present[0]}", out)
    expected = metric.type[:1].lower() + metric.type[1:]
    if metric.type in _TYPES and expected not in present:
        out.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) > 1:
        for wire in present:
            if wire != expected:
                out.append(forbidden(f"{path}.{wire}", "must populate the given metric source only"))


#: In the order in which they are looked at: wire names, and attributes.
_SOURCES = {
    "object": "object",
    "external": "external",
    "pods": "pods",
    "resource": "resource",
    "containerResource": "container_resource",
}


def _validate_source(metric: autoscaling.MetricSpec, wire: str, path: str, out: FieldErrors) -> None:
    if wire == "object" and metric.object is not None:
        described = metric.object.described_object
        required_segment(described.kind, f"{path}.describedObject.kind", out)
        required_segment(described.name, f"{path}.describedObject.name", out)
        target = _validate_identified(metric.object, path, out)
        if target.value is None and target.average_value is None:
            out.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    elif wire == "external" and metric.external is not None:
        target = _validate_identified(metric.external, path, out)
        if target.value is None and target.average_value is None:
            detail = "must set either a target value for metric or a per-pod target"
            out.append(required(f"{path}.target.averageValue", detail))
        elif target.value is not None and target.average_value is not None:
            detail = "may not set both a target value for metric and a per-pod target"
            out.append(forbidden(f"{path}.target.value", detail))
    elif wire == "pods" and metric.pods is not None:
        target = _validate_identified(metric.pods, path, out)
        if target.average_value is None:
            out.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    elif wire == "resource" and metric.resource is not None:
        required_text(metric.resource.name, f"{path}.name", out, "must specify a resource name")
        _validate_use(metric.resource.target, f"{path}.target", out)
    elif metric.container_resource is not None:
        source = metric.container_resource
        required_text(source.name, f"{path}.name", out, "must specify a resource name")
        if source.name:
            validate_container_resource_name(source.name, f"{path}.name", out)
        required_text(source.container, f"{path}.container", out, "must specify a container")
        if source.container:
            dns_label(source.container, f"{path}.container", out)
        _validate_use(source.target, f"{path}.target", out)


def _validate_identified(
    source: autoscaling.ObjectMetricSource | autoscaling.ExternalMetricSource | autoscaling.PodsMetricSource,
    path: str,
    out: FieldErrors,
) -> autoscaling.MetricTarget:
    if source.metric.name:
        required_segment(source.metric.name, f"{path}.metric.name", out)
    else:
        out.append(required(f"{path}.metric.name", "must specify a metric name"))
    _validate_target(source.target, f"{path}.target", out)
    return source.target


def _validate_use(target: autoscaling.MetricTarget, path: str, out: FieldErrors) -> None:
    """How much of a resource pods are to use: an amount, or a part of what they have asked for."""
    _validate_target(target, path, out)
    if target.average_utilization is None and target.average_value is None:
        detail = "must set either a target raw value or a target utilization"
        out.append(required(f"{path}.averageUtilization", detail))
    elif target.average_utilization is not None and target.average_value is not None:
        detail = "may not set both a target raw value and a target utilization"
        out.append(forbidden(f"{path}.averageValue", detail))


def _validate_target(target: autoscaling.MetricTarget, path: str, out: FieldErrors) -> None:
    if not target.type:
        out.append(required(f"{path}.type", "must specify a metric target type"))
    if target.type not in _TARGETS:
        out.append(invalid(f"{path}.type", target.type, "must be either Utilization, Value, or AverageValue"))
    for amount, wire in ((target.value, "value"), (target.average_value, "averageValue")):
        if amount is not None and amount <= _ZERO:
            out.append(invalid(f"{path}.{wire}", amount, "must be positive"))
    if target.average_utilization is not None and target.average_utilization < 1:
        out.append(invalid(f"{path}.averageUtilization", target.average_utilization, "must be greater than 0"))
