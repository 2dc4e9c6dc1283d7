"""Kinds whose controllers come later, and the options of requests."""

from typing import Any

import pytest

from api import codec
from api import meta_v1 as meta
from api.defaults import set_defaults
from api.scheme import SCHEME
from api.validation import validate_create, validate_status_update, validate_update
from api.validation.options import (
    validate_delete_options,
    validate_patch_options,
    validate_table_options,
    validate_write_options,
)


def make(api_version: str, kind: str, name: str = "x", **rest: Any) -> Any:
    resource = SCHEME.by_kind(api_version, kind)
    metadata = {"name": name, "resourceVersion": "1", **({"namespace": "default"} if resource.namespaced else {})}
    obj = codec.from_builtins({"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}, resource.type)
    set_defaults(obj)
    return obj


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


NETWORKING = "networking.k8s.io/v1"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}


@pytest.mark.parametrize(
    ("api_version", "kind", "rest", "expected"),
    [
        (
            "policy/v1",
            "PodDisruptionBudget",
            {"spec": {"minAvailable": "120%"}},
            ['spec.minAvailable: Invalid value: "120%": must not be greater than 100%'],
        ),
        (
            NETWORKING,
            "NetworkPolicy",
            {"spec": {"ingress": [{"from": [{}]}]}},
            ["spec.ingress[0].from[0]: Required value: must specify a peer"],
        ),
        (
            NETWORKING,
            "NetworkPolicy",
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}}]}]}},
            [
                'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/8": must be a strict subset of '
                "`10.0.0.0/8`"
            ],
        ),
        (
            NETWORKING,
            "Ingress",
            {"spec": {"rules": [{"http": {"paths": [{"path": "web", "pathType": "Prefix", "backend": BACKEND}]}}]}},
            ['spec.rules[0].http.paths[0].path: Invalid value: "web": must be an absolute path'],
        ),
        (
            NETWORKING,
            "Ingress",
            {"spec": {"defaultBackend": {"service": {"name": "web"}}}},
            ["spec.defaultBackend: Required value: port name or number is required"],
        ),
        (
            NETWORKING,
            "IngressClass",
            {"spec": {"controller": "nginx"}},
            ['spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            NETWORKING,
            "IngressClass",
            {"spec": {"controller": "a.io/b", "parameters": {"kind": "K", "name": "a/b", "scope": "Namespace"}}},
            [
                "spec.parameters.name: Invalid value: \"a/b\": may not contain '/'",
                "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
            ],
        ),
        (
            NETWORKING,
            "ServiceCIDR",
            {"spec": {}},
            ["spec.cidrs: Required value: at least one CIDR required"],
        ),
        (
            NETWORKING,
            "ServiceCIDR",
            {"spec": {"cidrs": ["10.0.0.1/8", "web"]}},
            [
                'spec.cidrs[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
                'spec.cidrs[1]: Invalid value: "web": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
            ],
        ),
        (
            NETWORKING,
            "ServiceCIDR",
            {"spec": {"cidrs": ["10.0.0.0/8", "11.0.0.0/8"]}},
            [
                'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP '
                "family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
        ),
        (
            NETWORKING,
            "IPAddress",
            {"spec": {"parentRef": {"name": "web"}}},
            [
                'metadata.name: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                "spec.parentRef.resource: Required value",
            ],
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            {"provisioner": "", "reclaimPolicy": "Keep"},
            [
                "provisioner: Required value",
                'reclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Retain"',
            ],
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            {"provisioner": "a.io", "parameters": {str(number): "" for number in range(513)}},
            ["parameters: Too long: may not be more than 512 bytes"],
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            {"provisioner": "a.io", "parameters": {"": "x" * (256 << 10), "b": ""}},
            [
                'parameters: Invalid value: "": field can not be empty.',
                "parameters: Too long: may not be more than 262144 bytes",
            ],
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            {
                "provisioner": "a.io",
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b", "a"]}]},
                    {"matchLabelExpressions": [{"key": "zone", "values": ["b", "a"]}]},
                    {"matchLabelExpressions": [{"key": "", "values": []}]},
                ],
            },
            [
                'allowedTopologies.matchLabelExpressions[0].values[2]: Duplicate value: "a"',
                'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
                "allowedTopologies.matchLabelExpressions[0].values: Required value",
                'allowedTopologies.matchLabelExpressions[0].key: Invalid value: "": name part must be non-empty',
                'allowedTopologies.matchLabelExpressions[0].key: Invalid value: "": name part must consist of '
                "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                "'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        ),
        (
            "storage.k8s.io/v1",
            "CSIDriver",
            {"spec": {"nodeAllocatableUpdatePeriodSeconds": 9}},
            ["spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds"],
        ),
        (
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            {"storageClassName": "fast", "capacity": "-1Gi", "nodeTopology": {"matchLabels": {"zone": "-"}}},
            [
                'nodeTopology.matchLabels: Invalid value: "-": a valid label must be an empty string or consist of '
                "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                'capacity: Invalid value: "-1Gi": must be greater than or equal to 0',
            ],
        ),
        (
            "storage.k8s.io/v1",
            "VolumeAttributesClass",
            {},
            ["driverName: Required value", "parameters: Required value: must contain at least one key/value pair"],
        ),
        (
            "storage.k8s.io/v1",
            "VolumeAttachment",
            {"spec": {"attacher": "a.io", "nodeName": "n", "source": {}}},
            ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            {
                "spec": {
                    "group": "a.io",
                    "scope": "Cluster",
                    "names": {"plural": "things", "kind": "Thing"},
                    "versions": [{"name": "v1", "served": True, "storage": True}],
                }
            },
            ['metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group'],
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            {"spec": {"group": "a.io", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}},
            ['metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.a.io"'],
        ),
        (
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
            {"spec": {"request": "eA==", "signerName": "mine", "usages": ["client auth"]}},
            [
                'spec.signerName: Invalid value: "mine": must be a fully qualified domain and path of the form '
                "'example.com/signer-name'"
            ],
        ),
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"spec": {"minReplicas": 3, "maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}},
            ["spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"],
        ),
    ],
)
def test_one_wrong_field(api_version, kind, rest, expected):
    assert texts(validate_create(make(api_version, kind, **rest))) == expected


def test_an_ingress_is_asked_for_one_class_when_it_is_made():
    spec = {"ingressClassName": "a", "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    asked = make(NETWORKING, "Ingress", spec=spec)
    asked.metadata.annotations["kubernetes.io/ingress.class"] = "b"
    assert texts(validate_create(asked)) == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are '
        "specified"
    ]
    assert validate_update(asked, asked) == []


def test_where_an_ingress_is_reached_is_an_address_or_a_name():
    old = make(NETWORKING, "Ingress")
    status = {"loadBalancer": {"ingress": [{"ip": "010.0.0.1"}, {"hostname": "10.0.0.1"}]}}
    assert texts(validate_status_update(make(NETWORKING, "Ingress", status=status), old)) == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "010.0.0.1": must not have leading 0s',
        'status.loadBalancer.ingress[1].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ]


def test_addresses_and_ranges_of_services_are_fixed():
    def cidr(*cidrs):
        return make(NETWORKING, "ServiceCIDR", spec={"cidrs": list(cidrs)})

    assert texts(validate_update(cidr("10.1.0.0/16"), cidr("10.0.0.0/16"))) == [
        'spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable'
    ]
    assert validate_update(cidr("10.0.0.0/16", "fd00::/108"), cidr("10.0.0.0/16")) == []
    assert texts(validate_update(cidr("10.0.0.0/16"), cidr("10.0.0.0/16", "fd00::/108"))) == [
        'spec.cidrs: Invalid value: ["10.0.0.0/16"]: field is immutable'
    ]
    old = make(NETWORKING, "IPAddress", spec={"parentRef": {"resource": "services", "name": "a"}})
    new = make(NETWORKING, "IPAddress", spec={"parentRef": {"resource": "services", "name": "b"}})
    assert [error.path for error in validate_update(new, old)] == ["spec.parentRef"]
    old.metadata.name = "192.168.001.1"
    assert [error.path for error in validate_create(old)] == ["metadata.name"]
    old.metadata.name = "2001:db8::1"
    assert validate_create(old) == []


def test_a_storage_capacity_belongs_to_one_class_and_place():
    old = make("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="fast", nodeTopology={}, capacity="1Gi")
    more = make("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="fast", nodeTopology={}, capacity="2Gi")
    other = make("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="slow")
    assert validate_update(more, old) == []
    assert texts(validate_update(other, old)) == [
        "nodeTopology: Invalid value: null: field is immutable",
        'storageClassName: Invalid value: "slow": field is immutable',
    ]


def test_attributes_classes_are_fixed():
    old = make("storage.k8s.io/v1", "VolumeAttributesClass", driverName="a.io", parameters={"iops": "1"})
    new = make("storage.k8s.io/v1", "VolumeAttributesClass", driverName="b.io", parameters={"iops": "2"})
    assert validate_update(old, old) == []
    assert texts(validate_update(new, old)) == [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden.",
    ]


def test_a_driver_of_a_node_changes_in_how_many_volumes_it_takes_alone():
    def node(**driver: Any) -> Any:
        return make("storage.k8s.io/v1", "CSINode", spec={"drivers": [{"name": "a.io", "nodeID": "n1"} | driver]})

    assert validate_update(node(allocatable={"count": 3}), node(allocatable={"count": 2})) == []
    assert validate_update(node(name="b.io", nodeID="other"), node()) == []
    (error,) = texts(validate_update(node(nodeID="n2"), node()))
    assert error.startswith("CSINodeDriver: Invalid value: ") and error.endswith(": field is immutable")


TARGET = {"type": "Utilization", "averageUtilization": 50}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ({"type": "Resource", "resource": {"name": "cpu", "target": TARGET}}, []),
        (
            {"type": "Resource"},
            ["resource: Required value: must populate information for the given metric source"],
        ),
        (
            {"type": "Load", "resource": {"name": "cpu", "target": TARGET}},
            [
                'type: Unsupported value: "Load": supported values: "ContainerResource", "External", "Object", "Pods", '
                '"Resource"'
            ],
        ),
        (
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": TARGET},
                "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}},
            },
            ["pods: Forbidden: must populate the given metric source only"],
        ),
        (
            {"type": "Pods", "pods": {"metric": {"name": ""}, "target": {"type": "Most", "value": "0"}}},
            [
                "pods.metric.name: Required value: must specify a metric name",
                'pods.target.type: Invalid value: "Most": must be either Utilization, Value, or AverageValue',
                'pods.target.value: Invalid value: "0": must be positive',
                "pods.target.averageValue: Required value: must specify a positive target averageValue",
            ],
        ),
        (
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "A", "target": {}}},
            [
                'containerResource.container: Invalid value: "A": ',
                "containerResource.target.type: Required value: must specify a metric target type",
                'containerResource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
                "containerResource.target.averageUtilization: Required value: must set either a target raw value or a "
                "target utilization",
            ],
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue"},
                    "target": {"type": "Value", "value": "1", "averageValue": "1"},
                },
            },
            ["external.target.value: Forbidden: may not set both a target value for metric and a per-pod target"],
        ),
        (
            {
                "type": "Object",
                "object": {"describedObject": {"kind": "Ingress"}, "metric": {"name": "hits"}, "target": TARGET},
            },
            [
                "object.describedObject.name: Required value",
                "object.target.averageValue: Required value: must set either a target value or averageValue",
            ],
        ),
    ],
)
def test_metrics_that_scale(metric, expected):
    spec = {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "metrics": [metric]}
    found = texts(validate_create(make("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)))
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(f"spec.metrics[0].{start}")


def test_storage_classes_are_fixed():
    old = make("storage.k8s.io/v1", "StorageClass", provisioner="a.io", parameters={"a": "b"})
    new = make("storage.k8s.io/v1", "StorageClass", provisioner="b.io", reclaimPolicy="Retain")
    assert texts(validate_update(new, old)) == [
        "parameters: Forbidden: updates to parameters are forbidden.",
        "provisioner: Forbidden: updates to provisioner are forbidden.",
        "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
    ]


def test_a_decided_request_stays_decided():
    spec = {"request": "eA==", "signerName": "a.io/b", "usages": ["client auth"]}
    group, kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
    old = make(group, kind, spec=spec, status={"conditions": [{"type": "Approved", "status": "True"}]})
    assert texts(validate_update(make(group, kind, spec=spec), old)) == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]


def test_options():
    assert texts(validate_delete_options(meta.DeleteOptions(propagation_policy="Never", dry_run=["Some"]))) == [
        'propagationPolicy: Unsupported value: "Never": supported values: "Foreground", "Background", "Orphan", "nil"',
        'dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ]
    assert texts(validate_write_options(meta.CreateOptions(field_manager="a\n", field_validation="Maybe"))) == [
        'fieldManager: Invalid value: "a\\n": invalid character U+000A (at position 1)',
        'fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
    ]
    assert texts(validate_patch_options(meta.PatchOptions(force=True), apply=False)) == [
        "force: Forbidden: may not be specified for non-apply patch"
    ]
    assert texts(validate_patch_options(meta.PatchOptions(), apply=True)) == [
        "fieldManager: Required value: is required for apply patch"
    ]
    assert texts(validate_table_options("Everything")) == [
        "includeObject: Invalid value: \"Everything\": must be 'Metadata', 'Object', 'None', or empty"
    ]
