"""Which checks the kinds of the core group have."""

from __future__ import annotations

from api import core_v1 as core
from api import names
from api.fields import FieldErrors
from api.validation import (
    claims,
    configuration,
    endpoints,
    events,
    namespaces,
    nodes,
    persistent_volumes,
    pods,
    quotas,
    replicas,
    services,
)
from api.validation.podspec import validate_template
from api.validation.rules import Rules


def _validate_pod_template(template: core.PodTemplate, out: FieldErrors) -> None:
    validate_template(template.template, "template", out)


RULES = {
    "Pod": Rules(
        create=pods.validate_pod_create, update=pods.validate_pod_update, status=pods.validate_pod_status_update
    ),
    "PodTemplate": Rules(create=_validate_pod_template),
    "Service": Rules(
        name=names.name_is_dns1035_label,
        create=services.validate_service,
        update=services.validate_service_update,
        status=services.validate_service_status_update,
    ),
    "ConfigMap": Rules(create=configuration.validate_config_map, update=configuration.validate_config_map_update),
    "Secret": Rules(create=configuration.validate_secret, update=configuration.validate_secret_update),
    "Node": Rules(create=nodes.validate_node, update=nodes.validate_node_update, status=nodes.validate_node_update),
    "Namespace": Rules(
        name=names.name_is_label,
        create=namespaces.validate_namespace,
        update=namespaces.validate_namespace_update,
        status=namespaces.validate_namespace_status_update,
    ),
    "ServiceAccount": Rules(),
    "Endpoints": Rules(create=endpoints.validate_endpoints),
    "Event": Rules(create=events.validate_core_event, update=events.validate_core_event_update, checks_metadata=False),
    "LimitRange": Rules(create=quotas.validate_limit_range),
    "ResourceQuota": Rules(
        create=quotas.validate_quota,
        update=quotas.validate_quota_update,
        status=quotas.validate_quota_status_update,
    ),
    "PersistentVolume": Rules(
        create=persistent_volumes.validate_persistent_volume,
        update=persistent_volumes.validate_persistent_volume_update,
    ),
    "PersistentVolumeClaim": Rules(create=claims.validate_claim, update=claims.validate_claim_update),
    "ReplicationController": Rules(
        create=replicas.validate_replication_controller,
        status=replicas.validate_replica_status_update,
    ),
}
