"""Kinds other than pods: one wrong field each."""

from base64 import b64encode
from typing import Any

import pytest

from api import codec
from api.defaults import set_defaults
from api.scheme import SCHEME
from api.validation import validate_create, validate_status_update, validate_update

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}


def make(api_version: str, kind: str, **rest: Any) -> Any:
    resource = SCHEME.by_kind(api_version, kind)
    metadata = {"name": "x", "resourceVersion": "1", **({"namespace": "default"} if resource.namespaced else {})}
    metadata |= rest.pop("metadata", {})
    obj = codec.from_builtins({"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}, resource.type)
    set_defaults(obj)
    return obj


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


def service(**spec: Any) -> Any:
    return make("v1", "Service", spec={"ports": [{"port": 80}], **spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [], "clusterIP": "None", "clusterIPs": ["None"]}, []),
        (
            {"ports": [{"port": 0, "targetPort": 1}]},
            ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            {"ports": [{"port": 1}, {"port": 2}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]},
            [
                "spec.ports[1]: Duplicate value: "
                '{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,'
                '"NodePort":0}'
            ],
        ),
        (
            {"ports": [{"port": 1, "nodePort": 30000}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"type": "Balancer"},
            [
                'spec.type: Unsupported value: "Balancer": supported values: "ClusterIP", "ExternalName", '
                '"LoadBalancer", "NodePort"'
            ],
        ),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        (
            {"type": "ExternalName", "externalName": "a.b", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]},
            ["spec.clusterIPs: Forbidden: may not be set for ExternalName services"],
        ),
        (
            {"clusterIP": "x", "clusterIPs": ["x"]},
            ['spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
        ),
        (
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]},
            ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
        ),
        (
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv6"]},
            ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
        ),
        (
            {"sessionAffinity": "Cookie"},
            ['spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'],
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
            [
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less "
                "than 86400"
            ],
        ),
        (
            {"externalIPs": ["127.0.0.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, '
                "::1/128)"
            ],
        ),
        (
            {"externalTrafficPolicy": "Local"},
            ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
        ),
        (
            {"internalTrafficPolicy": "x"},
            ['spec.internalTrafficPolicy: Unsupported value: "x": supported values: "Cluster", "Local"'],
        ),
        (
            {"trafficDistribution": "Far"},
            [
                'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", '
                '"PreferSameNode", "PreferSameZone"'
            ],
        ),
        (
            {"loadBalancerClass": "a.io/b"},
            ["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            {"loadBalancerSourceRanges": ["10.0.0.1/8"], "type": "LoadBalancer"},
            [
                'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the '
                "prefix length"
            ],
        ),
    ],
)
def test_services(spec, expected):
    assert texts(validate_create(service(**spec))) == expected


def test_service_names_are_rfc_1035_labels():
    found = validate_create(make("v1", "Service", metadata={"name": "1web"}, spec={"ports": [{"port": 80}]}))
    assert [error.path for error in found] == ["metadata.name"]


def test_a_cluster_ip_stays():
    old = service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"])
    new = service(clusterIP="10.0.0.2", clusterIPs=["10.0.0.2"])
    assert texts(validate_update(new, old)) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'
    ]
    gone = service()
    assert texts(validate_update(gone, old)) == [
        "spec.clusterIPs[0]: Invalid value: []: primary clusterIP can not be unset"
    ]


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("kind", "rest", "expected"),
    [
        ("ConfigMap", {"data": {"a": "b"}, "binaryData": {"c": encoded("d")}}, []),
        (
            "ConfigMap",
            {"data": {"a": "b"}, "binaryData": {"a": encoded("d")}},
            ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
        ),
        ("ConfigMap", {"data": {"..": "b"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        ("ConfigMap", {"data": {"a": "x" * 1048577}}, ["[]: Too long: may not be more than 1048576 bytes"]),
        ("Secret", {"stringData": {"a": "b"}}, []),
        (
            "Secret",
            {"type": "kubernetes.io/tls", "data": {"tls.crt": encoded("x")}},
            ["data[tls.key]: Required value"],
        ),
        (
            "Secret",
            {"type": "kubernetes.io/basic-auth"},
            ["data[username]: Required value", "data[password]: Required value"],
        ),
        ("Secret", {"type": "kubernetes.io/ssh-auth"}, ["data[ssh-privatekey]: Required value"]),
        (
            "Secret",
            {"type": "kubernetes.io/service-account-token"},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        (
            "Secret",
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": encoded("{")}},
            ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input'],
        ),
        ("Secret", {"type": "kubernetes.io/dockercfg"}, ["data[.dockercfg]: Required value"]),
    ],
)
def test_configuration(kind, rest, expected):
    assert texts(validate_create(make("v1", kind, **rest))) == expected


def test_immutable_configuration():
    old = make("v1", "ConfigMap", data={"a": "1"}, immutable=True)
    assert texts(validate_update(make("v1", "ConfigMap", data={"a": "2"}), old)) == [
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
    ]


def test_a_secret_keeps_its_type():
    old = make("v1", "Secret")
    assert texts(validate_update(make("v1", "Secret", type="other"), old)) == [
        'type: Invalid value: "other": field is immutable'
    ]


def deployment(**spec: Any) -> Any:
    return make("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"selector": None},
            [
                "spec.selector: Required value",
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template '
                "`labels`",
            ],
        ),
        (
            {"selector": {}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            {"selector": {"matchLabels": {"app": "db"}}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template '
                "`labels`"
            ],
        ),
        (
            {"selector": {**SELECTOR, "matchExpressions": [{"key": "a", "operator": "In"}]}},
            [
                "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is "
                "'In' or "
                "'NotIn'",
                'spec.selector: Invalid value: {"matchLabels":{"app":"web"},"matchExpressions":[{"key":"a","operator":'
                '"In"}]}: invalid label selector',
            ],
        ),
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            {"strategy": {"type": "Fast"}},
            [
                'spec.strategy: Unsupported value: {"Type":"Fast","RollingUpdate":null}: supported values: "Recreate", '
                '"RollingUpdate"'
            ],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}},
            ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": "120%"}}},
            ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "120%": must not be greater than 100%'],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "x"}}},
            [
                'spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": a valid percent string must be a numeric '
                "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
            ],
        ),
        (
            {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
            ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
        ),
        (
            {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
        (
            {"template": {**TEMPLATE, "spec": {"containers": [{"name": "c"}]}}},
            ["spec.template.spec.containers[0].image: Required value"],
        ),
    ],
)
def test_deployments(spec, expected):
    assert texts(validate_create(deployment(**spec))) == expected


def test_a_selector_is_fixed():
    labels = {"app": "web", "tier": "a"}
    template = {**TEMPLATE, "metadata": {"labels": labels}}
    new = deployment(selector={"matchLabels": labels}, template=template)
    assert texts(validate_update(new, deployment())) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"a"}}: field is immutable'
    ]


def test_replica_set_status():
    new = make(
        "apps/v1",
        "ReplicaSet",
        spec={"selector": SELECTOR, "template": TEMPLATE},
        status={"replicas": 1, "readyReplicas": 2, "availableReplicas": 3},
    )
    assert texts(validate_status_update(new, new)) == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
    ]


def test_stateful_set_updates():
    spec = {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "a"}
    old = make("apps/v1", "StatefulSet", spec=spec)
    assert texts(validate_create(old)) == []
    new = make("apps/v1", "StatefulSet", spec={**spec, "serviceName": "b", "replicas": 3})
    assert texts(validate_update(new, old)) == [
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
        "forbidden"
    ]


def test_daemon_set_surge_excludes_unavailability():
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    obj = make("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE, "updateStrategy": strategy})
    assert texts(validate_create(obj)) == [
        "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"
    ]


RBAC = "rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("kind", "rest", "expected"),
    [
        ("Role", {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}, []),
        (
            "Role",
            {"rules": [{}]},
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            "Role",
            {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]},
            ['rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs'],
        ),
        (
            "ClusterRole",
            {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"], "resources": ["b"]}]},
            [
                'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and '
                "non-resource URLs"
            ],
        ),
        (
            "RoleBinding",
            {"roleRef": {"kind": "Thing", "name": "a"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}]},
            ['roleRef.kind: Unsupported value: "Thing": supported values: "Role", "ClusterRole"'],
        ),
        (
            "ClusterRoleBinding",
            {"roleRef": {"kind": "ClusterRole", "name": "a"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}]},
            ["subjects[0].namespace: Required value"],
        ),
        (
            "ClusterRoleBinding",
            {"roleRef": {"kind": "ClusterRole", "name": "a"}, "subjects": [{"kind": "Robot", "name": "s"}]},
            ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
        ),
    ],
)
def test_rbac(kind, rest, expected):
    assert texts(validate_create(make(RBAC, kind, **rest))) == expected


def test_a_binding_keeps_its_role():
    old = make(RBAC, "RoleBinding", roleRef={"kind": "Role", "name": "a"})
    new = make(RBAC, "RoleBinding", roleRef={"kind": "Role", "name": "b"})
    assert texts(validate_update(new, old)) == [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: '
        "cannot change roleRef"
    ]


def test_nodes():
    taint = {"key": "a", "effect": "NoSchedule"}
    new = make("v1", "Node", spec={"taints": [taint, taint], "podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]})
    assert texts(validate_create(new)) == [
        "metadata.taints[1]: Duplicate value: "
        '{"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must '
        "be unique by key and effect pair",
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP '
        "family",
    ]
    old = make("v1", "Node", spec={"podCIDR": "10.0.0.0/24"})
    assert texts(validate_update(make("v1", "Node", spec={"podCIDR": "10.9.0.0/24"}), old)) == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    ]


def test_namespace_phase_follows_deletion():
    obj = make("v1", "Namespace", status={"phase": "Terminating"})
    assert texts(validate_status_update(obj, obj)) == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"leaseDurationSeconds": 0}, ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]),
        (
            {"leaseTransitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
        ),
        ({"holderIdentity": "a", "leaseDurationSeconds": 40}, []),
    ],
)
def test_leases(spec, expected):
    assert texts(validate_create(make("coordination.k8s.io/v1", "Lease", spec=spec))) == expected


def test_core_events_of_another_namespace():
    event = make("v1", "Event", involvedObject={"namespace": "other"})
    assert texts(validate_create(event)) == [
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]


def test_new_events_say_who_reports_what():
    event = make(
        "events.k8s.io/v1", "Event", regarding={"namespace": "default"}, eventTime="2024-01-01T00:00:00.000000Z"
    )
    assert [error.path for error in validate_create(event)] == [
        "reportingController",
        "reportingController",
        "reportingController",
        "reportingInstance",
        "action",
        "reason",
        "type",
    ]


def test_priority_classes():
    group = "scheduling.k8s.io/v1"
    assert texts(validate_create(make(group, "PriorityClass", value=1000000001))) == [
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    ]
    system = make(group, "PriorityClass", metadata={"name": "system-mine"}, value=1)
    assert texts(validate_create(system)) == [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
        "system-mine is not a known system priority class"
    ]
    critical = make(group, "PriorityClass", metadata={"name": "system-node-critical"}, value=2000001000)
    assert validate_create(critical) == []


def test_runtime_classes():
    group = "node.k8s.io/v1"
    sound = make(group, "RuntimeClass", handler="kata", overhead={"podFixed": {"cpu": "10m", "memory": "1Mi"}})
    assert validate_create(sound) == []
    scheduling = {"nodeSelector": {"a b": "c"}, "tolerations": [{"operator": "Exists", "value": "x"}]}
    wrong = make(group, "RuntimeClass", handler="Kata_FC", overhead={"podFixed": {"cpu": "-1"}}, scheduling=scheduling)
    assert [str(error).split(" must consist")[0] for error in validate_create(wrong)] == [
        'handler: Invalid value: "Kata_FC": a lowercase RFC 1123 label',
        'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        'scheduling.nodeSelector: Invalid value: "a b": name part',
        """scheduling.tolerations[0].operator: Invalid value: "x": value must be empty when `operator` is 'Exists'""",
    ]
    other = make(group, "RuntimeClass", handler="runc", overhead={"podFixed": {"cpu": "20m"}})
    assert texts(validate_update(other, sound)) == ['handler: Invalid value: "runc": field is immutable']


def test_endpoint_slices():
    group = "discovery.k8s.io/v1"
    piece = make(group, "EndpointSlice", addressType="IPv4", endpoints=[{"addresses": ["::1"]}, {"addresses": []}])
    assert texts(validate_create(piece)) == [
        'endpoints[0].addresses[0]: Invalid value: "::1": must be an IPv4 address',
        'endpoints[0].addresses[0]: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        "endpoints[1].addresses: Required value: must contain at least 1 address",
    ]


def test_hints_of_endpoints_name_zones_and_nodes_once():
    hints = {"forZones": [{"name": "a"}, {"name": "a"}, {"name": "a b"}], "forNodes": [{"name": "N"}]}
    endpoints = [{"addresses": ["192.0.2.1"], "hints": hints}, {"addresses": ["192.0.2.1"]}]
    piece = make("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=endpoints)
    assert [(error.path, error.kind.name) for error in validate_create(piece)] == [
        ("endpoints[0].hints.forZones[1].name", "DUPLICATE"),
        ("endpoints[0].hints.forZones[2].name", "INVALID"),
        ("endpoints[0].hints.forNodes[0].name", "INVALID"),
    ]
    hints["forZones"] = [{"name": f"z{number}"} for number in range(9)]
    piece = make("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=endpoints[:1])
    assert texts(validate_create(piece))[0] == ("endpoints[0].hints.forZones: Too many: 9: must have at most 8 items")


def test_jobs_restart_on_failure_at_most():
    job = make("batch/v1", "Job", spec={"manualSelector": True, "selector": SELECTOR, "template": TEMPLATE})
    assert texts(validate_create(job)) == [
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    ]


def test_limit_ranges_are_in_order():
    limits = [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]
    found = texts(validate_create(make("v1", "LimitRange", spec={"limits": limits})))
    assert 'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1' in found


def test_quotas_of_conflicting_scopes():
    quota = make("v1", "ResourceQuota", spec={"scopes": ["BestEffort", "NotBestEffort"], "hard": {"pods": "1"}})
    assert texts(validate_create(quota)) == [
        'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'
    ]


def test_claims_grow_only():
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, "volumeName": "v"}
    old = make("v1", "PersistentVolumeClaim", spec=spec, status={"phase": "Bound", "capacity": {"storage": "2Gi"}})
    bigger = make(
        "v1",
        "PersistentVolumeClaim",
        spec={**spec, "resources": {"requests": {"storage": "3Gi"}}},
        status={"phase": "Bound"},
    )
    smaller = make(
        "v1",
        "PersistentVolumeClaim",
        spec={**spec, "resources": {"requests": {"storage": "1Gi"}}},
        status={"phase": "Bound"},
    )
    assert validate_create(old) == []
    assert validate_update(bigger, old) == []
    assert texts(validate_update(smaller, old)) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def persistent_volume(driver: dict[str, Any], **more: Any) -> Any:
    csi = {"driver": "a.io", "volumeHandle": "1"} | driver
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi} | more
    return make("v1", "PersistentVolume", spec=spec)


def test_the_source_of_a_volume_is_fixed_but_for_the_secret_to_expand_it_with():
    secret = {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}
    old = persistent_volume({}, volumeAttributesClassName="silver")
    assert validate_update(persistent_volume(secret, volumeAttributesClassName="gold"), old) == []
    assert texts(validate_update(persistent_volume({"volumeHandle": "2"}), old)) == [
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
        '- \tcsi.volumeHandle: "1"\n+ \tcsi.volumeHandle: "2"\n',
        "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
    ]
    assert texts(validate_update(persistent_volume({}), persistent_volume(secret)))[0].startswith(
        "spec.persistentvolumesource: Forbidden: "
    )


def test_attributes_of_a_volume_need_a_driver():
    assert texts(validate_create(persistent_volume({}, volumeAttributesClassName=""))) == [
        "spec.volumeAttributesClassName: Required value: an empty string is disallowed"
    ]
    other = persistent_volume({}, volumeAttributesClassName="silver", csi=None, hostPath={"path": "/srv"})
    assert texts(validate_create(other)) == [
        "spec.csi: Required value: has to be specified when using volumeAttributesClassName"
    ]


def test_a_persistent_volume_needs_a_source():
    volume = make("v1", "PersistentVolume", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]})
    assert texts(validate_create(volume)) == ["spec: Required value: must specify a volume type"]
