"""Persistent volumes and claims: both begin as pending, until the binder has looked at them."""

from __future__ import annotations

from typing import Any

from api import core_v1 as core
from api.times import Time
from controlplane.apiserver.registry.strategy import Strategy, Write

_SNAPSHOTS = "snapshot.storage.k8s.io"


class ClaimStrategy(Strategy):
    """Claims: what they are filled from is said twice, in an old field and in one that can say more (KEP-1495)."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        super().prepare_create(obj, write)
        obj.status.phase = "Pending"
        _settle_data_source(obj.spec, core.PersistentVolumeClaimSpec())

    def prepare_update(self, new: Any, old: Any, write: Write) -> None:
        super().prepare_update(new, old, write)
        _settle_data_source(new.spec, old.spec)


def _settle_data_source(spec: core.PersistentVolumeClaimSpec, old: core.PersistentVolumeClaimSpec) -> None:
    """Drop what has never been allowed, then let both fields say the same."""
    reference = spec.data_source_ref
    if reference is not None and reference.namespace and old.data_source_ref is None:
        spec.data_source_ref = reference = None  # another namespace's: CrossNamespaceVolumeDataSource is off
    source = spec.data_source
    if source is not None and reference is None:
        known = source.kind == "PersistentVolumeClaim" and not source.api_group
        known |= source.kind == "VolumeSnapshot" and source.api_group == _SNAPSHOTS
        if not known and old.data_source is None and old.data_source_ref is None:
            spec.data_source = None
            return
        spec.data_source_ref = core.TypedObjectReference(api_group=source.api_group, kind=source.kind, name=source.name)
    elif reference is not None and source is None and not reference.namespace:
        spec.data_source = core.TypedLocalObjectReference(
            api_group=reference.api_group, kind=reference.kind, name=reference.name
        )


class VolumeStrategy(Strategy):
    """Volumes: their status says since when they are in their phase, whoever moves them on (KEP-3762)."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        super().prepare_create(obj, write)
        obj.status.phase = "Pending"
        obj.status.last_phase_transition_time = Time.from_timestamp(write.now)

    def prepare_status_update(self, new: Any, old: Any, write: Write) -> None:
        super().prepare_status_update(new, old, write)
        now: core.PersistentVolumeStatus = new.status
        before: core.PersistentVolumeStatus = old.status
        said = now.last_phase_transition_time
        if now.phase == before.phase:
            now.last_phase_transition_time = said or before.last_phase_transition_time
        elif said is None or said == before.last_phase_transition_time:
            now.last_phase_transition_time = Time.from_timestamp(write.now)
