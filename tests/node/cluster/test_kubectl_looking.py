"""`kubectl get`, `apply`, `describe`, `explain`, `wait`, `auth can-i`, `create token`, `events`: what they print."""

from __future__ import annotations

import re
import urllib.request

import jwt
import pytest
import yaml

from images.system import TOOLBOX
from tests.node.cluster.installation import ROOT, Installation
from tests.node.cluster.kubectl import Kubectl, columns, rows
from tests.node.cluster.manifests import config_map, container, deployment, once, pod, shell

pytestmark = pytest.mark.node

NODE_COLUMNS = [
    "NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION",
    "CONTAINER-RUNTIME",
]  # fmt: skip
POD_COLUMNS = ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]


def test_nodes_and_pods_of_all_namespaces(kubectl: Kubectl, node: Installation) -> None:
    kubectl.start_pod(pod("one"))
    nodes, pods = kubectl("get", "nodes,pods", "-A", "-o", "wide").split("\n\n")
    assert columns(nodes) == NODE_COLUMNS
    assert re.search(rf"^node/{node.name} +Ready +<none> +\w+ +v1\.36\.\d+\S* +[\d.]+ +<none> ", nodes, re.M)
    assert "containerd://" in nodes
    assert columns(pods) == ["NAMESPACE", *POD_COLUMNS]
    (line,) = [line.split() for line in pods.splitlines() if line.startswith(kubectl.namespace)]
    assert line[1:5] == ["pod/one", "1/1", "Running", "0"]
    assert line[6].startswith(node.pod_cidr.rpartition(".")[0])
    assert line[7:] == [node.name, "<none>", "<none>"]


def test_the_first_deployment_of_a_newcomer(kubectl: Kubectl, node: Installation) -> None:
    """What `make up` applies, asked as it asks."""
    kubectl("apply", "-f", str(ROOT / "examples" / "hello.yaml"))
    kubectl("rollout", "status", "deployment/hello", "--timeout=60s")
    pods = kubectl.items("pods", "-l", "app=hello")
    assert len(pods) == 2
    for one in pods:
        with urllib.request.urlopen(f"http://{one['status']['podIP']}:8080/", timeout=10) as answer:
            assert answer.read().decode() == f"hello from {one['metadata']['name']} on {node.name}\n"


def test_versions_and_resources(kubectl: Kubectl) -> None:
    assert re.search(r"^Server Version: v1\.36\.", kubectl("version"), re.M)
    assert "deployments" in kubectl("api-resources", "--api-group=apps", "-o", "name")
    assert "apps/v1" in kubectl("api-versions").splitlines()
    kubectl("cluster-info")


def test_forms_of_output(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("b", k="1"), config_map("a", k="2"))
    kubectl("label", "configmap", "a", "tier=front")
    assert kubectl("get", "configmap", "a", "-o", "name") == "configmap/a\n"
    chosen = kubectl("get", "configmaps", "-l", "tier", "-o", "custom-columns=N:.metadata.name,K:.data.k")
    assert [line.split() for line in chosen.splitlines()] == [["N", "K"], ["a", "2"]]
    assert "a      1      " in kubectl("get", "configmaps", "-L", "tier", "--field-selector", "metadata.name=a")
    assert yaml.safe_load(kubectl("get", "configmap", "a", "-o", "yaml"))["data"] == {"k": "2"}
    both = kubectl("get", "configmaps", "a", "b", "-o", "yaml")
    kubectl("delete", "configmap", "a", "b")
    assert kubectl("create", "-f", "-", text=both) == "configmap/a created\nconfigmap/b created\n"


def test_a_service_gets_an_address(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", 0))
    assert kubectl("expose", "deployment", "web", "--port=80", "--target-port=8080") == "service/web exposed\n"
    row = rows(kubectl("get", "service", "web"))[0]
    assert row[:2] == ["web", "ClusterIP"] and row[2].startswith("10.143.") and row[3:5] == ["<none>", "80/TCP"]
    assert re.search(r"^Selector: +app=web$", kubectl("describe", "service", "web"), re.M)


def test_watching_a_pod_come_and_go(kubectl: Kubectl) -> None:
    with kubectl.background("get", "pods", "--watch", "--output-watch-events") as watching:
        kubectl.run_pod(once("brief", "true"))
        kubectl("delete", "pod", "brief")
        watching.expect("DELETED")
    rows_seen = [line.split()[:4] for line in watching.output.splitlines() if not line.startswith("EVENT")]
    assert rows_seen[0][:2] == ["ADDED", "brief"]
    assert ["MODIFIED", "brief", "0/1", "Completed"] in rows_seen
    course = ("Pending", "ContainerCreating", "Running", "Completed")  # it may be too brief to be seen running
    states = [row[3] for row in rows_seen]
    assert states == sorted(states, key=course.index)


def test_states_of_pods_in_the_list(kubectl: Kubectl) -> None:
    kubectl.apply(
        pod("runs"),
        once("completes", "true"),
        once("fails", "exit 3"),
        pod("unschedulable", nodeSelector={"no": "such"}),
        pod("no-image", container(image="localhost/orlop/none:1", imagePullPolicy="Never")),
        pod("no-config", container(envFrom=[{"configMapRef": {"name": "missing"}}])),
    )
    kubectl.wait("pod/runs", "condition=Ready")
    kubectl.wait("pod/completes", "jsonpath={.status.phase}=Succeeded")
    kubectl.wait("pod/fails", "jsonpath={.status.phase}=Failed")
    for name in ("no-image", "no-config"):
        kubectl.wait(f"pod/{name}", "jsonpath={.status.containerStatuses[0].state.waiting.reason}")
    shown = {row[0]: tuple(row[1:3]) for row in rows(kubectl("get", "pods"))}
    assert shown == {
        "runs": ("1/1", "Running"),
        "completes": ("0/1", "Completed"),
        "fails": ("0/1", "Error"),
        "unschedulable": ("0/1", "Pending"),
        "no-image": ("0/1", "ErrImageNeverPull"),
        "no-config": ("0/1", "CreateContainerConfigError"),
    }
    kubectl.expect_event(
        "unschedulable",
        "FailedScheduling",
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    )
    kubectl.expect_event("no-config", "Failed", 'Error: configmap "missing" not found')


def test_apply_says_what_it_did(kubectl: Kubectl) -> None:
    first = config_map("settings", colour="red")
    assert kubectl.apply(first) == "configmap/settings created\n"
    assert kubectl.apply(first) == "configmap/settings unchanged\n"
    assert kubectl.apply(config_map("settings", colour="blue")) == "configmap/settings configured\n"
    assert kubectl.field("configmap/settings", ".data.colour") == "blue"
    assert kubectl("delete", "configmap", "settings").startswith('configmap "settings" deleted')
    assert "NotFound" in kubectl.refused("get", "configmap", "settings")


def test_server_side_refusals_read_as_upstream(kubectl: Kubectl) -> None:
    said = kubectl.refused("apply", "--validate=false", "-f", "-", text=_yaml_of_a_bad_pod())
    assert said.startswith('The Pod "Bad_Name" is invalid: ')
    assert '* metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of' in said
    assert (
        '* spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"' in said
    )
    assert "* spec.containers: Required value" in said


def _yaml_of_a_bad_pod() -> str:
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: Bad_Name}\nspec: {restartPolicy: Sometimes, containers: []}\n"


def test_unknown_fields_are_refused_by_strict_validation(kubectl: Kubectl) -> None:
    said = kubectl.refused("apply", "-f", "-", text=_yaml_of_a_misspelt_pod())
    assert 'strict decoding error: unknown field "spec.containers[0].imagee"' in said


def _yaml_of_a_misspelt_pod() -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: misspelt}\n"
        f"spec: {{containers: [{{name: main, image: '{TOOLBOX}', imagee: typo}}]}}\n"
    )


def test_describing_a_pod(kubectl: Kubectl, node: Installation) -> None:
    kubectl.start_pod(
        pod(
            "described",
            container(
                "web",
                ports=[{"containerPort": 8080, "name": "http"}],
                env=[{"name": "WHO", "value": "me"}],
                resources={"limits": {"cpu": "100m", "memory": "32Mi"}},
                livenessProbe={"exec": {"command": ["true"]}, "periodSeconds": 30},
                volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}],
            ),
            volumes=[{"name": "scratch", "emptyDir": {}}],
        )
    )
    kubectl.expect_event("described", "Started")
    said = kubectl("describe", "pod", "described")
    for line in (
        r"Name: +described",
        rf"Namespace: +{kubectl.namespace}",
        r"Priority: +0",
        r"Service Account: +default",
        rf"Node: +{node.name}/[\d.]+",
        r"Labels: +app=described",
        r"Status: +Running",
        r"    Container ID: +containerd://[0-9a-f]{64}",
        rf"    Image: +{re.escape(TOOLBOX)}",
        r"    Port: +8080/TCP( \(http\))?",
        r"    State: +Running",
        r"    Ready: +True",
        r"    Restart Count: +0",
        r"      memory: +32Mi",
        r"    Liveness: +exec \[true\] delay=0s timeout=1s period=30s #success=1 #failure=3",
        r"      WHO: +me",
        r"      /scratch from scratch \(rw\)",
        r"      /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-\w{5} \(ro\)",
        r"  PodReadyToStartContainers +True ",
        r"  PodScheduled +True ",
        r"QoS Class: +Guaranteed",
        r"Node-Selectors: +<none>",
        r"Tolerations: +node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
        rf"  Normal +Scheduled +\S+ +default-scheduler +Successfully assigned {kubectl.namespace}/described to \S+",
        rf'  Normal +Pulled +\S+ +kubelet +Container image "{re.escape(TOOLBOX)}" already present on machine.*',
        r"  Normal +Started +\S+ +kubelet +.*",
    ):
        assert re.search(f"^{line}$", said, re.M), f"{line}\n{said}"


def test_describing_a_deployment(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", 2))
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    said = kubectl("describe", "deployment", "web")
    for line in (
        r"Annotations: +deployment.kubernetes.io/revision: 1",
        r"Selector: +app=web",
        r"Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable",
        r"StrategyType: +RollingUpdate",
        r"RollingUpdateStrategy: +25% max unavailable, 25% max surge",
        r"  Available +True +MinimumReplicasAvailable",
        r"  Progressing +True +NewReplicaSetAvailable",
        r"OldReplicaSets: +<none>",
        r"NewReplicaSet: +web-\w+ \(2/2 replicas created\)",
        r"  Normal +ScalingReplicaSet +\S+ +deployment-controller +Scaled up replica set web-\w+ from 0 to 2",
    ):
        assert re.search(f"^{line}$", said, re.M), f"{line}\n{said}"


def test_describing_the_node(kubectl: Kubectl, node: Installation) -> None:
    kubectl.start_pod(pod("weighs", container(resources={"requests": {"cpu": "100m", "memory": "64Mi"}})))
    said = kubectl("describe", "node", node.name)
    for line in (
        rf"Name: +{node.name}",
        r"Taints: +<none>",
        r"Unschedulable: +false",
        r"  HolderIdentity: +\S+",
        r"  MemoryPressure +False .* KubeletHasSufficientMemory +kubelet has sufficient memory available",
        r"  DiskPressure +False .* KubeletHasNoDiskPressure +kubelet has no disk pressure",
        r"  PIDPressure +False .* KubeletHasSufficientPID +kubelet has sufficient PID available",
        r"  Ready +True .* KubeletReady +kubelet is posting ready status",
        r"  Container Runtime Version: +containerd://\S+",
        r"  Kubelet Version: +v1\.36\.\S+",
        rf"  {kubectl.namespace} +weighs +100m \(\d+%\) +0 \(0%\) +64Mi \(\d+%\) +0 \(0%\) +\S+",
        rf"  Normal +NodeHasSufficientMemory +.* kubelet +Node {node.name} status is now: NodeHasSufficientMemory",
    ):
        assert re.search(f"^{line}$", said, re.M), f"{line}\n{said}"


def test_explaining_a_field(kubectl: Kubectl) -> None:
    said = kubectl("explain", "deployment.spec.strategy.type")
    assert re.search(r"^KIND: +Deployment$", said, re.M)
    assert re.search(r"^VERSION: +v1$", said, re.M)
    assert re.search(r"^FIELD: type <string>$", said, re.M)


def test_waiting(kubectl: Kubectl) -> None:
    kubectl.apply(pod("awaited"))
    assert kubectl("wait", "pod/awaited", "--for=condition=Ready", "--timeout=30s") == "pod/awaited condition met\n"
    said = kubectl.refused("wait", "pod/awaited", "--for=condition=Initialized=False", "--timeout=1s")
    assert "error: timed out waiting for the condition on pods/awaited" in said
    with kubectl.background("wait", "pod/awaited", "--for=delete", "--timeout=30s") as waiting:
        kubectl("delete", "pod", "awaited")
        assert waiting.end() == 0
        assert waiting.output == "pod/awaited condition met\n"


def test_permissions_of_a_service_account(kubectl: Kubectl) -> None:
    account = f"system:serviceaccount:{kubectl.namespace}:reader"
    kubectl("create", "serviceaccount", "reader")
    assert kubectl.run("auth", "can-i", "get", "pods", "--as", account).stdout == "no\n"
    kubectl("create", "role", "read", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "read", "--role=read", f"--serviceaccount={kubectl.namespace}:reader")
    assert kubectl("auth", "can-i", "get", "pods", "--as", account) == "yes\n"
    assert kubectl.run("auth", "can-i", "delete", "pods", "--as", account).returncode == 1
    said = kubectl.refused("delete", "pod", "any", "--as", account)
    assert said == (
        f'Error from server (Forbidden): pods "any" is forbidden: User "{account}" cannot delete resource "pods" '
        f'in API group "" in the namespace "{kubectl.namespace}"\n'
    )
    assert "Username  " in kubectl("auth", "whoami")


def test_tokens_of_service_accounts_open_doors(kubectl: Kubectl) -> None:
    token = kubectl("create", "token", "default", "--duration=10m").strip()
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["sub"] == f"system:serviceaccount:{kubectl.namespace}:default"
    assert claims["exp"] - claims["iat"] == 600
    said = kubectl.refused("get", "pods", "--kubeconfig=/dev/null", *_by_token(kubectl, token))
    assert f'User "system:serviceaccount:{kubectl.namespace}:default" cannot list resource "pods"' in said
    assert "Unauthorized" in kubectl.refused("get", "pods", "--kubeconfig=/dev/null", *_by_token(kubectl, token[:-4]))


def _by_token(kubectl: Kubectl, token: str) -> list[str]:
    server = kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
    return [f"--server={server}", "--insecure-skip-tls-verify", f"--token={token}"]


def test_events_of_a_pod(kubectl: Kubectl) -> None:
    kubectl.start_pod(pod("eventful"))
    kubectl.expect_event("eventful", "Started")
    said = kubectl("events", "--for", "pod/eventful")
    assert columns(said) == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    reasons = [line.split()[2] for line in said.splitlines()[1:]]
    assert sorted(reasons) == ["Created", "Pulled", "Scheduled", "Started"]


def test_replacing_editing_and_patching(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", 1, container("main", shell("sleep infinity"))))
    assert kubectl("label", "deployment", "web", "tier=front") == "deployment.apps/web labeled\n"
    assert kubectl("annotate", "deployment", "web", "why=test") == "deployment.apps/web annotated\n"
    said = kubectl("patch", "deployment", "web", "-p", '{"spec":{"minReadySeconds":1}}')
    assert said == "deployment.apps/web patched\n"
    assert kubectl("set", "env", "deployment/web", "A=1") == "deployment.apps/web env updated\n"
    found = kubectl.get("deployment", "web")
    assert found["spec"]["minReadySeconds"] == 1
    assert found["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert found["metadata"]["labels"]["tier"] == "front"
