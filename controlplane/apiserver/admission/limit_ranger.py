"""LimitRanger: what a namespace's LimitRanges say of containers, pods and claims: first as defaults, then as bounds.

Only creation is looked at: the resources of a running container change through a subresource of its own, which this
server does not offer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from api import core_v1 as core
from api.errors import GroupName
from api.pod_resources import pod_limits, pod_requests
from api.quantity import Quantity
from api.scheme import SCHEME
from controlplane.apiserver.admission.attributes import CREATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.request import ObjectReader

ANNOTATION = "kubernetes.io/limit-ranger"

_PODS = GroupName("", "pods")
_CLAIMS = GroupName("", "persistentvolumeclaims")
_ZERO = Quantity("0")

Amounts = Mapping[str, Quantity]


class LimitRanger(Plugin):
    """Fills in requests and limits, and holds them to minimum, maximum and ratio."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._resource = SCHEME.of(core.LimitRange)

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == CREATE and resource in (_PODS, _CLAIMS) and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        if isinstance(attributes.new, core.Pod):
            for limit_range in self._ranges(attributes.namespace):
                set_defaults(attributes.new, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        for limit_range in self._ranges(attributes.namespace):
            problems = list(violations(attributes.new, limit_range))
            if problems:
                raise attributes.forbidden(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _ranges(self, namespace: str) -> Iterator[core.LimitRange]:
        for item in self._reader.list(self._resource, namespace):
            if isinstance(item, core.LimitRange):
                yield item


def set_defaults(pod: core.Pod, limit_range: core.LimitRange) -> None:
    """Give every container the requests and limits it lacks, and note in an annotation what was set."""
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    for item in limit_range.spec.limits:
        if item.type == "Container":
            default_limits = {**item.max, **item.default}
            limits.update(default_limits)
            requests.update({**item.min, **default_limits, **item.default_request})
    notes: list[str] = []
    for word, containers in (("init container", pod.spec.init_containers), ("container", pod.spec.containers)):
        for container in containers:
            for what, amounts, defaults in (
                ("request", container.resources.requests, requests),
                ("limit", container.resources.limits, limits),
            ):
                missing = {name: amount for name, amount in defaults.items() if name not in amounts}
                if not missing:
                    continue
                setattr(container.resources, f"{what}s", {**amounts, **missing})
                notes.append(f"{', '.join(sorted(missing))} {what} for {word} {container.name}")
    if notes:
        note = f"LimitRanger plugin set: {'; '.join(notes)}"
        pod.metadata.annotations = {**pod.metadata.annotations, ANNOTATION: note}


def violations(item: core.Pod | core.PersistentVolumeClaim, limit_range: core.LimitRange) -> Iterator[str]:
    """What in the object breaks the limit range, in upstream's words."""
    for limit in limit_range.spec.limits:
        if isinstance(item, core.PersistentVolumeClaim):
            if limit.type == "PersistentVolumeClaim":
                yield from _claim_violations(limit, item.spec.resources.requests)
        elif limit.type == "Container":
            for container in (*item.spec.containers, *item.spec.init_containers):
                yield from _compute_violations(limit, container.resources.requests, container.resources.limits)
        elif limit.type == "Pod":
            requests = pod_requests(item.spec, overhead=False)
            yield from _compute_violations(limit, requests, pod_limits(item.spec, overhead=False))


def _compute_violations(limit: core.LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, bound in sorted(limit.min.items()):
        yield from _below(limit.type, name, bound, requests.get(name), limits.get(name))
    for name, bound in sorted(limit.max.items()):
        yield from _above(limit.type, name, bound, requests.get(name), limits.get(name))
    for name, bound in sorted(limit.max_limit_request_ratio.items()):
        yield from _off_ratio(limit.type, name, bound, requests.get(name), limits.get(name))


def _claim_violations(limit: core.LimitRangeItem, requests: Amounts) -> Iterator[str]:
    for name, bound in sorted(limit.min.items()):
        yield from _below(limit.type, name, bound, requests.get(name), None)
    for name, bound in sorted(limit.max.items()):
        request = requests.get(name)
        rule = f"maximum {name} usage per {limit.type} is {bound}"
        if request is None:
            yield f"{rule}.  No request is specified"
        elif request > bound:
            yield f"{rule}, but request is {request}"


def _below(type_: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    rule = f"minimum {name} usage per {type_} is {bound}"
    if request is None:
        yield f"{rule}.  No request is specified"
    elif request < bound:
        yield f"{rule}, but request is {request}"
    elif limit is not None and limit < bound:
        yield f"{rule}, but limit is {limit}"


def _above(type_: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterator[str]:
    rule = f"maximum {name} usage per {type_} is {bound}"
    if limit is None:
        yield f"{rule}.  No limit is specified"
    elif limit > bound:
        yield f"{rule}, but limit is {limit}"
    elif request is not None and request > bound:
        yield f"{rule}, but request is {request}"


def _off_ratio(
    type_: str, name: str, bound: Quantity, request: Quantity | None, limit: Quantity | None
) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {type_} is {bound}"
    if request is None or request == _ZERO:
        yield f"{rule}, but no request is specified or request is 0"
    elif limit is None or limit == _ZERO:
        yield f"{rule}, but no limit is specified or limit is 0"
    else:
        ratio = limit.milli() / request.milli()
        if ratio * 1000 > bound.milli():
            yield f"{rule}, but provided ratio is {ratio:f}"
