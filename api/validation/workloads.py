"""Which checks the kinds of the apps group have."""

from __future__ import annotations

from api import names
from api.validation import daemons, replicas, stateful
from api.validation.rules import Rules

RULES = {
    "ReplicaSet": Rules(
        create=replicas.validate_replica_set,
        update=replicas.validate_replica_set_update,
        status=replicas.validate_replica_status_update,
    ),
    "Deployment": Rules(
        create=replicas.validate_deployment,
        update=replicas.validate_deployment_update,
        status=replicas.validate_deployment_status_update,
    ),
    "DaemonSet": Rules(
        create=daemons.validate_daemon_set,
        update=daemons.validate_daemon_set_update,
        status=daemons.validate_daemon_set_status_update,
    ),
    "StatefulSet": Rules(
        name=names.name_is_label,
        create=stateful.validate_stateful_set,
        update=stateful.validate_stateful_set_update,
        status=stateful.validate_stateful_set_status_update,
    ),
    "ControllerRevision": Rules(create=stateful.validate_revision, update=stateful.validate_revision_update),
}
