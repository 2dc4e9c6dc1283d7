"""From objects to a Table: the one door to the printers.

Works on decoded structs. A list becomes one table, a watch event a table of one row; columns are sent with the first
table of a watch only. What of each object travels along in its row is the client's choice (``includeObject``):
nothing, its metadata, or all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from api import (
    admissionregistration_v1,
    apiregistration_v1,
    apps_v1,
    autoscaling_v1,
    autoscaling_v2,
    batch_v1,
    certificates_v1,
    coordination_v1,
    core_v1,
    discovery_v1,
    errors,
    events_v1,
    flowcontrol_v1,
    networking_v1,
    node_v1,
    policy_v1,
    rbac_v1,
    resource_v1,
    scheduling_v1,
    storage_v1,
)
from api import meta_v1 as meta
from api.rendering import quote
from controlplane.apiserver.tables import access, cluster, networking, pods, storage, workloads
from controlplane.apiserver.tables.columns import NAME, Cell, Printer, column

NOTHING, METADATA, OBJECT = "None", "Metadata", "Object"


def _created_at(item: meta.Object, _now: float) -> list[Cell]:
    return [item.metadata.name, item.metadata.creation_timestamp or "<unknown>"]


# Kinds without columns of their own, roles among them, show when they were made as a date.
DEFAULT: Final = Printer((NAME, column("Created At", "Time the object was created.", type_="date")), _created_at)

PRINTERS: Final[Mapping[type[meta.Object], Printer]] = {
    core_v1.Pod: pods.PODS,
    core_v1.Service: networking.SERVICES,
    core_v1.Endpoints: networking.ENDPOINTS,
    core_v1.Node: cluster.NODES,
    core_v1.Namespace: cluster.NAMESPACES,
    core_v1.ConfigMap: cluster.CONFIG_MAPS,
    core_v1.Secret: cluster.SECRETS,
    core_v1.ServiceAccount: cluster.SERVICE_ACCOUNTS,
    core_v1.ResourceQuota: cluster.RESOURCE_QUOTAS,
    core_v1.ComponentStatus: cluster.COMPONENT_STATUSES,
    core_v1.Event: cluster.EVENTS,
    core_v1.PodTemplate: workloads.POD_TEMPLATES,
    core_v1.ReplicationController: workloads.REPLICATION_CONTROLLERS,
    core_v1.PersistentVolume: storage.VOLUMES,
    core_v1.PersistentVolumeClaim: storage.CLAIMS,
    apps_v1.Deployment: workloads.DEPLOYMENTS,
    apps_v1.ReplicaSet: workloads.REPLICA_SETS,
    apps_v1.StatefulSet: workloads.STATEFUL_SETS,
    apps_v1.DaemonSet: workloads.DAEMON_SETS,
    apps_v1.ControllerRevision: workloads.CONTROLLER_REVISIONS,
    batch_v1.Job: workloads.JOBS,
    batch_v1.CronJob: workloads.CRON_JOBS,
    autoscaling_v1.HorizontalPodAutoscaler: workloads.OLD_AUTOSCALERS,
    autoscaling_v2.HorizontalPodAutoscaler: workloads.AUTOSCALERS,
    autoscaling_v1.Scale: workloads.SCALES,
    policy_v1.PodDisruptionBudget: workloads.DISRUPTION_BUDGETS,
    discovery_v1.EndpointSlice: networking.ENDPOINT_SLICES,
    networking_v1.Ingress: networking.INGRESSES,
    networking_v1.IngressClass: networking.INGRESS_CLASSES,
    networking_v1.NetworkPolicy: networking.NETWORK_POLICIES,
    networking_v1.ServiceCIDR: networking.SERVICE_CIDRS,
    networking_v1.IPAddress: networking.IP_ADDRESSES,
    coordination_v1.Lease: cluster.LEASES,
    events_v1.Event: cluster.NEW_EVENTS,
    scheduling_v1.PriorityClass: cluster.PRIORITY_CLASSES,
    node_v1.RuntimeClass: access.RUNTIME_CLASSES,
    storage_v1.StorageClass: storage.STORAGE_CLASSES,
    storage_v1.VolumeAttributesClass: storage.ATTRIBUTES_CLASSES,
    storage_v1.VolumeAttachment: storage.ATTACHMENTS,
    storage_v1.CSINode: storage.CSI_NODES,
    storage_v1.CSIDriver: storage.CSI_DRIVERS,
    storage_v1.CSIStorageCapacity: storage.CAPACITIES,
    rbac_v1.RoleBinding: access.BINDINGS,
    rbac_v1.ClusterRoleBinding: access.BINDINGS,
    certificates_v1.CertificateSigningRequest: access.SIGNING_REQUESTS,
    admissionregistration_v1.MutatingWebhookConfiguration: access.WEBHOOKS,
    admissionregistration_v1.ValidatingWebhookConfiguration: access.WEBHOOKS,
    admissionregistration_v1.ValidatingAdmissionPolicy: access.VALIDATING_POLICIES,
    admissionregistration_v1.ValidatingAdmissionPolicyBinding: access.POLICY_BINDINGS,
    admissionregistration_v1.MutatingAdmissionPolicy: access.MUTATING_POLICIES,
    admissionregistration_v1.MutatingAdmissionPolicyBinding: access.POLICY_BINDINGS,
    flowcontrol_v1.FlowSchema: access.FLOW_SCHEMAS,
    flowcontrol_v1.PriorityLevelConfiguration: access.PRIORITY_LEVELS,
    apiregistration_v1.APIService: access.API_SERVICES,
    resource_v1.DeviceClass: access.NAMES_AND_AGES,
    resource_v1.ResourceClaim: access.RESOURCE_CLAIMS,
    resource_v1.ResourceClaimTemplate: access.NAMES_AND_AGES,
    resource_v1.ResourceSlice: access.RESOURCE_SLICES,
}


def render(
    type_: type[meta.Object],
    objects: Sequence[meta.Object],
    include_object: str,
    now: float,
    *,
    metadata: meta.ListMeta | None = None,
    columns: bool = True,
) -> meta.Table:
    """*objects*, all of *type_*, as a Table at *now* (seconds since the epoch).

    *metadata* is that of the list the objects come from; a table of a single object has its resourceVersion. Without
    *columns* the definitions are left out, as in every event of a watch but the first. Raises BadRequest for an
    unknown *include_object* ("" means Metadata).
    """
    if include_object not in ("", NOTHING, METADATA, OBJECT):
        raise errors.bad_request(f"unrecognized includeObject value: {quote(include_object)}")
    printer = PRINTERS.get(type_, DEFAULT)
    rows = [_row(printer, item, include_object, now) for item in objects]
    if metadata is None:
        metadata = meta.ListMeta()
        if len(objects) == 1:
            metadata.resource_version = objects[0].metadata.resource_version
    definitions = list(printer.columns) if columns else []
    return meta.Table(metadata=metadata, column_definitions=definitions, rows=rows)


def _row(printer: Printer, item: meta.Object, include_object: str, now: float) -> meta.TableRow:
    included: object = None
    if include_object == OBJECT:
        included = item
    elif include_object != NOTHING:
        included = meta.PartialObjectMetadata(metadata=item.metadata)
    conditions = [] if printer.conditions is None else printer.conditions(item)
    return meta.TableRow(cells=list(printer.cells(item, now)), conditions=conditions, object=included)
