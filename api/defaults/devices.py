"""Defaults of dynamic resource allocation."""

from __future__ import annotations

from collections.abc import Sequence

from api import resource_v1 as resource


def _default_requests(requests: Sequence[resource.DeviceRequest]) -> None:
    for request in requests:
        if request.exactly is not None:
            _default_request(request.exactly)
        for option in request.first_available:
            _default_request(option)


def _default_request(request: resource.ExactDeviceRequest | resource.DeviceSubRequest) -> None:
    if not request.allocation_mode:
        request.allocation_mode = "ExactCount"
    if request.allocation_mode == "ExactCount" and not request.count:
        request.count = 1
    _default_tolerations(request.tolerations)


def _default_tolerations(tolerations: Sequence[resource.DeviceToleration]) -> None:
    for toleration in tolerations:
        if not toleration.operator:
            toleration.operator = "Equal"


def default_claim(claim: resource.ResourceClaim) -> None:
    _default_requests(claim.spec.devices.requests)


def default_claim_template(template: resource.ResourceClaimTemplate) -> None:
    _default_requests(template.spec.spec.devices.requests)


DEFAULTS = {
    ("resource.k8s.io/v1", "ResourceClaim"): default_claim,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): default_claim_template,
}
