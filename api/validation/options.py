"""The options of requests: dry runs, field managers, propagation of deletes."""

from __future__ import annotations

from collections.abc import Sequence

from api import meta_v1 as meta
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.validation.metadata import validate_field_manager

_DRY_RUN = ("All",)
_FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")
_PROPAGATION = ("Foreground", "Background", "Orphan", "nil")
_INCLUDE_OBJECT = ("", "Metadata", "None", "Object")


def validate_delete_options(options: meta.DeleteOptions) -> FieldErrors:
    out: FieldErrors = []
    policy = options.propagation_policy
    if options.orphan_dependents is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        out.append(invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _PROPAGATION[:3]:
        out.append(not_supported("propagationPolicy", policy, _PROPAGATION))
    _validate_dry_run(options.dry_run, out)
    return out


def validate_write_options(options: meta.CreateOptions | meta.UpdateOptions) -> FieldErrors:
    """Of creates and updates."""
    out: FieldErrors = []
    _validate_common(options, out)
    return out


def validate_patch_options(options: meta.PatchOptions, *, apply: bool) -> FieldErrors:
    """Of patches; server-side apply must name its manager, and alone may use force."""
    out: FieldErrors = []
    if apply:
        if not options.field_manager:
            out.append(required("fieldManager", "is required for apply patch"))
    elif options.force is not None:
        out.append(forbidden("force", "may not be specified for non-apply patch"))
    _validate_common(options, out)
    return out


def validate_table_options(include_object: str) -> FieldErrors:
    if include_object in _INCLUDE_OBJECT:
        return []
    detail = "must be 'Metadata', 'Object', 'None', or empty"
    return [invalid("includeObject", include_object, detail)]


def _validate_common(options: meta.CreateOptions | meta.UpdateOptions | meta.PatchOptions, out: FieldErrors) -> None:
    validate_field_manager(options.field_manager, "fieldManager", out)
    _validate_dry_run(options.dry_run, out)
    if options.field_validation not in _FIELD_VALIDATION:
        out.append(not_supported("fieldValidation", options.field_validation, _FIELD_VALIDATION))


def _validate_dry_run(values: Sequence[str], out: FieldErrors) -> None:
    if any(value not in _DRY_RUN for value in values):
        out.append(not_supported("dryRun", list(values), _DRY_RUN))
