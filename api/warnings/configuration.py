"""Warnings of what surrounds pods: claims, ingresses, runtime classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api import core_v1 as core
from api import networking_v1 as networking
from api import node_v1 as node
from api.warnings.claims import claim_warnings
from api.warnings.node_labels import DEPRECATED

_OLD_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"


def _claim(claim: core.PersistentVolumeClaim) -> list[str]:
    found = []
    if _OLD_STORAGE_CLASS in claim.metadata.annotations:
        advice = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"metadata.annotations[{_OLD_STORAGE_CLASS}]: {advice}")
    return [*found, *claim_warnings(claim.spec, "spec")]


def _ingress(ingress: networking.Ingress) -> list[str]:
    if ingress.spec.ingress_class_name is None and _OLD_INGRESS_CLASS in ingress.metadata.annotations:
        return [f"annotation \"{_OLD_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _runtime_class(kind: node.RuntimeClass) -> list[str]:
    selector = {} if kind.scheduling is None else kind.scheduling.node_selector
    return [f"scheduling.nodeSelector: {DEPRECATED[label]}" for label in selector if label in DEPRECATED]


CREATE: dict[type, Callable[[Any], list[str]]] = {
    core.PersistentVolumeClaim: _claim,
    networking.Ingress: _ingress,
    node.RuntimeClass: _runtime_class,
}

UPDATE: dict[type, Callable[[Any, Any], list[str]]] = {
    core.PersistentVolumeClaim: lambda new, old: _claim(new),
    node.RuntimeClass: lambda new, old: _runtime_class(new),
}
