"""What every object carries: name, namespace, labels, annotations, owners, finalizers, managed fields.

Rules and texts are those of apimachinery's `api/validation` and of the API server's core validation, which asks more
of finalizers. Which rule a kind's name follows, and whether it lives in a namespace, is told by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api import meta_v1 as meta
from api import names
from api.fields import FieldErrors, forbidden, invalid, required, too_long
from api.names import NameRule
from api.rendering import quote
from api.validation.checks import complain, immutable, non_negative

ANNOTATIONS_LIMIT = 256 * 1024
FIELD_MANAGER_LIMIT = 128
SUBRESOURCE_LIMIT = 256

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"
STANDARD_FINALIZERS = frozenset({"kubernetes", ORPHAN_FINALIZER, FOREGROUND_FINALIZER})


def validate_meta(
    metadata: meta.ObjectMeta, namespaced: bool, rule: NameRule, out: FieldErrors, path: str = "metadata"
) -> None:
    """Metadata of a new object, after a name has been generated."""
    if metadata.generate_name and (bad := rule(metadata.generate_name, True)):
        complain(out, f"{path}.generateName", metadata.generate_name, bad)
    if not metadata.name:
        out.append(required(f"{path}.name", "name or generateName is required"))
    elif bad := rule(metadata.name, False):
        complain(out, f"{path}.name", metadata.name, bad)
    if namespaced:
        if not metadata.namespace:
            out.append(required(f"{path}.namespace"))
        elif bad := names.dns1123_label(metadata.namespace):
            complain(out, f"{path}.namespace", metadata.namespace, bad)
    elif metadata.namespace:
        out.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    if metadata.generation < 0:
        non_negative(metadata.generation, f"{path}.generation", out)
    _validate_maps_and_lists(metadata, out, path)
    if metadata.finalizers:
        _validate_finalizers(metadata.finalizers, f"{path}.finalizers", out)


def validate_meta_update(new: meta.ObjectMeta, old: meta.ObjectMeta, out: FieldErrors, path: str = "metadata") -> None:
    """Metadata of a changed object: identity does not change, and a dying object gets no new finalizers."""
    if old.deletion_timestamp is not None:
        added = sorted(set(new.finalizers) - set(old.finalizers))
        if added:
            shown = "[]string{" + ", ".join(quote(name) for name in added) + "}"
            detail = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
            out.append(forbidden(f"{path}.finalizers", detail))
    if not new.resource_version:
        out.append(invalid(f"{path}.resourceVersion", new.resource_version, "must be specified for an update"))
    if new.generation < old.generation:
        out.append(invalid(f"{path}.generation", new.generation, "must not be decremented"))
    immutable(new.name, old.name, f"{path}.name", out)
    immutable(new.namespace, old.namespace, f"{path}.namespace", out)
    immutable(new.uid, old.uid, f"{path}.uid", out)
    immutable(new.creation_timestamp, old.creation_timestamp, f"{path}.creationTimestamp", out)
    immutable(new.deletion_timestamp, old.deletion_timestamp, f"{path}.deletionTimestamp", out)
    immutable(
        new.deletion_grace_period_seconds,
        old.deletion_grace_period_seconds,
        f"{path}.deletionGracePeriodSeconds",
        out,
    )
    _validate_maps_and_lists(new, out, path)
    for index, finalizer in enumerate(new.finalizers):
        _validate_standard_finalizer(finalizer, f"{path}.finalizers[{index}]", out)


def _validate_maps_and_lists(metadata: meta.ObjectMeta, out: FieldErrors, path: str) -> None:
    if metadata.labels:
        validate_labels(metadata.labels, f"{path}.labels", out)
    if metadata.annotations:
        validate_annotations(metadata.annotations, f"{path}.annotations", out)
    if metadata.owner_references:
        _validate_owners(metadata.owner_references, f"{path}.ownerReferences", out)
    if metadata.managed_fields:
        _validate_managed_fields(metadata.managed_fields, f"{path}.managedFields", out)


def validate_labels(labels: Mapping[str, str], path: str, out: FieldErrors) -> None:
    """A map of labels: keys are qualified names, values label values; the map's path names both."""
    for key, value in labels.items():
        if bad := names.qualified_name(key):
            complain(out, path, key, bad)
        if bad := names.label_value(value):
            complain(out, path, value, bad)


def validate_annotations(annotations: Mapping[str, str], path: str, out: FieldErrors) -> None:
    """A map of annotations: keys are qualified names in any case, all of it at most 256 KiB."""
    size = 0
    for key, value in annotations.items():
        if bad := names.qualified_name(key.lower()):
            complain(out, path, key, bad)
        size += names.byte_length(key) + names.byte_length(value)
    if size > ANNOTATIONS_LIMIT:
        out.append(too_long(path, ANNOTATIONS_LIMIT))


def validate_label_selector(selector: meta.LabelSelector | None, path: str, out: FieldErrors) -> None:
    """A `meta.LabelSelector` as it stands in a spec."""
    if selector is None:
        return
    if selector.match_labels:
        validate_labels(selector.match_labels, f"{path}.matchLabels", out)
    for index, expression in enumerate(selector.match_expressions):
        where = f"{path}.matchExpressions[{index}]"
        if expression.operator in ("In", "NotIn"):
            if not expression.values:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                out.append(required(f"{where}.values", detail))
        elif expression.operator in ("Exists", "DoesNotExist"):
            if expression.values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                out.append(forbidden(f"{where}.values", detail))
        else:
            out.append(invalid(f"{where}.operator", expression.operator, "not a valid selector operator"))
        if bad := names.qualified_name(expression.key):
            complain(out, f"{where}.key", expression.key, bad)
        for position, value in enumerate(expression.values):
            if bad := names.label_value(value):
                complain(out, f"{where}.values[{position}]", value, bad)


def validate_finalizer(finalizer: str, path: str, out: FieldErrors) -> None:
    """One finalizer's name: qualified, and standard if it has no prefix."""
    if bad := names.qualified_name(finalizer):
        complain(out, path, finalizer, bad)
    _validate_standard_finalizer(finalizer, path, out)


def _validate_standard_finalizer(finalizer: str, path: str, out: FieldErrors) -> None:
    if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        out.append(invalid(path, finalizer, detail))


def _validate_finalizers(finalizers: Sequence[str], path: str, out: FieldErrors) -> None:
    for finalizer in finalizers:
        if bad := names.qualified_name(finalizer):
            complain(out, path, finalizer, bad)
    if ORPHAN_FINALIZER in finalizers and FOREGROUND_FINALIZER in finalizers:
        detail = f"finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set"
        out.append(invalid(path, list(finalizers), detail))
    for index, finalizer in enumerate(finalizers):
        _validate_standard_finalizer(finalizer, f"{path}[{index}]", out)


def _validate_owners(owners: Sequence[meta.OwnerReference], path: str, out: FieldErrors) -> None:
    controller = ""
    for owner in owners:
        group, _, version = owner.api_version.rpartition("/")
        if not version:
            out.append(invalid(f"{path}.apiVersion", owner.api_version, "version must not be empty"))
        if not owner.kind:
            out.append(invalid(f"{path}.kind", owner.kind, "must not be empty"))
        if not owner.name:
            out.append(invalid(f"{path}.name", owner.name, "must not be empty"))
        if not owner.uid:
            out.append(invalid(f"{path}.uid", owner.uid, "must not be empty"))
        if not group and version == "v1" and owner.kind == "Event":
            out.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.controller:
            this = f"{owner.kind}/{owner.name}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {this}"
                )
                out.append(invalid(path, list(owners), detail))
            else:
                controller = this


def validate_field_manager(manager: str, path: str, out: FieldErrors) -> None:
    """A field manager's name: at most 128 bytes, printable."""
    if names.byte_length(manager) > FIELD_MANAGER_LIMIT:
        out.append(too_long(path, FIELD_MANAGER_LIMIT))
    if manager.isprintable():
        return
    position = 0
    for char in manager:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            out.append(invalid(path, manager, detail))
        position += len(char.encode("utf-8", "surrogatepass"))


def _validate_managed_fields(entries: Sequence[meta.ManagedFieldsEntry], path: str, out: FieldErrors) -> None:
    for index, entry in enumerate(entries):
        where = f"{path}[{index}]"
        if entry.operation not in ("Apply", "Update"):
            out.append(invalid(f"{where}.operation", entry.operation, "must be `Apply` or `Update`"))
        if entry.fields_type and entry.fields_type != "FieldsV1":
            out.append(invalid(f"{where}.fieldsType", entry.fields_type, "must be `FieldsV1`"))
        validate_field_manager(entry.manager, f"{where}.manager", out)
        if names.byte_length(entry.subresource) > SUBRESOURCE_LIMIT:
            out.append(too_long(f"{where}.subresource", SUBRESOURCE_LIMIT))
