"""LimitRanges and ResourceQuotas: bounds within a namespace."""

from __future__ import annotations

from api import core_v1 as core
from api.fields import FieldErrors, duplicate, forbidden, invalid, required
from api.quantity import Quantity
from api.resource_names import is_overcommittable
from api.validation.checks import IMMUTABLE, qualified
from api.validation.resources import (
    validate_amounts,
    validate_container_resource_name,
    validate_quota_resource_name,
    validate_resource_name,
)

_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)
_EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_ONE = Quantity("1")


def validate_limit_range(limits: core.LimitRange, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, item in enumerate(limits.spec.limits):
        where = f"spec.limits[{index}]"
        before = len(out)
        qualified(item.type, f"{where}.type", out)
        if len(out) == before and "/" not in item.type and item.type not in _LIMIT_TYPES:
            out.append(invalid(f"{where}.type", item.type, "must be a standard limit type or fully qualified"))
        if item.type in seen:
            out.append(duplicate(f"{where}.type", item.type))
        seen.add(item.type)
        _validate_item(item, where, out)


def _validate_item(item: core.LimitRangeItem, path: str, out: FieldErrors) -> None:
    check = validate_container_resource_name if item.type in ("Pod", "Container") else validate_resource_name
    for amounts, wire in ((item.max, "max"), (item.min, "min"), (item.max_limit_request_ratio, "maxLimitRequestRatio")):
        for name in amounts:
            check(name, f"{path}.{wire}[{name}]", out)
    for amounts, wire in ((item.default, "default"), (item.default_request, "defaultRequest")):
        if item.type == "Pod":
            if amounts:
                out.append(forbidden(f"{path}.{wire}", "may not be specified when `type` is 'Pod'"))
            continue
        for name in amounts:
            check(name, f"{path}.{wire}[{name}]", out)
    if item.type == "PersistentVolumeClaim" and "storage" not in item.min and "storage" not in item.max:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        out.append(required(f"{path}.limits", detail))
    mentioned = item.max | item.min | item.default | item.default_request | item.max_limit_request_ratio
    for name in mentioned:
        _validate_order(item, name, path, out)


def _validate_order(item: core.LimitRangeItem, name: str, path: str, out: FieldErrors) -> None:
    """min ≤ default request ≤ default ≤ max, and ratios that can be met."""
    low, high = item.min.get(name), item.max.get(name)
    default, request = item.default.get(name), item.default_request.get(name)
    ratio = item.max_limit_request_ratio.get(name)
    if low is not None and high is not None and low > high:
        out.append(invalid(f"{path}.min[{name}]", str(low), f"min value {low} is greater than max value {high}"))
    where = f"{path}.defaultRequest[{name}]"
    if request is not None:
        if low is not None and low > request:
            detail = f"min value {low} is greater than default request value {request}"
            out.append(invalid(where, str(request), detail))
        if high is not None and request > high:
            detail = f"default request value {request} is greater than max value {high}"
            out.append(invalid(where, str(request), detail))
        if default is not None and request > default:
            detail = f"default request value {request} is greater than default limit value {default}"
            out.append(invalid(where, str(request), detail))
    if default is not None:
        at = f"{path}.default[{name}]"
        if low is not None and low > default:
            out.append(invalid(at, str(low), f"min value {low} is greater than default value {default}"))
        if high is not None and default > high:
            out.append(invalid(at, str(high), f"default value {default} is greater than max value {high}"))
        if request is not None and request != default and not is_overcommittable(name):
            detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
            out.append(invalid(where, str(request), detail))
    if ratio is not None:
        at = f"{path}.maxLimitRequestRatio[{name}]"
        if ratio < _ONE:
            out.append(invalid(at, str(ratio), f"ratio {ratio} is less than 1"))
        if low is not None and high is not None and low:
            bound = float(high) / float(low)
            if float(ratio) > bound:
                detail = f"ratio {ratio} is greater than max/min = {bound:f}"
                out.append(invalid(at, str(ratio), detail))


def validate_quota(quota: core.ResourceQuota, out: FieldErrors) -> None:
    validate_amounts(quota.spec.hard, "spec.hard", out, validate_quota_resource_name)
    for scope in quota.spec.scopes:
        if scope not in _SCOPES:
            out.append(invalid("spec.scopes", quota.spec.scopes, "unsupported scope"))
    scopes = set(quota.spec.scopes)
    if quota.spec.scope_selector is not None:
        for requirement in quota.spec.scope_selector.match_expressions:
            _validate_scope(requirement, "spec.scopeSelector.matchExpressions", out)
            scopes.add(requirement.scope_name)
    for pair in _EXCLUSIVE:
        if scopes.issuperset(pair):
            out.append(invalid("spec.scopes", quota.spec.scopes, "conflicting scopes"))
    _validate_quota_status(quota, out)


def _validate_scope(requirement: core.ScopedResourceSelectorRequirement, path: str, out: FieldErrors) -> None:
    if requirement.scope_name not in _SCOPES:
        out.append(invalid(f"{path}.scopeName", requirement.scope_name, "unsupported scope"))
    if requirement.scope_name in _EXISTS_ONLY and requirement.operator != "Exists":
        detail = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
            "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
            "ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        out.append(invalid(f"{path}.operator", requirement.operator, detail))
    if requirement.operator in ("In", "NotIn"):
        if not requirement.values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            out.append(required(f"{path}.values", detail))
    elif requirement.operator in ("Exists", "DoesNotExist"):
        if requirement.values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            out.append(invalid(f"{path}.values", requirement.values, detail))
    else:
        out.append(invalid(f"{path}.operator", requirement.operator, "not a valid selector operator"))


def _validate_quota_status(quota: core.ResourceQuota, out: FieldErrors) -> None:
    validate_amounts(quota.status.hard, "status.hard", out, validate_quota_resource_name)
    validate_amounts(quota.status.used, "status.used", out, validate_quota_resource_name)


def validate_quota_update(new: core.ResourceQuota, old: core.ResourceQuota, out: FieldErrors) -> None:
    validate_quota(new, out)
    if set(new.spec.scopes) != set(old.spec.scopes):
        out.append(invalid("spec.scopes", new.spec.scopes, IMMUTABLE))


def validate_quota_status_update(new: core.ResourceQuota, old: core.ResourceQuota, out: FieldErrors) -> None:
    _validate_quota_status(new, out)
