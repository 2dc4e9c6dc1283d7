"""HorizontalPodAutoscalers, both versions: a target, a range, and rules of change."""

from __future__ import annotations

from api import autoscaling_v1, autoscaling_v2
from api.fields import FieldErrors, invalid, required
from api.quantity import Quantity
from api.validation.checks import NOT_NEGATIVE, non_negative, one_of, positive, required_segment
from api.validation.metric_sources import validate_metrics
from api.validation.rules import Rules

Scaler = autoscaling_v1.HorizontalPodAutoscaler | autoscaling_v2.HorizontalPodAutoscaler

_MAX_WINDOW = 3600
_MAX_PERIOD = 1800


def validate_scaler(scaler: Scaler, out: FieldErrors) -> None:
    spec = scaler.spec
    if spec.min_replicas is not None and spec.min_replicas < 1:
        out.append(invalid("spec.minReplicas", spec.min_replicas, "must be greater than or equal to 1"))
    if spec.max_replicas < 1:
        out.append(invalid("spec.maxReplicas", spec.max_replicas, "must be greater than 0"))
    if spec.min_replicas is not None and spec.max_replicas < spec.min_replicas:
        detail = "must be greater than or equal to `minReplicas`"
        out.append(invalid("spec.maxReplicas", spec.max_replicas, detail))
    required_segment(spec.scale_target_ref.kind, "spec.scaleTargetRef.kind", out)
    required_segment(spec.scale_target_ref.name, "spec.scaleTargetRef.name", out)
    if not isinstance(spec, autoscaling_v2.HorizontalPodAutoscalerSpec):
        return
    validate_metrics(spec.metrics, "spec.metrics", out)
    if spec.behavior is not None:
        for rules, wire in ((spec.behavior.scale_up, "scaleUp"), (spec.behavior.scale_down, "scaleDown")):
            if rules is not None:
                _validate_rules(rules, f"spec.behavior.{wire}", out)


def _validate_rules(rules: autoscaling_v2.HPAScalingRules, path: str, out: FieldErrors) -> None:
    window = rules.stabilization_window_seconds
    if window is not None and window < 0:
        detail = "must be greater than or equal to zero"
        out.append(invalid(f"{path}.stabilizationWindowSeconds", window, detail))
    if window is not None and window > _MAX_WINDOW:
        detail = f"must be less than or equal to {_MAX_WINDOW}"
        out.append(invalid(f"{path}.stabilizationWindowSeconds", window, detail))
    if rules.select_policy is not None:
        one_of(rules.select_policy, ("Disabled", "Max", "Min"), f"{path}.selectPolicy", out)
    if not rules.policies:
        out.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.policies):
        where = f"{path}.policies[{index}]"
        one_of(policy.type, ("Percent", "Pods"), f"{where}.type", out)
        positive(policy.value, f"{where}.value", out)
        positive(policy.period_seconds, f"{where}.periodSeconds", out)
        if policy.period_seconds > _MAX_PERIOD:
            detail = f"must be less than or equal to {_MAX_PERIOD}"
            out.append(invalid(f"{where}.periodSeconds", policy.period_seconds, detail))
    if rules.tolerance is not None and rules.tolerance < Quantity("0"):
        out.append(invalid(f"{path}.tolerance", rules.tolerance, NOT_NEGATIVE))


def validate_scaler_status(new: Scaler, _: Scaler, out: FieldErrors) -> None:
    non_negative(new.status.current_replicas, "status.currentReplicas", out)
    non_negative(new.status.desired_replicas, "status.desiredReplicas", out)


RULES = {"HorizontalPodAutoscaler": Rules(create=validate_scaler, status=validate_scaler_status)}
