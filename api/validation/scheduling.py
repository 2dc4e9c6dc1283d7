"""What steers a pod to a node: selectors, affinity, tolerations, topology spread; and taints, their counterpart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api import core_v1 as core
from api import meta_v1 as meta
from api import names
from api.fields import FieldError, FieldErrors, duplicate, forbidden, invalid, not_supported, required
from api.validation.checks import NOT_POSITIVE, complain, one_of, qualified
from api.validation.metadata import validate_label_selector

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SCHEDULE_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION = ("Honor", "Ignore")
_OPERATOR = "not a valid selector operator"
_IGNORED = "IgnoredDuringExecution"


def validate_affinity(affinity: core.Affinity | None, path: str, out: FieldErrors) -> None:
    if affinity is None:
        return
    node = affinity.node_affinity
    if node is not None:
        where = f"{path}.nodeAffinity"
        if node.required_during_scheduling_ignored_during_execution is not None:
            selector = node.required_during_scheduling_ignored_during_execution
            validate_node_selector(selector, f"{where}.requiredDuringScheduling{_IGNORED}", out)
        preferred = node.preferred_during_scheduling_ignored_during_execution
        for index, term in enumerate(preferred):
            at = f"{where}.preferredDuringScheduling{_IGNORED}[{index}]"
            _validate_weight(term.weight, at, out)
            # A value that can never match does no harm in a preference, and has always been taken.
            _validate_node_term(term.preference, f"{at}.preference", out, check_values=False)
    if affinity.pod_affinity is not None:
        _validate_pod_affinity(affinity.pod_affinity, f"{path}.podAffinity", out)
    if affinity.pod_anti_affinity is not None:
        _validate_pod_affinity(affinity.pod_anti_affinity, f"{path}.podAntiAffinity", out)


def _validate_weight(weight: int, path: str, out: FieldErrors) -> None:
    if not 1 <= weight <= 100:
        out.append(invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def _validate_pod_affinity(affinity: core.PodAffinity | core.PodAntiAffinity, path: str, out: FieldErrors) -> None:
    for index, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        _validate_pod_term(term, f"{path}.requiredDuringScheduling{_IGNORED}[{index}]", out)
    for index, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        where = f"{path}.preferredDuringScheduling{_IGNORED}[{index}]"
        _validate_weight(weighted.weight, where, out)
        _validate_pod_term(weighted.pod_affinity_term, f"{where}.podAffinityTerm", out)


def _validate_pod_term(term: core.PodAffinityTerm, path: str, out: FieldErrors) -> None:
    validate_label_selector(term.label_selector, f"{path}.labelSelector", out)
    validate_label_selector(term.namespace_selector, f"{path}.namespaceSelector", out)
    for namespace in term.namespaces:
        if bad := names.dns1123_label(namespace):
            complain(out, f"{path}.namespace", namespace, bad)
    _validate_label_keys(term.match_label_keys, term.label_selector, f"{path}.matchLabelKeys", out)
    _validate_label_keys(term.mismatch_label_keys, term.label_selector, f"{path}.mismatchLabelKeys", out)
    if term.label_selector is not None and term.match_label_keys:
        positions = {key: index for index, key in enumerate(term.match_label_keys)}
        seen = set(term.label_selector.match_labels)
        for expression in term.label_selector.match_expressions:
            if expression.key in positions and expression.key in seen:
                where = f"{path}[{positions[expression.key]}]"
                out.append(invalid(where, expression.key, "exists in both matchLabelKeys and labelSelector"))
            seen.add(expression.key)
    for index, key in enumerate(term.match_label_keys):
        if key in term.mismatch_label_keys:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            out.append(invalid(f"{path}.matchLabelKeys[{index}]", key, detail))
    if not term.topology_key:
        out.append(required(f"{path}.topologyKey", "can not be empty"))
    qualified(term.topology_key, f"{path}.topologyKey", out)


def _validate_label_keys(keys: Sequence[str], selector: meta.LabelSelector | None, path: str, out: FieldErrors) -> None:
    if keys and selector is None:
        out.append(forbidden(path, "must not be specified when labelSelector is not set"))
        return
    for index, key in enumerate(keys):
        qualified(key, f"{path}[{index}]", out)


def validate_node_selector(selector: core.NodeSelector, path: str, out: FieldErrors) -> None:
    """Required node affinity of a pod or a volume."""
    where = f"{path}.nodeSelectorTerms"
    if not selector.node_selector_terms:
        out.append(required(where, "must have at least one node selector term"))
    for index, term in enumerate(selector.node_selector_terms):
        _validate_node_term(term, f"{where}[{index}]", out, check_values=True)


def _validate_node_term(term: core.NodeSelectorTerm, path: str, out: FieldErrors, *, check_values: bool) -> None:
    for index, requirement in enumerate(term.match_expressions):
        _validate_node_labels(requirement, f"{path}.matchExpressions[{index}]", out, check_values)
    for index, requirement in enumerate(term.match_fields):
        _validate_node_fields(requirement, f"{path}.matchFields[{index}]", out)


def _validate_node_labels(
    requirement: core.NodeSelectorRequirement, path: str, out: FieldErrors, check_values: bool
) -> None:
    operator, values = requirement.operator, requirement.values
    if operator in ("In", "NotIn"):
        if not values:
            out.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            out.append(forbidden(f"{path}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            out.append(required(f"{path}.values", detail))
    else:
        out.append(invalid(f"{path}.operator", operator, _OPERATOR))
    qualified(requirement.key, f"{path}.key", out)
    if check_values:
        for index, value in enumerate(values):
            if bad := names.label_value(value):
                complain(out, f"{path}.values[{index}]", value, bad)


def _validate_node_fields(requirement: core.NodeSelectorRequirement, path: str, out: FieldErrors) -> None:
    if requirement.operator in ("In", "NotIn"):
        if len(requirement.values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            out.append(required(f"{path}.values", detail))
    else:
        out.append(invalid(f"{path}.operator", requirement.operator, _OPERATOR))
    if requirement.key != "metadata.name":
        out.append(invalid(f"{path}.key", requirement.key, "not a valid field selector key"))
        return
    for index, value in enumerate(requirement.values):
        if bad := names.dns1123_subdomain(value):
            complain(out, f"{path}.values[{index}]", value, bad)


def validate_tolerations(tolerations: Sequence[core.Toleration], path: str, out: FieldErrors) -> None:
    for index, toleration in enumerate(tolerations):
        where = f"{path}[{index}]"
        operator = toleration.operator
        if toleration.key:
            qualified(toleration.key, f"{where}.key", out)
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            out.append(invalid(f"{where}.operator", operator, detail))
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            out.append(invalid(f"{where}.effect", toleration.effect, detail))
        if operator in ("Equal", ""):
            if bad := names.label_value(toleration.value):
                out.append(invalid(f"{where}.operator", toleration.value, ";".join(bad)))
        elif operator == "Exists":
            if toleration.value:
                detail = "value must be empty when `operator` is 'Exists'"
                out.append(invalid(f"{where}.operator", toleration.value, detail))
        else:
            out.append(not_supported(f"{where}.operator", operator, ("Equal", "Exists")))
        if toleration.effect:
            one_of(toleration.effect, TAINT_EFFECTS, f"{where}.effect", out, ordered=True)


def validate_taints(taints: Sequence[core.Taint], path: str, out: FieldErrors) -> None:
    """Taints of a node: unique by key and effect."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where = f"{path}[{index}]"
        qualified(taint.key, f"{where}.key", out)
        if bad := names.label_value(taint.value):
            out.append(invalid(f"{where}.value", taint.value, ";".join(bad)))
        if not taint.effect:
            out.append(required(f"{where}.effect"))
        else:
            one_of(taint.effect, TAINT_EFFECTS, f"{where}.effect", out, ordered=True)
        if (taint.key, taint.effect) in seen:
            error = duplicate(where, taint)
            detail = "taints must be unique by key and effect pair"
            out.append(FieldError(error.kind, error.path, error.value, detail))
        seen.add((taint.key, taint.effect))


def validate_spread(constraints: Sequence[core.TopologySpreadConstraint], path: str, out: FieldErrors) -> None:
    """Topology spread constraints (KEP-895): one for each topology and action."""
    for index, constraint in enumerate(constraints):
        where = f"{path}[{index}]"
        action = constraint.when_unsatisfiable
        if constraint.max_skew <= 0:
            out.append(invalid(f"{where}.maxSkew", constraint.max_skew, NOT_POSITIVE))
        if not constraint.topology_key:
            out.append(required(f"{where}.topologyKey", "can not be empty"))
        one_of(action, _SCHEDULE_ACTIONS, f"{where}.whenUnsatisfiable", out)
        repeated = any(
            other.topology_key == constraint.topology_key and other.when_unsatisfiable == action
            for other in constraints[index + 1 :]
        )
        if repeated:
            pair = f"{{{constraint.topology_key}, {action}}}"
            out.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", pair))
        if constraint.min_domains is not None:
            if constraint.min_domains <= 0:
                out.append(invalid(f"{where}.minDomains", constraint.min_domains, NOT_POSITIVE))
            if action != "DoNotSchedule":
                detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                out.append(invalid(f"{where}.minDomains", constraint.min_domains, detail))
        if constraint.node_affinity_policy is not None:
            one_of(constraint.node_affinity_policy, _INCLUSION, f"{where}.nodeAffinityPolicy", out)
        if constraint.node_taints_policy is not None:
            one_of(constraint.node_taints_policy, _INCLUSION, f"{where}.nodeTaintsPolicy", out)
        _validate_spread_keys(constraint, f"{where}.matchLabelKeys", out)
        validate_label_selector(constraint.label_selector, f"{where}.labelSelector", out)


def _validate_spread_keys(constraint: core.TopologySpreadConstraint, path: str, out: FieldErrors) -> None:
    if not constraint.match_label_keys:
        return
    used: set[str] = set()
    if constraint.label_selector is None:
        out.append(forbidden(path, "must not be specified when labelSelector is not set"))
    else:
        used.update(constraint.label_selector.match_labels)
        used.update(expression.key for expression in constraint.label_selector.match_expressions)
    for index, key in enumerate(constraint.match_label_keys):
        qualified(key, f"{path}[{index}]", out)
        if key in used:
            detail = "exists in both matchLabelKeys and labelSelector"
            out.append(invalid(f"{path}[{index}]", key, detail))


def validate_node_selector_growth(new: Mapping[str, str], old: Mapping[str, str], path: str, out: FieldErrors) -> None:
    """A gated pod's node selector may only become narrower."""
    if any(new.get(key) != value for key, value in old.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        out.append(invalid(path, dict(new), detail))


def validate_node_affinity_growth(
    new: core.NodeAffinity | None, old: core.NodeAffinity | None, path: str, out: FieldErrors
) -> None:
    """A gated pod's required node affinity may only become narrower."""
    if old is None or old.required_during_scheduling_ignored_during_execution is None:
        return
    old_terms = old.required_during_scheduling_ignored_during_execution.node_selector_terms
    narrowed = new.required_during_scheduling_ignored_during_execution if new is not None else None
    new_terms = narrowed.node_selector_terms if narrowed is not None else []
    where = f"{path}.requiredDuringScheduling{_IGNORED}.nodeSelectorTerms"
    if old_terms and len(old_terms) != len(new_terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        out.append(invalid(where, new_terms, detail))
        return
    for index, (before, after) in enumerate(zip(old_terms, new_terms, strict=False)):
        if not _only_adds(before, after):
            detail = "only additions are allowed (no mutations or deletions)"
            out.append(invalid(f"{where}[{index}]", after, detail))


def _only_adds(before: core.NodeSelectorTerm, after: core.NodeSelectorTerm) -> bool:
    if not before.match_expressions and not before.match_fields and (after.match_expressions or after.match_fields):
        return False
    return (
        after.match_expressions[: len(before.match_expressions)] == before.match_expressions
        and after.match_fields[: len(before.match_fields)] == before.match_fields
    )
