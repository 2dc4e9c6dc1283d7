"""Defaults: what stands in an object that was sent without it."""

from typing import Any

import pytest

from api import codec
from api.defaults import set_defaults
from api.defaults.pods import pull_policy
from api.scheme import SCHEME

CONTAINER = {"name": "c", "image": "i:1"}


def defaulted(api_version: str, kind: str, **rest: Any) -> dict[str, Any]:
    data = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **rest}
    obj = codec.from_builtins(data, SCHEME.kind_type(api_version, kind))
    set_defaults(obj)
    once = codec.to_builtins(obj)
    set_defaults(obj)
    assert codec.to_builtins(obj) == once
    return once


def test_pod():
    spec = defaulted("v1", "Pod", spec={"containers": [CONTAINER]})["spec"]
    assert spec == {
        "containers": [
            {
                **CONTAINER,
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


@pytest.mark.parametrize(
    ("given", "address", "addresses"),
    [
        ({"podIP": "10.0.0.1"}, "10.0.0.1", ["10.0.0.1"]),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, "10.0.0.1", ["10.0.0.1", "fd00::1"]),
        ({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]}, "10.0.0.2", ["10.0.0.2"]),
    ],
)
def test_both_fields_of_a_pods_address_agree(given, address, addresses):
    status = defaulted("v1", "Pod", spec={"containers": [CONTAINER]}, status=given)["status"]
    assert status == {"podIP": address, "podIPs": [{"ip": one} for one in addresses]}


def test_requests_follow_limits_and_are_rounded_up():
    container = {**CONTAINER, "resources": {"limits": {"cpu": "1500u", "memory": "1Gi"}, "requests": {"memory": "1Mi"}}}
    spec = defaulted("v1", "Pod", spec={"containers": [container]})["spec"]
    assert spec["containers"][0]["resources"] == {
        "limits": {"cpu": "2m", "memory": "1Gi"},
        "requests": {"cpu": "2m", "memory": "1Mi"},
    }


def test_probes_ports_and_field_references():
    container = {
        **CONTAINER,
        "ports": [{"containerPort": 80}],
        "readinessProbe": {"httpGet": {"port": 80}},
        "livenessProbe": {"grpc": {"port": 81}},
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }
    made = defaulted("v1", "Pod", spec={"containers": [container], "hostNetwork": True})["spec"]["containers"][0]
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert made["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert made["readinessProbe"] == {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, **numbers}
    assert made["livenessProbe"] == {"grpc": {"port": 81, "service": ""}, **numbers}
    assert made["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"


def test_volumes():
    volumes = [
        {"name": "a"},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "d", "hostPath": {"path": "/a"}},
        {"name": "e", "image": {"reference": "i"}},
    ]
    made = defaulted("v1", "Pod", spec={"containers": [CONTAINER], "volumes": volumes})["spec"]["volumes"]
    assert made == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
        {
            "name": "c",
            "projected": {
                "defaultMode": 420,
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
            },
        },
        {"name": "d", "hostPath": {"path": "/a", "type": ""}},
        {"name": "e", "image": {"reference": "i", "pullPolicy": "Always"}},
    ]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/a/nginx:v1", "IfNotPresent"),
        ("nginx@sha256:" + "a" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "a" * 64, "Always"),
        ("", "IfNotPresent"),
        ("Not An Image", "IfNotPresent"),
    ],
)
def test_pull_policy(image, policy):
    assert pull_policy(image) == policy


def test_a_template_gets_less_than_a_pod():
    container = {**CONTAINER, "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}
    template = {"spec": {"containers": [container], "hostNetwork": True}}
    spec = defaulted("apps/v1", "Deployment", spec={"template": template})["spec"]
    assert "enableServiceLinks" not in spec["template"]["spec"]
    assert spec["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert "hostPort" not in spec["template"]["spec"]["containers"][0]["ports"][0]


def test_deployment():
    spec = defaulted("apps/v1", "Deployment", spec={})["spec"]
    del spec["template"]
    assert spec == {
        "replicas": 1,
        "selector": None,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }


def test_explicit_zero_stays():
    spec = defaulted("apps/v1", "Deployment", spec={"replicas": 0, "revisionHistoryLimit": 0})["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"]) == (0, 0)


def test_service():
    spec = defaulted("v1", "Service", spec={"ports": [{"port": 80}]})["spec"]
    assert spec == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
    }
    spec = defaulted("v1", "Service", spec={"type": "LoadBalancer", "sessionAffinity": "ClientIP"})["spec"]
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    assert spec["externalTrafficPolicy"] == "Cluster"
    assert spec["allocateLoadBalancerNodePorts"] is True


@pytest.mark.parametrize(
    ("api_version", "kind", "rest", "expected"),
    [
        ("v1", "Secret", {"stringData": {"a": "b"}}, {"type": "Opaque", "data": {"a": "Yg=="}}),
        ("v1", "Namespace", {}, {"status": {"phase": "Active"}}),
        (
            "v1",
            "Endpoints",
            {"subsets": [{"ports": [{"port": 1}]}]},
            {"subsets": [{"ports": [{"port": 1, "protocol": "TCP"}]}]},
        ),
        (
            "v1",
            "LimitRange",
            {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}},
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "2"},
                            "min": {"memory": "1Mi"},
                            "default": {"cpu": "2"},
                            "defaultRequest": {"cpu": "2", "memory": "1Mi"},
                        }
                    ]
                }
            },
        ),
        (
            "scheduling.k8s.io/v1",
            "PriorityClass",
            {"value": 1},
            {"preemptionPolicy": "PreemptLowerPriority"},
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            {"provisioner": "p"},
            {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]},
            {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"}],
            },
        ),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            {"spec": {"egress": [{"ports": [{"port": 1}]}]}},
            {
                "spec": {
                    "podSelector": {},
                    "egress": [{"ports": [{"port": 1, "protocol": "TCP"}]}],
                    "policyTypes": ["Ingress", "Egress"],
                }
            },
        ),
    ],
)
def test_other_kinds(api_version, kind, rest, expected):
    made = defaulted(api_version, kind, **rest)
    assert {key: made[key] for key in expected} == expected


def test_namespaces_are_labelled_with_their_name():
    assert defaulted("v1", "Namespace")["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


def test_jobs():
    template = {"metadata": {"labels": {"a": "b"}}}
    made = defaulted("batch/v1", "Job", spec={"template": template})
    spec = made["spec"]
    del spec["template"]
    assert made["metadata"]["labels"] == {"a": "b"}
    assert spec == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_autoscalers():
    spec = defaulted(
        "autoscaling/v2", "HorizontalPodAutoscaler", spec={"behavior": {"scaleDown": {"selectPolicy": "Min"}}}
    )["spec"]
    assert spec["minReplicas"] == 1
    assert spec["metrics"][0]["resource"] == {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80},
    }
    assert spec["behavior"]["scaleDown"] == {
        "selectPolicy": "Min",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }
    assert spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 0


def test_every_served_kind_can_be_defaulted():
    for resource in SCHEME.resources():
        obj = resource.type()
        set_defaults(obj)
        assert obj.kind == resource.kind
