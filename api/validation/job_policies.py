"""When a Job gives up and when it has done enough: its pod failure policy, its success policy, and lists of indexes."""

from __future__ import annotations

import re

from api import batch_v1 as batch
from api import names
from api.fields import OMITTED, FieldErrors, duplicate, invalid, not_supported, required, too_long, too_many
from api.rendering import quote
from api.validation.checks import complain, non_negative

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_RULES_LIMIT = 20
_VALUES_LIMIT = 255
_INDEXES_LIMIT = 64 * 1024
_NUMBER = re.compile(r"[+-]?[0-9]+")


def validate_failure_policy(spec: batch.JobSpec, policy: batch.PodFailurePolicy, path: str, out: FieldErrors) -> None:
    if len(policy.rules) > _RULES_LIMIT:
        out.append(too_many(f"{path}.rules", len(policy.rules), _RULES_LIMIT))
    pod = spec.template.spec
    containers = {container.name for container in (*pod.containers, *pod.init_containers)}
    for index, rule in enumerate(policy.rules):
        where = f"{path}.rules[{index}]"
        _validate_word(rule.action, _ACTIONS, f"{where}.action", out)
        if rule.action == "FailIndex" and spec.backoff_limit_per_index is None:
            out.append(invalid(f"{where}.action", rule.action, "requires the backoffLimitPerIndex to be set"))
        if rule.on_exit_codes is not None:
            _validate_exit_codes(rule.on_exit_codes, containers, f"{where}.onExitCodes", out)
        _validate_conditions(rule.on_pod_conditions, f"{where}.onPodConditions", out)
        if rule.on_exit_codes is not None and rule.on_pod_conditions:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            out.append(invalid(where, OMITTED, detail))
        if rule.on_exit_codes is None and not rule.on_pod_conditions:
            out.append(invalid(where, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required"))


def _validate_word(word: str, known: tuple[str, ...], path: str, out: FieldErrors) -> None:
    if not word:
        listed = " ".join(quote(one) for one in known)
        out.append(required(path, f"valid values: [{listed}]"))
    elif word not in known:
        out.append(not_supported(path, word, known))


def _validate_exit_codes(
    codes: batch.PodFailurePolicyOnExitCodesRequirement, containers: set[str], path: str, out: FieldErrors
) -> None:
    _validate_word(codes.operator, _OPERATORS, f"{path}.operator", out)
    if codes.container_name is not None and codes.container_name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        out.append(invalid(f"{path}.containerName", codes.container_name, detail))
    where = f"{path}.values"
    if not codes.values:
        out.append(invalid(where, None, "at least one value is required"))
    elif len(codes.values) > _VALUES_LIMIT:
        out.append(too_many(where, len(codes.values), _VALUES_LIMIT))
    seen: set[int] = set()
    for index, value in enumerate(codes.values):
        if value == 0 and codes.operator == "In":
            out.append(invalid(f"{where}[{index}]", value, "must not be 0 for the In operator"))
        if value in seen:
            out.append(duplicate(f"{where}[{index}]", value))
        seen.add(value)
    if codes.values != sorted(codes.values):
        out.append(invalid(where, codes.values, "must be ordered"))


def _validate_conditions(
    patterns: list[batch.PodFailurePolicyOnPodConditionsPattern], path: str, out: FieldErrors
) -> None:
    if len(patterns) > _RULES_LIMIT:
        out.append(too_many(path, len(patterns), _RULES_LIMIT))
    for index, pattern in enumerate(patterns):
        complain(out, f"{path}[{index}].type", pattern.type, names.qualified_name(pattern.type))
        _validate_word(pattern.status, _STATUSES, f"{path}[{index}].status", out)


def validate_success_policy(policy: batch.SuccessPolicy, completions: int, path: str, out: FieldErrors) -> None:
    """`completions` is how many indexes the job has, from 0 on."""
    if not policy.rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        out.append(required(f"{path}.rules", detail))
    if len(policy.rules) > _RULES_LIMIT:
        out.append(too_many(f"{path}.rules", len(policy.rules), _RULES_LIMIT))
    for index, rule in enumerate(policy.rules):
        _validate_success_rule(rule, completions, f"{path}.rules[{index}]", out)


def _validate_success_rule(rule: batch.SuccessPolicyRule, completions: int, path: str, out: FieldErrors) -> None:
    indexes, count = rule.succeeded_indexes, rule.succeeded_count
    if count is None and indexes is None:
        out.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        where = f"{path}.succeededIndexes"
        if len(indexes) > _INDEXES_LIMIT:
            out.append(too_long(where, _INDEXES_LIMIT))
        try:
            total = count_indexes(indexes, completions)
        except ValueError as wrong:
            out.append(invalid(where, indexes, f"error parsing succeededIndexes: {wrong}"))
    if count is None:
        return
    where = f"{path}.succeededCount"
    non_negative(count, where, out)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        out.append(invalid(where, count, detail))
    if indexes is not None and count > total:
        detail = (
            f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )
        out.append(invalid(where, count, detail))


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a list such as "0,2-4" names, each below `completions`, in rising order.

    Raises ValueError with upstream's words.
    """
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        first, *rest = interval.split("-")
        if len(rest) > 1:
            raise ValueError(
                f"the fragment {quote(interval)} violates the requirement that an index interval can have at most two "
                "parts separated by '-'"
            )
        start = _index(first, completions)
        end = _index(rest[0], completions) if rest else start
        if rest and start >= end:
            raise ValueError(f"non-increasing order, previous: {start}, current: {end}")
        if last >= start:
            raise ValueError(f"non-increasing order, previous: {last}, current: {start}")
        total += end - start + 1
        last = end
    return total


def _index(text: str, completions: int) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"cannot convert string to integer for index: {quote(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {quote(text)}")
    return int(text)
