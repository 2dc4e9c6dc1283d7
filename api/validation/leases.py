"""Leases (coordination.k8s.io)."""

from __future__ import annotations

from api import coordination_v1 as coordination
from api.fields import FieldErrors, forbidden, invalid, not_supported
from api.validation.checks import qualified
from api.validation.rules import Rules

_STRATEGIES = ("OldestEmulationVersion",)


def validate_lease(lease: coordination.Lease, out: FieldErrors) -> None:
    spec = lease.spec
    if spec.lease_duration_seconds is not None and spec.lease_duration_seconds <= 0:
        out.append(invalid("spec.leaseDurationSeconds", spec.lease_duration_seconds, "must be greater than 0"))
    if spec.lease_transitions is not None and spec.lease_transitions < 0:
        detail = "must be greater than or equal to 0"
        out.append(invalid("spec.leaseTransitions", spec.lease_transitions, detail))
    if spec.strategy is not None:
        if "/" in spec.strategy:
            qualified(spec.strategy, "spec.strategy.strategy", out)
        elif spec.strategy not in _STRATEGIES:
            out.append(not_supported("spec.strategy.strategy", spec.strategy, _STRATEGIES))
    if spec.preferred_holder and not spec.strategy:
        out.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))


RULES = {"Lease": Rules(create=validate_lease)}
