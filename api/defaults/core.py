"""Defaults of the core group, pods apart."""

from __future__ import annotations

from api import core_v1 as core
from api.defaults import pods

AFFINITY_SECONDS = 10800
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


def default_service(service: core.Service) -> None:
    spec = service.spec
    if not spec.session_affinity:
        spec.session_affinity = "None"
    if spec.session_affinity == "None":
        spec.session_affinity_config = None
    elif spec.session_affinity == "ClientIP":
        config = spec.session_affinity_config
        if config is None or config.client_ip is None or config.client_ip.timeout_seconds is None:
            spec.session_affinity_config = core.SessionAffinityConfig(
                client_ip=core.ClientIPConfig(timeout_seconds=AFFINITY_SECONDS)
            )
    if not spec.type:
        spec.type = "ClusterIP"
    for port in spec.ports:
        if not port.protocol:
            port.protocol = "TCP"
        if port.target_port in (0, ""):
            port.target_port = port.port
    external = spec.type in ("LoadBalancer", "NodePort") or (spec.type == "ClusterIP" and bool(spec.external_ips))
    if external and not spec.external_traffic_policy:
        spec.external_traffic_policy = "Cluster"
    if spec.internal_traffic_policy is None and spec.type in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.internal_traffic_policy = "Cluster"
    if spec.type == "LoadBalancer":
        if spec.allocate_load_balancer_node_ports is None:
            spec.allocate_load_balancer_node_ports = True
        for ingress in service.status.load_balancer.ingress:
            if ingress.ip and ingress.ip_mode is None:
                ingress.ip_mode = "VIP"


def default_secret(secret: core.Secret) -> None:
    """Also folds `stringData`, which exists only on the way in, into `data`."""
    if not secret.type:
        secret.type = "Opaque"
    if secret.string_data:
        secret.data.update((key, text.encode()) for key, text in secret.string_data.items())
        secret.string_data = {}


def default_namespace(namespace: core.Namespace) -> None:
    if namespace.metadata.name:
        namespace.metadata.labels[NAMESPACE_NAME_LABEL] = namespace.metadata.name
    if not namespace.status.phase:
        namespace.status.phase = "Active"


def default_node(node: core.Node) -> None:
    if not node.status.allocatable and node.status.capacity:
        node.status.allocatable = dict(node.status.capacity)
    pods.round_amounts(node.status.capacity)
    pods.round_amounts(node.status.allocatable)
    # Two fields for one thing; the singular one is the older and wins.
    spec = node.spec
    if spec.pod_cidr and (not spec.pod_cidrs or spec.pod_cidrs[0] != spec.pod_cidr):
        spec.pod_cidrs = [spec.pod_cidr]
    elif spec.pod_cidrs and not spec.pod_cidr:
        spec.pod_cidr = spec.pod_cidrs[0]


def default_endpoints(endpoints: core.Endpoints) -> None:
    for subset in endpoints.subsets:
        for port in subset.ports:
            if not port.protocol:
                port.protocol = "TCP"


def default_limit_range(limits: core.LimitRange) -> None:
    """Of a container: the default limit is the max, the default request the default limit, else the min."""
    for item in limits.spec.limits:
        for amounts in (item.max, item.min, item.default, item.default_request, item.max_limit_request_ratio):
            pods.round_amounts(amounts)
        if item.type == "Container":
            for name, amount in item.max.items():
                item.default.setdefault(name, amount)
            for source in (item.default, item.min):
                for name, amount in source.items():
                    item.default_request.setdefault(name, amount)


def default_quota(quota: core.ResourceQuota) -> None:
    for amounts in (quota.spec.hard, quota.status.hard, quota.status.used):
        pods.round_amounts(amounts)


def default_replication_controller(controller: core.ReplicationController) -> None:
    spec = controller.spec
    if spec.template is not None:
        labels = spec.template.metadata.labels
        if labels:
            spec.selector = spec.selector or dict(labels)
            controller.metadata.labels = controller.metadata.labels or dict(labels)
        pods.default_template(spec.template)
    if spec.replicas is None:
        spec.replicas = 1


def default_pod_template(template: core.PodTemplate) -> None:
    pods.default_template(template.template)


def default_persistent_volume(volume: core.PersistentVolume) -> None:
    spec = volume.spec
    if not volume.status.phase:
        volume.status.phase = "Pending"
    if not spec.persistent_volume_reclaim_policy:
        spec.persistent_volume_reclaim_policy = "Retain"
    if spec.volume_mode is None:
        spec.volume_mode = "Filesystem"
    pods.round_amounts(spec.capacity)
    if spec.host_path is not None and spec.host_path.type is None:
        spec.host_path.type = ""
    if spec.iscsi is not None:
        pods.default_iscsi(spec.iscsi)
    if spec.rbd is not None:
        pods.default_rbd(spec.rbd)
    if spec.azure_disk is not None:
        pods.default_azure_disk(spec.azure_disk)
    if spec.scale_io is not None:
        pods.default_scale_io(spec.scale_io)


def default_claim(claim: core.PersistentVolumeClaim) -> None:
    if not claim.status.phase:
        claim.status.phase = "Pending"
    pods.default_claim_spec(claim.spec)


DEFAULTS = {
    ("v1", "Pod"): pods.default_pod,
    ("v1", "PodTemplate"): default_pod_template,
    ("v1", "Service"): default_service,
    ("v1", "Secret"): default_secret,
    ("v1", "Namespace"): default_namespace,
    ("v1", "Node"): default_node,
    ("v1", "Endpoints"): default_endpoints,
    ("v1", "LimitRange"): default_limit_range,
    ("v1", "ResourceQuota"): default_quota,
    ("v1", "ReplicationController"): default_replication_controller,
    ("v1", "PersistentVolume"): default_persistent_volume,
    ("v1", "PersistentVolumeClaim"): default_claim,
}
