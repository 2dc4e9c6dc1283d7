"""Volumes as containers see them, and their live update."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import Manifest, config_map, container, once, pod, secret, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node


def with_volume(source: dict[str, Any], path: str = "/v", **mount: Any) -> dict[str, Any]:
    """What to give a container and its pod for one volume."""
    return {
        "volumes": [{"name": "v"} | source],
        "volumeMounts": [{"name": "v", "mountPath": path} | mount],
    }


def listing(kubectl: Kubectl, name: str, source: dict[str, Any], script: str, **mount: Any) -> str:
    return kubectl.run_pod(once(name, script, **with_volume(source, **mount)))


def test_config_maps_and_secrets_as_files(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("settings", a="1", b="2"), secret("hidden", password="sesame"))
    said = listing(kubectl, "all", {"configMap": {"name": "settings"}}, "cd /v; ls; cat a b; stat -Lc %a a")
    assert said == "a\nb\n12644\n"
    items = {"items": [{"key": "a", "path": "deep/er", "mode": 0o400}]}
    said = listing(
        kubectl,
        "some",
        {"configMap": {"name": "settings"} | items},
        "cd /v; find -L . -type f ! -path '*..*'; stat -Lc %a deep/er",
    )
    assert said == "./deep/er\n400\n"
    said = listing(
        kubectl,
        "kept",
        {"secret": {"secretName": "hidden", "defaultMode": 0o440}},
        "cat /v/*; stat -Lc %a /v/password; grep -c ' /v tmpfs' /proc/mounts",
    )
    assert said == "sesame440\n1\n"
    said = listing(kubectl, "without", {"configMap": {"name": "none", "optional": True}}, "ls /v | wc -l")
    assert said == "0\n"
    said = listing(kubectl, "one", {"configMap": {"name": "settings"}}, "cat /etc/a; touch /etc/x && echo writable",
                   mountPath="/etc/a", subPath="a")  # fmt: skip
    assert said == "1writable\n"


def test_a_volume_that_is_missing_is_waited_for(kubectl: Kubectl) -> None:
    kubectl.apply(once("waits", "cat /v/a", **with_volume({"configMap": {"name": "late"}})))
    kubectl.expect_event("waits", "FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "late" not found')
    kubectl.apply(config_map("late", a="in time"))
    kubectl.wait("pod/waits", "jsonpath={.status.phase}=Succeeded", 60)
    assert kubectl("logs", "waits") == "in time"


def test_changes_reach_running_pods(kubectl: Kubectl) -> None:
    kubectl.apply(config_map("settings", colour="red"), secret("hidden", word="open"))
    sources = [
        {"configMap": {"name": "settings"}},
        {"secret": {"name": "hidden"}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]
    watch = (
        'while :; do now=$(cat /v/colour /v/word /v/labels); [ "$now" != "$old" ] && echo $now; old=$now; '
        "sleep 0.1; done"
    )
    both = with_volume({"projected": {"sources": sources}})
    kubectl.start_pod(pod("reads", container(command=shell(watch), volumeMounts=both["volumeMounts"]),
                          volumes=both["volumes"]))  # fmt: skip
    with kubectl.background("logs", "-f", "reads") as following:
        following.expect('redopenapp="reads"\n')
        kubectl.apply(config_map("settings", colour="blue"))
        following.expect('blueopenapp="reads"\n', 60)
        kubectl.apply(secret("hidden", word="shut"))
        following.expect('blueshutapp="reads"\n', 60)
        kubectl("label", "pod", "reads", "app=writes", "--overwrite")
        following.expect('blueshutapp="writes"\n', 60)


def test_a_pod_outlives_a_config_map_it_was_given(kubectl: Kubectl) -> None:
    """What was mounted stays of use: other volumes are kept current, and a container that ends is started again."""
    kubectl.apply(config_map("brief", a="given"), config_map("lasting", a="1"))
    volumes = [{"name": name, "configMap": {"name": name}} for name in ("brief", "lasting")]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("brief", "lasting")]
    script = "cat /brief/a; while ! grep -q 2 /lasting/a; do sleep 0.1; done; exit 1"
    kubectl.start_pod(pod("outlives", container(command=shell(script), volumeMounts=mounts), volumes=volumes))
    kubectl("delete", "configmap", "brief")
    kubectl.expect_event("outlives", "FailedMount", 'configmap "brief" not found')
    kubectl.apply(config_map("lasting", a="2"))
    restarts = ".status.containerStatuses[0].restartCount"
    eventually(lambda: int(kubectl.field("pod/outlives", restarts)) > 0, "the container started again")
    assert kubectl("logs", "outlives", "--previous") == "given"


def test_projected_volumes_and_the_account_token(kubectl: Kubectl) -> None:
    script = "cd /v; cat token; echo; cat name; echo; ls"
    token = {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 600}}
    down = {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}
    said = listing(kubectl, "mixed", {"projected": {"sources": [token, down]}}, script)
    raw, name, *files = said.splitlines()
    claims = jwt.decode(raw, options={"verify_signature": False})
    assert claims["aud"] == ["vault"]
    assert claims["kubernetes.io"]["pod"]["name"] == "mixed"
    assert (name, files) == ("mixed", ["name", "token"])


def test_the_account_of_a_pod_opens_the_api_server(kubectl: Kubectl) -> None:
    """With what every pod is given: token, namespace and CA of the cluster."""
    said = kubectl.run_pod(
        once("visits", "cd /var/run/secrets/kubernetes.io/serviceaccount; cat namespace; echo; cat ca.crt; cat token")
    )
    space, rest = said.split("\n", 1)
    assert space == kubectl.namespace
    authority, _, token = rest.rpartition("-----END CERTIFICATE-----\n")
    assert authority.startswith("-----BEGIN CERTIFICATE-----")
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {"name": "x"},
        "spec": {"token": token},
    }
    answer = json.loads(kubectl("create", "-o", "json", "-f", "-", text=json.dumps(review)))
    assert answer["status"]["authenticated"] is True
    assert answer["status"]["user"]["username"] == f"system:serviceaccount:{kubectl.namespace}:default"
    quiet = once("quiet", "ls /var/run/secrets; true")
    quiet["spec"]["automountServiceAccountToken"] = False
    assert "No such file" in kubectl.run_pod(quiet)


def test_empty_dirs(kubectl: Kubectl) -> None:
    shared: Manifest = pod(
        "shares",
        container("writes", shell("echo written > /v/file; sleep infinity"),
                  volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        container("reads", shell("while ! cat /w/file; do sleep 0.1; done 2>/dev/null; grep ' /w ' /proc/mounts; sleep infinity"),  # noqa: E501
                  volumeMounts=[{"name": "v", "mountPath": "/w", "readOnly": True}]),
        volumes=[{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}],
    )  # fmt: skip
    kubectl.start_pod(shared)
    with kubectl.background("logs", "-f", "shares", "-c", "reads") as following:
        following.expect("written\n")
        mount = following.expect(" /w tmpfs ").splitlines()[-1]
    assert " ro," in mount and "size=8192k" in mount


def test_host_paths(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("from the host\n")
    said = listing(
        kubectl,
        "reads",
        {"hostPath": {"path": str(tmp_path), "type": "Directory"}},
        "cat /v/there; echo back > /v/back",
    )
    assert said == "from the host\n"
    assert (tmp_path / "back").read_text() == "back\n"
    made = {"hostPath": {"path": str(tmp_path / "made"), "type": "DirectoryOrCreate"}}
    listing(kubectl, "makes", made, "touch /v/x")
    assert (tmp_path / "made" / "x").exists()
    kubectl.apply(once("wrong", "true", **with_volume({"hostPath": {"path": str(tmp_path / "none"), "type": "File"}})))
    kubectl.expect_event("wrong", "FailedMount", f"hostPath type check failed: {tmp_path / 'none'} is not a file")


def test_part_of_a_volume(kubectl: Kubectl) -> None:
    env = [{"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    init = container("fills", shell("mkdir -p /v/parts; echo mine > /v/parts/file"),
                     volumeMounts=[{"name": "v", "mountPath": "/v"}])  # fmt: skip
    main = container(
        command=shell("cat /part/file; ls -d /own/..; echo x > /own/x; cat /own/x"),
        env=env,
        volumeMounts=[
            {"name": "v", "mountPath": "/part", "subPath": "parts"},
            {"name": "v", "mountPath": "/own", "subPathExpr": "own/$(WHO)"},
        ],
    )
    said = kubectl.run_pod(
        pod("parted", main, initContainers=[init], restartPolicy="Never", volumes=[{"name": "v", "emptyDir": {}}])
    )
    assert said == "mine\n/own/..\nx\n"
