"""Warnings of persistent volume claims, alone or as a template (source: pkg/api/persistentvolumeclaim/util.go)."""

from __future__ import annotations

from collections.abc import Iterator

from api import core_v1 as core
from api.warnings.fractions import fraction_warning


def claim_warnings(spec: core.PersistentVolumeClaimSpec, path: str) -> Iterator[str]:
    """What to say of a claim that stands at `path`."""
    for kind, amounts in (("requests", spec.resources.requests), ("limits", spec.resources.limits)):
        if "storage" in amounts:
            yield from fraction_warning(amounts["storage"], f"{path}.resources.{kind}[storage]")
