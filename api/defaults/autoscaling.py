"""Defaults of horizontal pod autoscalers, both versions."""

from __future__ import annotations

from api import autoscaling_v1, autoscaling_v2

TARGET_UTILIZATION = 80


def default_v1(scaler: autoscaling_v1.HorizontalPodAutoscaler) -> None:
    if scaler.spec.min_replicas is None:
        scaler.spec.min_replicas = 1


def default_v2(scaler: autoscaling_v2.HorizontalPodAutoscaler) -> None:
    spec = scaler.spec
    if spec.min_replicas is None:
        spec.min_replicas = 1
    if not spec.metrics:
        target = autoscaling_v2.MetricTarget(type="Utilization", average_utilization=TARGET_UTILIZATION)
        resource = autoscaling_v2.ResourceMetricSource(name="cpu", target=target)
        spec.metrics = [autoscaling_v2.MetricSpec(type="Resource", resource=resource)]
    if spec.behavior is not None:
        spec.behavior.scale_up = _rules(spec.behavior.scale_up, _scale_up())
        spec.behavior.scale_down = _rules(spec.behavior.scale_down, _scale_down())


def _scale_up() -> autoscaling_v2.HPAScalingRules:
    """Up at once: by four pods, or to the double, in 15 seconds."""
    return autoscaling_v2.HPAScalingRules(
        stabilization_window_seconds=0,
        select_policy="Max",
        policies=[
            autoscaling_v2.HPAScalingPolicy(type="Pods", value=4, period_seconds=15),
            autoscaling_v2.HPAScalingPolicy(type="Percent", value=100, period_seconds=15),
        ],
    )


def _scale_down() -> autoscaling_v2.HPAScalingRules:
    """Down to anything, after the controller's own window."""
    return autoscaling_v2.HPAScalingRules(
        select_policy="Max",
        policies=[autoscaling_v2.HPAScalingPolicy(type="Percent", value=100, period_seconds=15)],
    )


def _rules(
    given: autoscaling_v2.HPAScalingRules | None, default: autoscaling_v2.HPAScalingRules
) -> autoscaling_v2.HPAScalingRules:
    if given is None:
        return default
    if given.select_policy is not None:
        default.select_policy = given.select_policy
    if given.stabilization_window_seconds is not None:
        default.stabilization_window_seconds = given.stabilization_window_seconds
    if given.policies:
        default.policies = given.policies
    default.tolerance = given.tolerance
    return default


DEFAULTS = {
    ("autoscaling/v1", "HorizontalPodAutoscaler"): default_v1,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): default_v2,
}
