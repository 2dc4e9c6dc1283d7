"""Pods that are refused: one wrong field each, with the path and the words clients see."""

from typing import Any

import pytest

from api import codec
from api import core_v1 as core
from api.defaults import set_defaults
from api.validation import validate_create, validate_status_update, validate_update
from api.validation.pods import validate_binding, validate_ephemeral_update, validate_resize

LABEL_ERROR = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def pod(spec: dict[str, Any] | None = None, container: dict[str, Any] | None = None, **metadata: Any) -> core.Pod:
    data = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "resourceVersion": "1", **metadata},
        "spec": {"containers": [{"name": "c", "image": "i:1", **(container or {})}], **(spec or {})},
    }
    made = codec.from_builtins(data, core.Pod)
    set_defaults(made)
    return made


def errors(obj: core.Pod) -> list[str]:
    return [str(error) for error in validate_create(obj)]


def test_a_small_pod_is_fine():
    assert errors(pod()) == []


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"name": ""}, "spec.containers[0].name: Required value"),
        ({"name": "C"}, f'spec.containers[0].name: Invalid value: "C": {LABEL_ERROR}'),
        ({"image": ""}, "spec.containers[0].image: Required value"),
        (
            {"image": " i"},
            'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
        ),
        (
            {"imagePullPolicy": "Sometimes"},
            'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", '
            '"IfNotPresent", "Never"',
        ),
        (
            {"terminationMessagePolicy": "x"},
            'spec.containers[0].terminationMessagePolicy: Unsupported value: "x": supported values: "File", '
            '"FallbackToLogsOnError"',
        ),
        ({"ports": [{}]}, "spec.containers[0].ports[0].containerPort: Required value"),
        (
            {"ports": [{"containerPort": 70000}]},
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            {"ports": [{"containerPort": 1, "protocol": "ICMP"}]},
            'spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            'spec.containers[0].ports[1].name: Duplicate value: "a"',
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
            'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//9"',
        ),
        ({"env": [{}]}, "spec.containers[0].env[0].name: Required value"),
        (
            {"env": [{"name": "a", "valueFrom": {}}]},
            'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
            "`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        ),
        (
            {"env": [{"name": "a", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (
            {"env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.foo"}}}]},
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting '
            "fieldPath: field label not supported: spec.foo",
        ),
        (
            {"env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported '
            'values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", '
            '"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
        ),
        (
            {"env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
            "spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value",
        ),
        (
            {"env": [{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3m"}}}]},
            'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": '
            "only divisor's "
            "values 1m and 1 are supported with the cpu resource",
        ),
        (
            {"envFrom": [{}]},
            'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}]},
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            {"resources": {"requests": {"cpu": "-1"}}},
            'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"resources": {"requests": {"storage": "1"}}},
            'spec.containers[0].resources.requests[storage]: Invalid value: "storage": must be a standard resource for '
            "containers",
        ),
        (
            {"resources": {"requests": {"example.com/gpu": "1"}}},
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            {"resources": {"limits": {"example.com/gpu": "500m"}, "requests": {"example.com/gpu": "500m"}}},
            'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer',
        ),
        (
            {"resources": {"limits": {"hugepages-2Mi": "2Mi"}}},
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
        ),
        (
            {"resources": {"claims": [{"name": "x"}]}},
            'spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in '
            "pod.spec.resourceClaims which is empty",
        ),
        ({"livenessProbe": {}}, "spec.containers[0].livenessProbe: Required value: must specify a handler type"),
        (
            {"livenessProbe": {"exec": {"command": ["a"]}, "successThreshold": 2}},
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            {"readinessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}},
            "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
        ),
        (
            {"readinessProbe": {"httpGet": {"port": 0}}},
            "spec.containers[0].readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            {"readinessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 3}},
            "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for "
            "readinessProbes",
        ),
        (
            {"startupProbe": {"grpc": {"port": 1}, "periodSeconds": -1}},
            "spec.containers[0].startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 60}}}},
            "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 60: must be non-negative and less than "
            "terminationGracePeriodSeconds (30)",
        ),
        (
            {"securityContext": {"runAsUser": -1}},
            "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and "
            "2147483647, inclusive",
        ),
        (
            {"securityContext": {"procMount": "Unmasked"}},
            'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use '
            "`Unmasked`",
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
            "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be "
            "set when seccomp "
            "type is Localhost",
        ),
        (
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
            "spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
        ),
        (
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "Equals"}}],
            },
            'spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "Equals": '
            "supported values: "
            '"In", "NotIn"',
        ),
    ],
)
def test_containers(container, expected):
    # A wrong limit is also the wrong request that defaults from it.
    found = [error for error in errors(pod(container=container)) if ".requests[" not in error or error == expected]
    assert found == [expected]


VOLUME_MOUNT = [{"name": "v", "mountPath": "/a"}]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"secret": {}}, "spec.volumes[0].secret.secretName: Required value"),
        (
            {"secret": {"secretName": "s", "defaultMode": 0o1000}},
            "spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both "
            "inclusive",
        ),
        (
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "../x"}]}},
            "spec.volumes[0].configMap.items[0].path: Invalid value: \"../x\": must not contain '..'",
        ),
        (
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "..x"}]}},
            "spec.volumes[0].configMap.items[0].path: Invalid value: \"..x\": must not start with '..'",
        ),
        (
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "/x"}]}},
            'spec.volumes[0].configMap.items[0].path: Invalid value: "/x": must be a relative path',
        ),
        ({"hostPath": {"path": ""}}, "spec.volumes[0].hostPath.path: Required value"),
        (
            {"hostPath": {"path": "/a", "type": "Pipe"}},
            'spec.volumes[0].hostPath.type: Unsupported value: "Pipe": supported values: "", "BlockDevice", '
            '"CharDevice", '
            '"Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
        ),
        (
            {"emptyDir": {}, "hostPath": {"path": "/a"}},
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (
            {"emptyDir": {"sizeLimit": "-1"}},
            "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
        ),
        ({"persistentVolumeClaim": {}}, "spec.volumes[0].persistentVolumeClaim.claimName: Required value"),
        (
            {"nfs": {"server": "s", "path": "a"}},
            'spec.volumes[0].nfs.path: Invalid value: "a": must be an absolute path',
        ),
        (
            {"downwardAPI": {"items": [{"path": "a"}]}},
            "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        ),
        (
            {"projected": {"sources": [{"secret": {"name": "a"}, "configMap": {"name": "b"}}]}},
            "spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
        ),
        (
            {
                "projected": {
                    "sources": [
                        {"secret": {"name": "a", "items": [{"key": "k", "path": "f"}]}},
                        {"configMap": {"name": "b", "items": [{"key": "k", "path": "f"}]}},
                    ]
                }
            },
            'spec.volumes[0].projected: Invalid value: "b": conflicting duplicate paths',
        ),
        ({"csi": {"driver": ""}}, "spec.volumes[0].csi.driver: Required value"),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}}},
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is "
            "required",
        ),
        ({"image": {}}, "spec.volumes[0].image.reference: Required value"),
    ],
)
def test_volumes(volume, expected):
    found = errors(pod({"volumes": [{"name": "v", **volume}]}))
    assert expected in found


def test_service_account_token_without_an_account():
    spec = {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}
    assert errors(pod(spec)) == [
        "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when "
        "serviceAccountName is not set"
    ]


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({"mountPath": ""}, "spec.containers[0].volumeMounts[0].mountPath: Required value"),
        (
            {"subPath": "../a"},
            "spec.containers[0].volumeMounts.subPath: Invalid value: \"../a\": must not contain '..'",
        ),
        (
            {"subPath": "a", "subPathExpr": "b"},
            'spec.containers[0].volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually '
            "exclusive",
        ),
        (
            {"mountPropagation": "Bidirectional"},
            "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available "
            "only to privileged containers",
        ),
        (
            {"recursiveReadOnly": "Enabled"},
            "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
        ),
    ],
)
def test_mounts(mount, expected):
    made = pod({"volumes": [{"name": "v", "emptyDir": {}}]}, {"volumeMounts": [{**VOLUME_MOUNT[0], **mount}]})
    assert errors(made) == [expected]


def test_two_mounts_at_one_path():
    made = pod({"volumes": [{"name": "v", "emptyDir": {}}]}, {"volumeMounts": VOLUME_MOUNT * 2})
    assert errors(made) == ['spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique']


INIT = {"name": "i", "image": "i:1"}
HANDLER = {"tcpSocket": {"port": 1}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        (
            {"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]},
            'spec.containers[1].name: Duplicate value: "c"',
        ),
        ({"initContainers": [{**INIT, "name": "c"}]}, 'spec.initContainers[0].name: Duplicate value: "c"'),
        (
            {"initContainers": [{**INIT, "livenessProbe": HANDLER}]},
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without "
            "restartPolicy=Always",
        ),
        (
            {"initContainers": [{**INIT, "restartPolicy": "Sometimes"}]},
            'spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: '
            '"Always", "Never", '
            '"OnFailure"',
        ),
        (
            {"ephemeralContainers": [{"name": "e", "image": "i"}]},
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ),
        (
            {"restartPolicy": "Maybe"},
            'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            {"dnsPolicy": "x"},
            'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", '
            '"Default", "None"',
        ),
        (
            {"dnsPolicy": "None"},
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            {"dnsConfig": {"nameservers": ["x"]}},
            'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or '
            "2001:db8::ffff)",
        ),
        (
            {"dnsConfig": {"nameservers": ["010.0.0.1"]}},
            'spec.dnsConfig.nameservers[0]: Invalid value: "010.0.0.1": must not have leading 0s',
        ),
        ({"dnsConfig": {"options": [{}]}}, "spec.dnsConfig.options[0]: Required value: must not be empty"),
        (
            {"activeDeadlineSeconds": 0},
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ),
        ({"hostname": "A"}, f'spec.hostname: Invalid value: "A": {LABEL_ERROR}'),
        (
            {"nodeSelector": {"a b": "c"}},
            "spec.nodeSelector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or "
            "'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
            "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
        (
            {"tolerations": [{"operator": "Equal"}]},
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which '
            'means "match all values and all keys"',
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 1}]},
            "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set",
        ),
        (
            {"tolerations": [{"key": "a", "effect": "Never"}]},
            'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", '
            '"PreferNoSchedule", '
            '"NoExecute"',
        ),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
            "Required value: "
            "must have at least one node selector term",
        ),
        (
            {
                "affinity": {
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 0, "podAffinityTerm": {"topologyKey": "zone"}}
                        ]
                    }
                }
            },
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid "
            "value: 0: must "
            "be in the range 1-100",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 2, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
                ]
            },
            'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"',
        ),
        (
            {"hostAliases": [{"ip": "x"}]},
            'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        (
            {"hostPID": True, "shareProcessNamespace": True},
            "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot "
            "both be enabled",
        ),
        (
            {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}, "hostNetwork": True},
            'spec.securityContext.sysctls[0].name: Invalid value: "net.ipv4.tcp_syncookies": may not be specified when '
            "'hostNetwork' is true",
        ),
        (
            {"hostUsers": False, "hostNetwork": True},
            "spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false",
        ),
        ({"os": {"name": "plan9"}}, 'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'),
        (
            {"os": {"name": "windows"}, "securityContext": {"fsGroup": 1}},
            "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
        ),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, 'spec.schedulingGates[1]: Duplicate value: "a"'),
        (
            {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
        ({"preemptionPolicy": ""}, "spec.preemptionPolicy: Required value"),
        (
            {
                "resources": {"limits": {"cpu": "1"}},
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}],
            },
            'spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            {"overhead": {"cpu": "-1"}},
            'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
    ],
)
def test_specs(spec, expected):
    assert errors(pod(spec)) == [expected]


def test_all_errors_at_once():
    made = pod({"restartPolicy": "x", "hostname": "A"}, {"name": "", "image": ""}, name="Web")
    assert [error.path for error in validate_create(made)] == [
        "metadata.name",
        "spec.containers[0].name",
        "spec.containers[0].image",
        "spec.restartPolicy",
        "spec.hostname",
    ]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (
            {"kubernetes.io/config.mirror": "x"},
            'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName '
            "if mirror pod "
            "annotation is set",
        ),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "much"},
            'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "much": must be a 32bit '
            "integer",
        ),
        (
            {"container.apparmor.security.beta.kubernetes.io/x": "unconfined"},
            'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not '
            "found",
        ),
    ],
)
def test_annotations(annotations, expected):
    assert errors(pod(annotations=annotations)) == [expected]


# Updates


def update_errors(new: core.Pod, old: core.Pod) -> list[str]:
    return [str(error) for error in validate_update(new, old)]


def test_what_may_change():
    old = pod({"activeDeadlineSeconds": 20, "tolerations": [{"key": "a", "operator": "Exists"}]})
    new = pod(
        {
            "activeDeadlineSeconds": 10,
            "tolerations": [{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists"}],
        },
        {"image": "i:2"},
        labels={"a": "b"},
    )
    assert update_errors(new, old) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"nodeName": "n"}, "spec: Forbidden: pod updates may not change fields other than"),
        ({}, {"hostname": "h"}, "spec: Forbidden: pod updates may not change fields other than"),
        (
            {},
            {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:1"}]},
            "spec.containers: Forbidden: pod updates may not add or remove containers",
        ),
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 6},
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        ),
        (
            {"activeDeadlineSeconds": 5},
            {},
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {},
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        ),
        (
            {},
            {"schedulingGates": [{"name": "g"}]},
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'",
        ),
        (
            {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}},
            {"schedulingGates": [{"name": "g"}]},
            "spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are allowed (no mutations or "
            "deletions)",
        ),
    ],
)
def test_what_may_not_change(old, new, expected):
    found = update_errors(pod(new), pod(old))
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_the_refusal_names_the_changed_field():
    found = update_errors(pod({"hostname": "h"}), pod())
    assert found[0].split("\n")[0] == (
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    assert 'hostname: "h"' in found[0]


def test_gates_open_and_a_gated_pod_is_narrowed():
    old = pod({"schedulingGates": [{"name": "g"}, {"name": "h"}]})
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
            }
        }
    }
    new = pod({"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}, "affinity": affinity})
    assert update_errors(new, old) == []


def test_metadata_that_is_fixed():
    old = pod(uid="1", creationTimestamp="2024-01-01T00:00:00Z")
    new = pod(uid="2", creationTimestamp="2024-01-01T00:00:01Z", resourceVersion="")
    assert update_errors(new, old) == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        'metadata.uid: Invalid value: "2": field is immutable',
        'metadata.creationTimestamp: Invalid value: "2024-01-01T00:00:01Z": field is immutable',
    ]


# Status and subresources


def test_an_ended_container_stays_ended():
    old, new = pod({"restartPolicy": "Never"}), pod({"restartPolicy": "Never"})
    ended = core.ContainerState(terminated=core.ContainerStateTerminated(exit_code=1))
    old.status.container_statuses = [core.ContainerStatus(name="c", state=ended)]
    new.status.container_statuses = [core.ContainerStatus(name="c")]
    assert [str(error) for error in validate_status_update(new, old)] == [
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    ]


def rule(action: str, code: int) -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": "In", "values": [code]}}


@pytest.mark.parametrize(
    ("policy", "own", "exit_code", "allowed"),
    [
        ("Always", {}, 0, True),
        ("Always", {"restartPolicy": "Never"}, 1, False),
        ("OnFailure", {}, 1, True),
        ("OnFailure", {}, 0, False),
        ("Never", {"restartPolicy": "OnFailure"}, 1, True),
        ("Never", {"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", 42)]}, 42, True),
        ("Never", {"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", 42)]}, 1, False),
        ("Never", {"restartPolicy": "Never", "restartPolicyRules": [rule("RestartAllContainers", 42)]}, 1, True),
    ],
)
def test_an_ended_container_leaves_its_end_as_its_policy_and_rules_allow(policy, own, exit_code, allowed):
    old, new = pod({"restartPolicy": policy}, own), pod({"restartPolicy": policy}, own)
    ended = core.ContainerState(terminated=core.ContainerStateTerminated(exit_code=exit_code))
    old.status.container_statuses = [core.ContainerStatus(name="c", state=ended)]
    new.status.container_statuses = [core.ContainerStatus(name="c")]
    assert (validate_status_update(new, old) == []) is allowed


def test_status_addresses():
    old, new = pod(), pod()
    new.status.pod_ips = [core.PodIP(ip="10.0.0.1"), core.PodIP(ip="10.0.0.2")]
    assert [str(error) for error in validate_status_update(new, old)] == [
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each '
        "IP family"
    ]


def test_binding_needs_a_node():
    found: list[Any] = []
    validate_binding(core.Binding(target=core.ObjectReference(kind="Pod")), found)
    assert [str(error) for error in found] == [
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        "target.name: Required value",
    ]


def test_ephemeral_containers_only_come():
    old = pod({"ephemeralContainers": [{"name": "a", "image": "i:1"}]})
    found: list[Any] = []
    validate_ephemeral_update(pod(), old, found)
    assert (
        str(found[0]) == 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be removed\n'
    )
    found.clear()
    more = pod(
        {
            "ephemeralContainers": [
                {"name": "a", "image": "i:1"},
                {"name": "b", "image": "i", "ports": [{"containerPort": 1}]},
            ]
        }
    )
    validate_ephemeral_update(more, old, found)
    assert [str(error) for error in found] == [
        "spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container"
    ]


def test_resize_changes_cpu_and_memory_within_the_class():
    old = pod(container={"resources": {"requests": {"cpu": "1"}}})
    found: list[Any] = []
    validate_resize(pod(container={"resources": {"requests": {"cpu": "2"}}}), old, found)
    assert found == []
    validate_resize(pod(container={"resources": {}}), old, found)
    assert 'spec: Invalid value: "": Pod QOS Class may not change as a result of resizing' in [str(e) for e in found]
