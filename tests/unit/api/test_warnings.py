"""What is valid and yet unwise, in the words of upstream's Warning headers."""

from __future__ import annotations

from typing import Any

import pytest

from api import apps_v1 as apps
from api import batch_v1 as batch
from api import core_v1 as core
from api import networking_v1 as networking
from api import node_v1 as node
from api import storage_v1 as storage
from api.codec import from_builtins
from api.declarations import Struct
from api.warnings import create_warnings, update_warnings

OLD_OS = "beta.kubernetes.io/os"
USE_OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
NO_SELECTOR = "a null labelSelector results in matching no pod"


def pod(*, name: str = "p", annotations: dict[str, str] | None = None, **spec: Any) -> core.Pod:
    whole = {"containers": [{"name": "c", "image": "x"}], **spec}
    return from_builtins({"metadata": {"name": name, "annotations": annotations or {}}, "spec": whole}, core.Pod)


def container(**rest: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "image": "x", **rest}]


def port(number: int, **rest: Any) -> dict[str, Any]:
    return {"containerPort": number, "protocol": "TCP", **rest}


def env(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in pairs]


def test_a_plain_pod_is_not_warned_of() -> None:
    assert create_warnings(pod()) == []


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"nodeSelector": {OLD_OS: "linux", "a": "b"}}, [f"spec.nodeSelector[{OLD_OS}]: {USE_OS}"]),
        (
            {
                "topologySpreadConstraints": [
                    {"topologyKey": OLD_OS, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
                    {"topologyKey": "a", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}},
                ]
            },
            [
                f"spec.topologySpreadConstraints[0].topologyKey: {OLD_OS} is {USE_OS}",
                f"spec.topologySpreadConstraints[0].labelSelector: {NO_SELECTOR}",
            ],
        ),
        (
            {"volumes": [{"name": "a", "gitRepo": {"repository": "r"}}, {"name": "b", "rbd": {"image": "i"}}]},
            [
                "spec.volumes[0].gitRepo: deprecated in v1.11",
                "spec.volumes[1].rbd: deprecated in v1.28, non-functional in v1.31+",
            ],
        ),
        (
            {
                "hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}],
                "imagePullSecrets": [{"name": "s"}, {"name": "s"}, {"name": ""}],
            },
            [
                'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
                'spec.imagePullSecrets[1].name: duplicate name "s"',
                'spec.imagePullSecrets[2].name: invalid empty name ""',
            ],
        ),
        (
            {"containers": container(resources={"limits": {"memory": "100m", "cpu": "100m"}})},
            [
                'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, '
                "must be an integer"
            ],
        ),
        (
            {"containers": container(env=env(("A", "1"), ("A", "2"), ("B", "1"), ("B", "$(B)2"), ("B", "$(B)")))},
            [
                'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
                'spec.containers[0].env[4]: hides previous definition of "B", which may be dropped when using apply',
            ],
        ),
        (
            {"containers": container(ports=[port(80), port(80), port(80, hostPort=8080), port(1, hostIP="1.2.3.4")])},
            [
                "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[0]",
                "spec.containers[0].ports[2]: overlapping port definition with spec.containers[0].ports[1]",
                "spec.containers[0].ports[3]: hostIP set without hostPort: "
                "{Name: HostPort:0 ContainerPort:1 Protocol:TCP HostIP:1.2.3.4}",
            ],
        ),
        (
            {"containers": container(ports=[port(80, hostPort=80), port(80, hostPort=80, hostIP="1.2.3.4")])},
            ["spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]"],
        ),
    ],
)
def test_pods(spec: dict[str, Any], warnings: list[str]) -> None:
    assert create_warnings(pod(**spec)) == warnings


def test_terms_of_affinity() -> None:
    expression = {"key": OLD_OS, "operator": "In", "values": ["not valid"]}
    terms = [{"matchExpressions": [expression]}]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": terms[0]}],
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "a"}}]
        },
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    place = "spec.affinity.nodeAffinity"
    found = create_warnings(pod(affinity=affinity))
    assert found[0] == f"{place}.{required}.nodeSelectorTerms[0].matchExpressions[0].key: {OLD_OS} is {USE_OS}"
    assert found[1] == f"{place}.{preferred}[0].preference.matchExpressions[0].key: {OLD_OS} is {USE_OS}"
    assert found[2].startswith(
        f"{place}.{preferred}[0].preference.matchExpressions[0].values[0]: not valid is invalid, "
    )
    assert found[3:] == [
        f"spec.affinity.podAffinity.{required}[0].labelSelector: {NO_SELECTOR}",
        f"spec.affinity.podAntiAffinity.{preferred}[0].podAffinityTerm.labelSelector: {NO_SELECTOR}",
    ]


def test_annotations_that_fields_have_replaced() -> None:
    annotations = {
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.seccomp.security.alpha.kubernetes.io/c": "runtime/default",
        "container.apparmor.security.beta.kubernetes.io/c": "runtime/default",
    }
    use = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    seccomp = "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]"
    critical = "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]"
    assert create_warnings(pod(annotations=annotations)) == [
        f'{critical}: non-functional in v1.16+; use the "priorityClassName" field instead',
        f"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {use}",
        f"{seccomp}: {use}",
    ]
    made = deployment(pod(annotations=annotations))
    assert create_warnings(made)[-1] == (
        "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: "
        'deprecated since v1.30; use the "appArmorProfile" field instead'
    )


def test_files_that_stand_where_a_token_is_written() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "m", "items": [{"key": "a", "path": "a"}, {"key": "b", "path": "token"}]}},
        {"secret": {"name": "s", "items": [{"key": "b", "path": "token"}]}},
    ]
    assert create_warnings(pod(volumes=[{"name": "v", "projected": {"sources": sources}}])) == [
        'spec.volumes[0].projected.sources.configMap[1]: has duplicated path with ServiceAccountToken "token"',
        'spec.volumes[0].projected.sources.secrets[0]: has duplicated path with ServiceAccountToken "token"',
    ]


def deployment(made_from: core.Pod, name: str = "d") -> apps.Deployment:
    made = apps.Deployment()
    made.metadata.name = name
    made.spec.template = core.PodTemplateSpec(metadata=made_from.metadata, spec=made_from.spec)
    return made


def test_names_that_make_bad_host_names() -> None:
    made = deployment(pod(), "a.b")
    assert create_warnings(made) == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    ]
    assert create_warnings(pod(name="a.b"))[0].startswith(
        "metadata.name: this is used in the Pod's hostname, which can"
    )


def test_updates_are_warned_of_when_the_spec_changed() -> None:
    old, new = deployment(pod()), deployment(pod(nodeSelector={OLD_OS: "linux"}))
    assert update_warnings(new, old) == []
    new.metadata.generation = 2
    assert update_warnings(new, old) == [f"spec.template.spec.nodeSelector[{OLD_OS}]: {USE_OS}"]
    assert update_warnings(pod(nodeSelector={OLD_OS: "linux"}), pod()) == []


CLAIM = {"resources": {"requests": {"storage": "1500m"}}}
FRACTION = 'resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'


@pytest.mark.parametrize(
    ("kind", "body", "warnings"),
    [
        (apps.StatefulSet, {"spec": {"volumeClaimTemplates": [{"spec": CLAIM}], "revisionHistoryLimit": -1}}, [
            f"spec.volumeClaimTemplates[0].{FRACTION}",
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        ]),
        (apps.DaemonSet, {"spec": {"template": {"spec": {"nodeSelector": {OLD_OS: "a"}}}}}, [
            f"spec.template.spec.nodeSelector[{OLD_OS}]: {USE_OS}",
        ]),
        (core.PodTemplate, {"template": {"spec": {"nodeSelector": {OLD_OS: "a"}}}}, [
            f"template.spec.nodeSelector[{OLD_OS}]: {USE_OS}",
        ]),
        (batch.CronJob, {
            "metadata": {"name": "j"},
            "spec": {"jobTemplate": {"spec": {"template": {"spec": {"nodeSelector": {OLD_OS: "a"}}}}}},
        }, [f"spec.jobTemplate.spec.template.spec.nodeSelector[{OLD_OS}]: {USE_OS}"]),
        (batch.Job, {
            "metadata": {"name": "j"},
            "spec": {"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001},
        }, [
            "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
        ]),
        (core.PersistentVolumeClaim, {
            "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "a"}}, "spec": CLAIM,
        }, [
            "metadata.annotations[volume.beta.kubernetes.io/storage-class]: "
            'deprecated since v1.8; use "storageClassName" attribute instead',
            f"spec.{FRACTION}",
        ]),
        (core.PersistentVolume, {
            "metadata": {"annotations": {"volume.beta.kubernetes.io/mount-options": "ro"}},
            "spec": {
                "persistentVolumeReclaimPolicy": "Recycle",
                "storageos": {},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": OLD_OS, "operator": "Exists"},
                ]}]}},
            },
        }, [
            "metadata.annotations[volume.beta.kubernetes.io/mount-options]: "
            'deprecated since v1.31; use "mountOptions" attribute instead',
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning.",
            f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: {OLD_OS} is {USE_OS}",
            "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
        ]),
        (storage.StorageClass, {
            "provisioner": "a.io", "allowedTopologies": [{"matchLabelExpressions": [{"key": OLD_OS, "values": ["a"]}]}],
        }, [f"allowedTopologies[0].matchLabelExpressions[0].key: {USE_OS}"]),
        (networking.Ingress, {"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}}, [
            "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
        ]),
        (node.RuntimeClass, {"scheduling": {"nodeSelector": {OLD_OS: "a"}}}, [f"scheduling.nodeSelector: {USE_OS}"]),
    ],
)  # fmt: skip
def test_other_kinds(kind: type[Struct], body: dict[str, Any], warnings: list[str]) -> None:
    assert create_warnings(from_builtins(body, kind)) == warnings


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"type": "ClusterIP", "sessionAffinity": "ClientIP"}, []),
        (
            {"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP", "externalIPs": ["192.0.2.1"]},
            [
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        (
            {"type": "ExternalName", "externalName": "a.b", "externalIPs": ["192.0.2.1"]},
            ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
        (
            {"type": "NodePort", "externalName": "a.b"},
            ['spec.externalName is ignored when spec.type is not "ExternalName"'],
        ),
        (
            {"type": "ClusterIP", "trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
    ],
)
def test_services(spec: dict[str, Any], warnings: list[str]) -> None:
    service = from_builtins({"spec": spec}, core.Service)
    assert create_warnings(service) == warnings
    assert update_warnings(service, service) == warnings
    service.metadata.annotations["service.kubernetes.io/topology-aware-hints"] = "auto"
    assert create_warnings(service)[0] == (
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead"
    )
