"""Defaults of the apps group."""

from __future__ import annotations

from api import apps_v1 as apps
from api.defaults.core import default_claim
from api.defaults.pods import default_template

REVISION_HISTORY = 10
PROGRESS_DEADLINE = 600
_QUARTER = "25%"


def default_deployment(deployment: apps.Deployment) -> None:
    spec = deployment.spec
    default_template(spec.template)
    if spec.replicas is None:
        spec.replicas = 1
    strategy = spec.strategy
    if not strategy.type:
        strategy.type = "RollingUpdate"
    if strategy.type == "RollingUpdate":
        if strategy.rolling_update is None:
            strategy.rolling_update = apps.RollingUpdateDeployment()
        if strategy.rolling_update.max_unavailable is None:
            strategy.rolling_update.max_unavailable = _QUARTER
        if strategy.rolling_update.max_surge is None:
            strategy.rolling_update.max_surge = _QUARTER
    if spec.revision_history_limit is None:
        spec.revision_history_limit = REVISION_HISTORY
    if spec.progress_deadline_seconds is None:
        spec.progress_deadline_seconds = PROGRESS_DEADLINE


def default_replica_set(replica_set: apps.ReplicaSet) -> None:
    default_template(replica_set.spec.template)
    if replica_set.spec.replicas is None:
        replica_set.spec.replicas = 1


def default_daemon_set(daemon_set: apps.DaemonSet) -> None:
    spec = daemon_set.spec
    default_template(spec.template)
    strategy = spec.update_strategy
    if not strategy.type:
        strategy.type = "RollingUpdate"
    if strategy.type == "RollingUpdate":
        if strategy.rolling_update is None:
            strategy.rolling_update = apps.RollingUpdateDaemonSet()
        if strategy.rolling_update.max_unavailable is None:
            strategy.rolling_update.max_unavailable = 1
        if strategy.rolling_update.max_surge is None:
            strategy.rolling_update.max_surge = 0
    if spec.revision_history_limit is None:
        spec.revision_history_limit = REVISION_HISTORY


def default_stateful_set(stateful_set: apps.StatefulSet) -> None:
    spec = stateful_set.spec
    default_template(spec.template)
    for claim in spec.volume_claim_templates:
        default_claim(claim)
    if not spec.pod_management_policy:
        spec.pod_management_policy = "OrderedReady"
    strategy = spec.update_strategy
    if not strategy.type:
        strategy.type = "RollingUpdate"
        if strategy.rolling_update is None:
            strategy.rolling_update = apps.RollingUpdateStatefulSetStrategy()
    if strategy.type == "RollingUpdate" and strategy.rolling_update is not None:
        if strategy.rolling_update.partition is None:
            strategy.rolling_update.partition = 0
        if strategy.rolling_update.max_unavailable is None:
            strategy.rolling_update.max_unavailable = 1
    if spec.persistent_volume_claim_retention_policy is None:
        spec.persistent_volume_claim_retention_policy = apps.StatefulSetPersistentVolumeClaimRetentionPolicy()
    retention = spec.persistent_volume_claim_retention_policy
    retention.when_deleted = retention.when_deleted or "Retain"
    retention.when_scaled = retention.when_scaled or "Retain"
    if spec.replicas is None:
        spec.replicas = 1
    if spec.revision_history_limit is None:
        spec.revision_history_limit = REVISION_HISTORY


DEFAULTS = {
    ("apps/v1", "Deployment"): default_deployment,
    ("apps/v1", "ReplicaSet"): default_replica_set,
    ("apps/v1", "DaemonSet"): default_daemon_set,
    ("apps/v1", "StatefulSet"): default_stateful_set,
}
