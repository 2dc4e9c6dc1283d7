"""Warnings of what surrounds pods: volumes, claims and their classes, services, ingresses, runtime classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api import core_v1 as core
from api import networking_v1 as networking
from api import node_v1 as node
from api import storage_v1 as storage
from api.warnings.claims import claim_warnings
from api.warnings.node_labels import DEPRECATED
from api.warnings.volumes import volume_warnings

_OLD_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_OLD_HINTS = "service.kubernetes.io/topology-aware-hints"
_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"


def _claim(claim: core.PersistentVolumeClaim) -> list[str]:
    found = []
    if _OLD_STORAGE_CLASS in claim.metadata.annotations:
        advice = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{_OLD_STORAGE_CLASS}]: {advice}")
    return [*found, *claim_warnings(claim.spec, "spec")]


def _volume(volume: core.PersistentVolume) -> list[str]:
    return list(volume_warnings(volume))


def _storage_class(storage_class: storage.StorageClass) -> list[str]:
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{position}].key: {DEPRECATED[expression.key]}"
        for index, term in enumerate(storage_class.allowed_topologies)
        for position, expression in enumerate(term.match_label_expressions)
        if expression.key in DEPRECATED
    ]


def _ingress(ingress: networking.Ingress) -> list[str]:
    if ingress.spec.ingress_class_name is None and _OLD_INGRESS_CLASS in ingress.metadata.annotations:
        return [f"annotation \"{_OLD_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _service(service: core.Service) -> list[str]:
    spec = service.spec
    found: list[str] = []
    if _OLD_HINTS in service.metadata.annotations:
        found.append(f"annotation {_OLD_HINTS} is deprecated, please use {_TOPOLOGY_MODE} instead")
    if spec.type == "ClusterIP" and spec.cluster_ip == "None":
        ignored = (
            (spec.load_balancer_ip, "loadBalancerIP"),
            (spec.external_ips, "externalIPs"),
            (spec.session_affinity != "None", "SessionAffinity"),
        )
        found += [f"spec.{name} is ignored for headless services" for given, name in ignored if given]
    if spec.type == "ExternalName" and spec.external_ips:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec.type != "ExternalName" and spec.external_name:
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.traffic_distribution == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _runtime_class(kind: node.RuntimeClass) -> list[str]:
    selector = {} if kind.scheduling is None else kind.scheduling.node_selector
    return [f"scheduling.nodeSelector: {DEPRECATED[label]}" for label in selector if label in DEPRECATED]


CREATE: dict[type, Callable[[Any], list[str]]] = {
    core.PersistentVolume: _volume,
    core.PersistentVolumeClaim: _claim,
    core.Service: _service,
    storage.StorageClass: _storage_class,
    networking.Ingress: _ingress,
    node.RuntimeClass: _runtime_class,
}

UPDATE: dict[type, Callable[[Any, Any], list[str]]] = {
    core.PersistentVolume: lambda new, old: _volume(new),
    core.PersistentVolumeClaim: lambda new, old: _claim(new),
    core.Service: lambda new, old: _service(new),
    storage.StorageClass: lambda new, old: _storage_class(new),
    node.RuntimeClass: lambda new, old: _runtime_class(new),
}
