"""The kinds of storage.k8s.io: what they name, and what is fixed once made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from api import core_v1 as core
from api import names
from api import storage_v1 as storage
from api.fields import FieldErrors, duplicate, forbidden, invalid, required, too_long
from api.names import Messages
from api.validation.checks import IMMUTABLE, complain, dns_subdomain, immutable, one_of, qualified, required_text
from api.validation.metadata import validate_label_selector
from api.validation.resources import validate_amount
from api.validation.rules import Rules
from api.validation.storage_sources import validate_csi_driver_name

_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Ephemeral", "Persistent")
_NODE_ID_LIMIT = 256
_MOST_PARAMETERS = 512
_PARAMETERS_LIMIT = 256 << 10
_SHORTEST_UPDATE_PERIOD = 10


def _validate_provisioner(name: str, path: str, out: FieldErrors) -> None:
    if not name:
        out.append(required(path))
    elif bad := names.qualified_name(name.lower()):
        complain(out, path, name, bad)


def _validate_parameters(parameters: Mapping[str, str], out: FieldErrors) -> None:
    if len(parameters) > _MOST_PARAMETERS:
        out.append(too_long("parameters", _MOST_PARAMETERS))
        return
    if "" in parameters:
        out.append(invalid("parameters", "", "field can not be empty."))
    size = sum(names.byte_length(key) + names.byte_length(value) for key, value in parameters.items())
    if size > _PARAMETERS_LIMIT:
        out.append(too_long("parameters", _PARAMETERS_LIMIT))


def _validate_topologies(terms: Sequence[core.TopologySelectorTerm], out: FieldErrors) -> None:
    """Upstream's paths do not say which term it is, but for one that is there twice."""
    seen: list[dict[str, frozenset[str]]] = []
    for index, term in enumerate(terms):
        wanted: dict[str, frozenset[str]] = {}
        for position, expression in enumerate(term.match_label_expressions):
            where = f"allowedTopologies.matchLabelExpressions[{position}]"
            if not expression.values:
                out.append(required(f"{where}.values"))
            for place, value in enumerate(expression.values):
                if value in expression.values[:place]:
                    out.append(duplicate(f"{where}.values[{place}]", value))
            qualified(expression.key, f"{where}.key", out)
            if expression.key in wanted:
                out.append(duplicate(f"{where}.key", expression.key))
            wanted[expression.key] = frozenset(expression.values)
        if wanted in seen:
            out.append(duplicate(f"allowedTopologies[{index}].matchLabelExpressions", ""))
        seen.append(wanted)


def validate_storage_class(storage_class: storage.StorageClass, out: FieldErrors) -> None:
    _validate_provisioner(storage_class.provisioner, "provisioner", out)
    _validate_parameters(storage_class.parameters, out)
    if storage_class.reclaim_policy:
        one_of(storage_class.reclaim_policy, _RECLAIM_POLICIES, "reclaimPolicy", out)
    if storage_class.volume_binding_mode is None:
        out.append(required("volumeBindingMode"))
    else:
        one_of(storage_class.volume_binding_mode, _BINDING_MODES, "volumeBindingMode", out)
    _validate_topologies(storage_class.allowed_topologies, out)


def validate_storage_class_update(new: storage.StorageClass, old: storage.StorageClass, out: FieldErrors) -> None:
    validate_storage_class(new, out)
    if new.parameters != old.parameters:
        out.append(forbidden("parameters", "updates to parameters are forbidden."))
    if new.provisioner != old.provisioner:
        out.append(forbidden("provisioner", "updates to provisioner are forbidden."))
    if new.reclaim_policy != old.reclaim_policy:
        out.append(forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
    immutable(new.volume_binding_mode, old.volume_binding_mode, "volumeBindingMode", out)


def _driver_name(name: str, prefix: bool) -> Messages:
    """A CSIDriver is named as its driver: a domain, in any case, of at most 63 bytes."""
    if names.byte_length(name) > 63:
        return (names.max_length_error(63),)
    return names.name_is_subdomain(name.lower(), prefix)


def validate_csi_driver(driver: storage.CSIDriver, out: FieldErrors) -> None:
    spec = driver.spec
    for value, wire in (
        (spec.attach_required, "attachedRequired"),
        (spec.pod_info_on_mount, "podInfoOnMount"),
        (spec.storage_capacity, "storageCapacity"),
    ):
        if value is None:
            out.append(required(f"spec.{wire}"))
    if spec.fs_group_policy is not None:
        one_of(spec.fs_group_policy, _FS_GROUP_POLICIES, "spec.fsGroupPolicy", out)
    seen: set[str] = set()
    for index, request in enumerate(spec.token_requests):
        where = f"spec.tokenRequests[{index}]"
        if request.audience in seen:
            out.append(duplicate(f"{where}.audience", request.audience))
        seen.add(request.audience)
        if request.expiration_seconds is None:
            continue
        if request.expiration_seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            out.append(invalid(f"{where}.expirationSeconds", request.expiration_seconds, detail))
        if request.expiration_seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            out.append(invalid(f"{where}.expirationSeconds", request.expiration_seconds, detail))
    for mode in spec.volume_lifecycle_modes:
        one_of(mode, _LIFECYCLE_MODES, "spec.volumeLifecycleModes", out)
    period = spec.node_allocatable_update_period_seconds
    if period is not None and period < _SHORTEST_UPDATE_PERIOD:
        detail = f"must be greater than or equal to {_SHORTEST_UPDATE_PERIOD} seconds"
        out.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))


def validate_csi_driver_update(new: storage.CSIDriver, old: storage.CSIDriver, out: FieldErrors) -> None:
    validate_csi_driver(new, out)
    immutable(new.spec.attach_required, old.spec.attach_required, "spec.attachedRequired", out)
    immutable(
        sorted(new.spec.volume_lifecycle_modes),
        sorted(old.spec.volume_lifecycle_modes),
        "spec.volumeLifecycleModes",
        out,
    )


def validate_csi_node(node: storage.CSINode, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, driver in enumerate(node.spec.drivers):
        where = f"spec.drivers[{index}]"
        validate_csi_driver_name(driver.name, f"{where}.name", out)
        if driver.name in seen:
            out.append(duplicate(f"{where}.name", driver.name))
        seen.add(driver.name)
        if not driver.node_id:
            out.append(required(f"{where}.nodeID"))
        elif names.byte_length(driver.node_id) > _NODE_ID_LIMIT:
            detail = f"must be {_NODE_ID_LIMIT} characters or less"
            out.append(invalid(f"{where}.nodeID", driver.node_id, detail))
        for key in driver.topology_keys:
            qualified(key, where, out)
            if driver.topology_keys.count(key) > 1:
                out.append(duplicate(f"{where}.topologyKeys", key))
        if driver.allocatable is not None and (driver.allocatable.count or 0) < 0:
            detail = "must be greater than or equal to 0"
            out.append(invalid(f"{where}.allocatable.count", driver.allocatable.count, detail))


def validate_csi_node_update(new: storage.CSINode, old: storage.CSINode, out: FieldErrors) -> None:
    """A driver may come and go and change how many volumes it takes, nothing else (KEP-4876)."""
    validate_csi_node(new, out)
    before = {driver.name: driver for driver in old.spec.drivers}
    for driver in new.spec.drivers:
        known = before.get(driver.name)
        if known is not None and (driver.node_id, driver.topology_keys) != (known.node_id, known.topology_keys):
            out.append(invalid("CSINodeDriver", driver, IMMUTABLE))


def validate_storage_capacity(capacity: storage.CSIStorageCapacity, out: FieldErrors) -> None:
    validate_label_selector(capacity.node_topology, "nodeTopology", out)
    dns_subdomain(capacity.storage_class_name, "storageClassName", out)
    for size, wire in ((capacity.capacity, "capacity"), (capacity.maximum_volume_size, "maximumVolumeSize")):
        if size is not None:
            validate_amount("storage", size, wire, out)


def validate_storage_capacity_update(
    new: storage.CSIStorageCapacity, old: storage.CSIStorageCapacity, out: FieldErrors
) -> None:
    validate_storage_capacity(new, out)
    immutable(new.node_topology, old.node_topology, "nodeTopology", out)
    immutable(new.storage_class_name, old.storage_class_name, "storageClassName", out)


def validate_attributes_class(attributes: storage.VolumeAttributesClass, out: FieldErrors) -> None:
    _validate_provisioner(attributes.driver_name, "driverName", out)
    _validate_parameters(attributes.parameters, out)
    if not attributes.parameters:
        out.append(required("parameters", "must contain at least one key/value pair"))


def validate_attributes_class_update(
    new: storage.VolumeAttributesClass, old: storage.VolumeAttributesClass, out: FieldErrors
) -> None:
    if new.driver_name != old.driver_name:
        out.append(forbidden("driverName", "updates to driverName are forbidden."))
    if new.parameters != old.parameters:
        out.append(forbidden("parameters", "updates to parameters are forbidden."))


def validate_attachment(attachment: storage.VolumeAttachment, out: FieldErrors) -> None:
    spec = attachment.spec
    validate_csi_driver_name(spec.attacher, "spec.attacher", out)
    if not spec.node_name:
        out.append(required("spec.nodeName"))
    else:
        dns_subdomain(spec.node_name, "spec.nodeName", out)
    volume, inline = spec.source.persistent_volume_name, spec.source.inline_volume_spec
    if volume is None and inline is None:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        out.append(required("spec.source", detail))
    elif volume is not None and inline is not None:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        out.append(forbidden("spec.source", detail))
    elif volume is not None:
        required_text(volume, "spec.source.persistentVolumeName", out)


def validate_attachment_update(new: storage.VolumeAttachment, old: storage.VolumeAttachment, out: FieldErrors) -> None:
    validate_attachment(new, out)
    immutable(new.spec, old.spec, "spec", out)


RULES = {
    "StorageClass": Rules(create=validate_storage_class, update=validate_storage_class_update),
    "CSIDriver": Rules(name=_driver_name, create=validate_csi_driver, update=validate_csi_driver_update),
    "CSINode": Rules(create=validate_csi_node, update=validate_csi_node_update),
    "CSIStorageCapacity": Rules(create=validate_storage_capacity, update=validate_storage_capacity_update),
    "VolumeAttachment": Rules(create=validate_attachment, update=validate_attachment_update),
    "VolumeAttributesClass": Rules(create=validate_attributes_class, update=validate_attributes_class_update),
}
