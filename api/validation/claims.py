"""PersistentVolumeClaims, and the templates pods and stateful sets make them of."""

from __future__ import annotations

from collections.abc import Sequence

from api import core_v1 as core
from api import names
from api.codec import deepcopy
from api.fields import FieldErrors, forbidden, invalid, required
from api.validation.checks import complain, immutable, one_of, required_text
from api.validation.differences import describe
from api.validation.metadata import validate_annotations, validate_label_selector, validate_labels
from api.validation.resources import ZERO, validate_amount, validate_positive_amount

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_NOT_ALLOWED_IN_TEMPLATE = (
    ("name", "name"),
    ("generate_name", "generateName"),
    ("namespace", "namespace"),
    ("self_link", "selfLink"),
    ("uid", "uid"),
    ("resource_version", "resourceVersion"),
    ("generation", "generation"),
    ("creation_timestamp", "creationTimestamp"),
    ("deletion_timestamp", "deletionTimestamp"),
    ("deletion_grace_period_seconds", "deletionGracePeriodSeconds"),
    ("owner_references", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managed_fields", "managedFields"),
)


def validate_claim_template(template: core.PersistentVolumeClaimTemplate, path: str, out: FieldErrors) -> None:
    """A claim made along with its pod: only labels and annotations of its metadata are taken over."""
    metadata = template.metadata
    if metadata is not None:
        validate_annotations(metadata.annotations, f"{path}.metadata.annotations", out)
        validate_labels(metadata.labels, f"{path}.metadata.labels", out)
        for attribute, wire in _NOT_ALLOWED_IN_TEMPLATE:
            if getattr(metadata, attribute):
                out.append(forbidden(f"{path}.metadata.{wire}", "cannot be set"))
    validate_claim_spec(template.spec, f"{path}.spec", out)


def validate_access_modes(modes: Sequence[str], path: str, out: FieldErrors) -> None:
    for mode in modes:
        one_of(mode, ACCESS_MODES, path, out)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        out.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def validate_claim_spec(spec: core.PersistentVolumeClaimSpec, path: str, out: FieldErrors) -> None:
    if not spec.access_modes:
        out.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    validate_label_selector(spec.selector, f"{path}.selector", out)
    validate_access_modes(spec.access_modes, f"{path}.accessModes", out)
    size = spec.resources.requests.get("storage")
    where = f"{path}.resources[storage]"
    if size is None:
        out.append(required(where))
    elif size <= ZERO:
        validate_positive_amount(size, where, out)
    else:
        validate_amount("storage", size, where, out)
    if spec.storage_class_name and (bad := names.dns1123_subdomain(spec.storage_class_name)):
        complain(out, f"{path}.storageClassName", spec.storage_class_name, bad)
    if spec.volume_mode is not None:
        one_of(spec.volume_mode, VOLUME_MODES, f"{path}.volumeMode", out)
    for source, wire in ((spec.data_source, "dataSource"), (spec.data_source_ref, "dataSourceRef")):
        if source is not None:
            _validate_data_source(source, f"{path}.{wire}", out)
    if spec.data_source is not None and spec.data_source_ref is not None:
        same = all(
            getattr(spec.data_source, name) == getattr(spec.data_source_ref, name)
            for name in ("api_group", "kind", "name")
        )
        if spec.data_source_ref.namespace:
            detail = "may not be specified when dataSourceRef.namespace is specified"
            out.append(invalid(path, f"{path}.dataSource", detail))
        elif not same:
            out.append(invalid(path, f"{path}.dataSource", "must match dataSourceRef"))
    if spec.volume_attributes_class_name and (bad := names.dns1123_subdomain(spec.volume_attributes_class_name)):
        complain(out, f"{path}.volumeAttributesClassName", spec.volume_attributes_class_name, bad)


def _validate_data_source(
    source: core.TypedLocalObjectReference | core.TypedObjectReference, path: str, out: FieldErrors
) -> None:
    required_text(source.name, f"{path}.name", out)
    required_text(source.kind, f"{path}.kind", out)
    if not source.api_group and source.kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        out.append(invalid(path, source.kind, detail))
    if source.api_group and (bad := names.dns1123_subdomain(source.api_group)):
        complain(out, f"{path}.apiGroup", source.api_group, bad)


def validate_claim(claim: core.PersistentVolumeClaim, out: FieldErrors) -> None:
    validate_claim_spec(claim.spec, "spec", out)


def validate_claim_update(new: core.PersistentVolumeClaim, old: core.PersistentVolumeClaim, out: FieldErrors) -> None:
    """After binding, a claim's spec is fixed but for its size, which may grow, and its attributes class."""
    validate_claim_spec(new.spec, "spec", out)
    masked = deepcopy(new.spec)
    if not old.spec.volume_name:
        masked.volume_name = ""
    if old.spec.storage_class_name is None:
        beta = old.metadata.annotations.get(BETA_CLASS)
        if beta is None or beta == masked.storage_class_name:
            masked.storage_class_name = None
    if new.status.phase == "Bound":
        if "storage" in old.spec.resources.requests:
            masked.resources.requests["storage"] = old.spec.resources.requests["storage"]
        if masked.volume_attributes_class_name is not None:
            masked.volume_attributes_class_name = old.spec.volume_attributes_class_name
    if masked != old.spec:
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
            f"claims\n{describe(old.spec, masked)}"
        )
        out.append(forbidden("spec", detail))
    size, before = new.spec.resources.requests.get("storage", ZERO), old.spec.resources.requests.get("storage", ZERO)
    if size < before and size <= old.status.capacity.get("storage", ZERO):
        out.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    immutable(new.spec.volume_mode, old.spec.volume_mode, "volumeMode", out)
    if old.spec.volume_attributes_class_name is not None and not new.spec.volume_attributes_class_name:
        kind = "nil" if new.spec.volume_attributes_class_name is None else "an empty string"
        detail = f"update from non-nil value to {kind} is forbidden"
        out.append(forbidden("spec.volumeAttributesClassName", detail))
