"""Namespaces: finalizers of the content, and phases that follow deletion."""

from __future__ import annotations

from api import core_v1 as core
from api.fields import FieldErrors, invalid
from api.validation.metadata import validate_finalizer


def validate_namespace(namespace: core.Namespace, out: FieldErrors) -> None:
    for finalizer in namespace.spec.finalizers:
        validate_finalizer(finalizer, "spec.finalizers", out)


def validate_namespace_update(new: core.Namespace, old: core.Namespace, out: FieldErrors) -> None:
    """Nothing of the spec may be changed by an update, and nothing is complained about: the old one is kept."""


def validate_namespace_status_update(new: core.Namespace, old: core.Namespace, out: FieldErrors) -> None:
    dying = new.metadata.deletion_timestamp is not None
    expected = "Terminating" if dying else "Active"
    if new.status.phase != expected:
        detail = f"may only be '{expected}' if `deletionTimestamp` is {'not empty' if dying else 'empty'}"
        out.append(invalid("status.Phase", new.status.phase, detail))


def validate_finalize_update(new: core.Namespace, old: core.Namespace, out: FieldErrors) -> None:
    """namespaces/finalize: what still has to be cleaned up."""
    for index, finalizer in enumerate(new.spec.finalizers):
        validate_finalizer(finalizer, f"spec.finalizers[{index}]", out)
