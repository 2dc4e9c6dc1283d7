"""Resource names and quantities: requests, limits, overhead, claims, capacities.

Amounts are compared as exact quantities. What may be overcommitted, what counts in whole units, and which names are
the system's own follows the core API's resource rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, duplicate, forbidden, invalid, not_found, not_supported, required
from api.quantity import Quantity
from api.resource_names import is_extended, is_hugepages, is_native, is_overcommittable
from api.validation.checks import NOT_NEGATIVE, NOT_POSITIVE, complain, dns_label

ZERO = Quantity("0")
Amounts = Mapping[str, Quantity]
ResourceNameCheck = Callable[[str, str, FieldErrors], None]

POD_LEVEL_RESOURCES = ("cpu", "memory")
_OBJECT_COUNTS = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD_QUOTA = (
    _OBJECT_COUNTS
    | _COMPUTE
    | frozenset(f"requests.{name}" for name in (*_COMPUTE, "storage"))
    | frozenset(f"limits.{name}" for name in _COMPUTE)
)
_STANDARD = _STANDARD_QUOTA | {"storage"}


def is_standard_quota_resource(name: str) -> bool:
    return name in _STANDARD_QUOTA or name.startswith(("hugepages-", "requests.hugepages-"))


def is_integer_resource(name: str) -> bool:
    """Counted in whole units: object counts and extended resources."""
    return name in _OBJECT_COUNTS or is_extended(name)


def validate_resource_name(name: str, path: str, out: FieldErrors) -> None:
    """Any resource name: qualified, and known to the system if it has no prefix."""
    if name in _COMPUTE:
        return
    if bad := names.qualified_name(name):
        complain(out, path, name, bad)
    elif "/" not in name and name not in _STANDARD and not name.startswith(("hugepages-", "requests.hugepages-")):
        out.append(invalid(path, name, "must be a standard resource type or fully qualified"))


def validate_container_resource_name(name: str, path: str, out: FieldErrors) -> None:
    """A resource a container may ask for."""
    if name in _COMPUTE:
        return
    validate_resource_name(name, path, out)
    if "/" not in name:
        if not is_hugepages(name):
            out.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        out.append(invalid(path, name, "doesn't follow extended resource name standard"))


def validate_pod_resource_name(name: str, path: str, out: FieldErrors) -> None:
    """A resource that can be set for a pod as a whole (KEP-2837)."""
    if name in POD_LEVEL_RESOURCES or is_hugepages(name):
        return
    before = len(out)
    validate_resource_name(name, path, out)
    if len(out) == before:
        out.append(not_supported(path, name, POD_LEVEL_RESOURCES))


def validate_quota_resource_name(name: str, path: str, out: FieldErrors) -> None:
    """A resource a quota can bound."""
    validate_resource_name(name, path, out)
    if "/" not in name and not is_standard_quota_resource(name):
        out.append(invalid(path, name, "must be a standard resource for quota"))


def validate_amount(name: str, amount: Quantity, path: str, out: FieldErrors) -> None:
    """An amount of a resource: not negative, whole where the resource is counted."""
    if amount < ZERO:
        out.append(invalid(path, str(amount), NOT_NEGATIVE))
    if name not in _COMPUTE and is_integer_resource(name) and amount.milli() % 1000:
        out.append(invalid(path, str(amount), "must be an integer"))


def validate_positive_amount(amount: Quantity, path: str, out: FieldErrors) -> None:
    if amount <= ZERO:
        out.append(invalid(path, str(amount), NOT_POSITIVE))


def validate_amounts(amounts: Amounts, path: str, out: FieldErrors, check: ResourceNameCheck) -> None:
    """A map of resources: names by `check`, amounts by `validate_amount`."""
    for name, amount in amounts.items():
        where = f"{path}[{name}]"
        check(name, where, out)
        validate_amount(name, amount, where, out)


def validate_requirements(
    requirements: core.ResourceRequirements,
    claim_names: Collection[str],
    path: str,
    out: FieldErrors,
    check: ResourceNameCheck = validate_container_resource_name,
) -> None:
    """Requests and limits of a container, or of a pod with its own `check` of names."""
    limits, requests = requirements.limits, requirements.requests
    for name, amount in limits.items():
        where = f"{path}.limits[{name}]"
        check(name, where, out)
        validate_amount(name, amount, where, out)
        _validate_page_multiple(name, amount, where, out)
    for name, amount in requests.items():
        where = f"{path}.requests[{name}]"
        check(name, where, out)
        validate_amount(name, amount, where, out)
        limit = limits.get(name)
        if limit is None:
            if not is_overcommittable(name):
                detail = "Limit must be set for non overcommitable resources"
                out.append(required(f"{path}.limits", detail))
        elif amount != limit and not is_overcommittable(name):
            out.append(invalid(f"{path}.requests", str(amount), f"must be equal to {name} limit of {limit}"))
        elif amount > limit:
            detail = f"must be less than or equal to {name} limit of {limit}"
            out.append(invalid(f"{path}.requests", str(amount), detail))
        _validate_page_multiple(name, amount, where, out)
    asked = limits.keys() | requests.keys()
    if any(map(is_hugepages, asked)) and not asked & {"cpu", "memory"}:
        out.append(forbidden(path, "HugePages require cpu or memory"))
    if requirements.claims:
        _validate_claim_names(requirements.claims, claim_names, f"{path}.claims", out)


def _validate_page_multiple(name: str, amount: Quantity, path: str, out: FieldErrors) -> None:
    if not is_hugepages(name):
        return
    try:
        page = Quantity(name.removeprefix("hugepages-"))
    except ValueError:
        page = ZERO
    if page <= ZERO or amount.value() % page.value():
        out.append(invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))


def _validate_claim_names(
    claims: Sequence[core.ResourceClaim], claim_names: Collection[str], path: str, out: FieldErrors
) -> None:
    """Claims a container uses: each named in the pod, and no request of a claim twice."""
    used: set[str] = set()
    for index, claim in enumerate(claims):
        where = f"{path}[{index}]"
        if not claim.name:
            out.append(required(where))
            continue
        if claim.name in used:
            out.append(duplicate(where, claim.name))
        else:
            key = claim.name
            if claim.request:
                dns_label(claim.request, f"{where}.request", out)
                key = f"{claim.name}/{claim.request}"
            if key in used:
                out.append(duplicate(where, key))
            elif not claim.request:
                overlaps = [other for other in used if other.startswith(f"{claim.name}/")]
                out.extend(duplicate(where, claim.name) for _ in overlaps)
            used.add(key)
        if claim.name not in claim_names:
            listed = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            error = not_found(where, claim.name)
            out.append(type(error)(error.kind, error.path, error.value, detail))
