"""The fields that field selectors may use, as JSON paths with the value each has where the object does not say.

The caches read these paths straight from the bytes, so that a watch with a field selector decodes nothing. Which
labels a kind offers is declared in :mod:`api.selectors`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping

from api.errors import GroupName
from controlplane.apiserver.caching.entries import Entry, Scalar

_OBJECT_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_DEFAULTS: dict[GroupName, dict[str, Scalar]] = {
    GroupName("", "pods"): {
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": False,
        "status.phase": "",
        "status.podIP": "",
        "status.nominatedNodeName": "",
    },
    GroupName("", "nodes"): {"spec.unschedulable": False},
    GroupName("", "namespaces"): {"status.phase": ""},
    GroupName("", "secrets"): {"type": ""},
    GroupName("", "services"): {"spec.clusterIP": "", "spec.type": ""},
    GroupName("", "replicationcontrollers"): {"status.replicas": 0},
    GroupName("apps", "replicasets"): {"status.replicas": 0},
    GroupName("", "events"): {
        **{f"involvedObject.{field}": "" for field in _OBJECT_REFERENCE},
        "reason": "",
        "reportingComponent": "",
        "source.component": "",
        "type": "",
    },
    GroupName("batch", "jobs"): {"status.succeeded": 0},
    GroupName("certificates.k8s.io", "certificatesigningrequests"): {"spec.signerName": ""},
    GroupName("resource.k8s.io", "resourceslices"): {"spec.nodeName": "", "spec.driver": ""},
}


def defaults(group_resource: GroupName) -> Mapping[str, Scalar]:
    """JSON paths to read, and what they are when absent."""
    return _DEFAULTS.get(group_resource, {})


def refine(fields: dict[str, str], entry: Entry) -> dict[str, str]:
    """The labels upstream derives rather than reads."""
    kind = entry.shape.kind
    if kind == "Event":
        fields["source"] = fields.pop("source.component") or fields["reportingComponent"]
    elif kind == "Job":
        fields["status.successful"] = fields.pop("status.succeeded")
    return fields
