"""Persistent volumes and claims: both begin as pending, until the binder has looked at them."""

from __future__ import annotations

from typing import Any

from controlplane.apiserver.registry.strategy import Strategy, Write


class PendingStrategy(Strategy):
    """Kinds whose status begins with a phase."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        super().prepare_create(obj, write)
        obj.status.phase = "Pending"
