"""Persistent volumes and claims: both begin as pending, until the binder has looked at them."""

from __future__ import annotations

from typing import Any

from api import core_v1 as core
from api.times import Time
from controlplane.apiserver.registry.strategy import Strategy, Write


class ClaimStrategy(Strategy):
    """Claims as the API treats them."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        super().prepare_create(obj, write)
        obj.status.phase = "Pending"


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
