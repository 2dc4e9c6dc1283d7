"""HorizontalPodAutoscalers, both versions: a target, a range, and rules of change."""

from __future__ import annotations

from api import autoscaling_v1, autoscaling_v2
from api.fields import FieldErrors, invalid, required
from api.validation.checks import one_of, positive
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
    for value, wire in ((spec.scale_target_ref.kind, "kind"), (spec.scale_target_ref.name, "name")):
        if not value:
            out.append(required(f"spec.scaleTargetRef.{wire}"))
    if isinstance(spec, autoscaling_v2.HorizontalPodAutoscalerSpec) and spec.behavior is not None:
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


RULES = {"HorizontalPodAutoscaler": Rules(create=validate_scaler)}
