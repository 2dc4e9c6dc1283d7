"""Manifests made into static pods."""

from __future__ import annotations

import pytest

from agent.sources.merging import Sources
from agent.sources.static import ManifestError, static_pod
from api import core_v1 as core

YAML = b"""
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: kube-system, resourceVersion: "7"}
spec:
  containers: [{name: app, image: "img:1", ports: [{containerPort: 80}]}]
"""


def read(raw: bytes = YAML, path: str = "/etc/m/web.yaml", node: str = "node", now: float = 0.0) -> core.Pod:
    return static_pod(raw, path, node, now)


def test_a_manifest_becomes_a_pod_of_this_node() -> None:
    pod = read()
    assert (pod.metadata.namespace, pod.metadata.name, pod.spec.node_name) == ("kube-system", "web-node", "node")
    assert pod.metadata.annotations["kubernetes.io/config.source"] == "file"
    assert pod.metadata.annotations["kubernetes.io/config.hash"] == pod.metadata.uid
    assert pod.metadata.resource_version == ""
    assert pod.spec.restart_policy == "Always" and pod.spec.containers[0].image_pull_policy == "IfNotPresent"
    assert [(one.operator, one.effect) for one in pod.spec.tolerations] == [("Exists", "NoExecute")]


def test_json_is_read_as_well_and_the_namespace_defaults() -> None:
    raw = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"w"},"spec":{"containers":[{"name":"a","image":"i"}]}}'
    assert read(raw).metadata.namespace == "default"


def test_the_uid_is_the_same_after_a_restart_and_another_for_any_change() -> None:
    uid = read(now=0).metadata.uid
    assert read(now=1000).metadata.uid == uid
    assert len(uid) == 32
    others = [
        read(YAML.replace(b"img:1", b"img:2")),
        read(path="/etc/m/other.yaml"),
        read(node="other"),
    ]
    assert len({uid, *(one.metadata.uid for one in others)}) == 4


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"{ not yaml", "neither YAML nor JSON"),
        (b"- a list", "it holds no object"),
        (b"apiVersion: v1\nkind: Service", "it holds a v1 Service, not a v1 Pod"),
        (YAML.replace(b"containers:", b"containers: 7 #"), "containers"),
        (YAML.replace(b"name: app", b"name: App_"), "spec.containers[0].name"),
        (
            YAML.replace(b"spec:", b"spec:\n  volumes: [{name: v, secret: {secretName: s}}]"),
            "static pods may not reference secrets",
        ),
        (YAML.replace(b"spec:", b"spec:\n  serviceAccountName: sa"), "static pods may not reference serviceaccounts"),
    ],
)
def test_what_is_no_pod_is_refused_with_the_reason(raw: bytes, complaint: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read(raw)
    assert complaint in str(caught.value)


class TestMerging:
    def test_all_sources_must_have_spoken(self) -> None:
        sources = Sources(lambda pod: None, lambda uid: None)
        first, second = sources.feed("api"), sources.feed("file")
        first.synced()
        assert not sources.has_synced
        second.synced()
        assert sources.has_synced

    def test_a_pod_belongs_to_the_source_that_named_it_first(self) -> None:
        told: list[str] = []
        gone: list[str] = []
        sources = Sources(lambda pod: told.append(pod.metadata.name), gone.append)
        first, second = sources.feed("api"), sources.feed("file")
        pod = read()
        first.set(pod)
        second.set(pod)
        second.remove(pod.metadata.uid)
        assert told == ["web-node"] and gone == []
        assert [one.metadata.uid for one in sources.pods()] == [pod.metadata.uid]
        first.remove(pod.metadata.uid)
        first.remove(pod.metadata.uid)
        assert gone == [pod.metadata.uid]
