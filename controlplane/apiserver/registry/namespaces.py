"""Namespaces: a phase that shows their life, and finalizers in their spec that outlive the request to delete them.

Deleting a namespace only marks it; the namespace controller empties it and then takes its finalizer away through
/finalize, which ends it.
"""

from __future__ import annotations

from typing import Any

from api import core_v1 as core
from controlplane.apiserver.registry.strategy import Strategy, Write

FINALIZER = "kubernetes"
ACTIVE, TERMINATING = "Active", "Terminating"


class NamespaceStrategy(Strategy):
    """Namespaces as the API treats them."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        namespace: core.Namespace = obj
        namespace.status = core.NamespaceStatus(phase=ACTIVE)
        if FINALIZER not in namespace.spec.finalizers:
            namespace.spec.finalizers = [*namespace.spec.finalizers, FINALIZER]

    def prepare_update(self, new: Any, old: Any, write: Write) -> None:
        new.spec.finalizers = old.spec.finalizers
        new.status = old.status

    def deletes_during_update(self, new: Any, old: Any) -> bool:
        return not new.spec.finalizers


def prepare_finalize(new: Any, old: Any) -> None:
    """What /finalize may change: the finalizers of the spec, nothing of the status."""
    new.status = old.status
