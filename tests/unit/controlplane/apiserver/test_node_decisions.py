"""What a kubelet may read: its own node and lease, and what its pods refer to."""

from __future__ import annotations

import pytest

from api import core_v1 as core
from api import meta_v1 as meta
from api import storage_v1 as storage
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.bootstrap import node_rules
from controlplane.apiserver.request import RequestInfo, User
from tests.unit.controlplane.apiserver.identity_doubles import Objects

NODE = User("system:node:one", groups=("system:nodes", "system:authenticated"))


def ask(verb: str, what: str, namespace: str = "", name: str = "", group: str = "", **fields: str) -> RequestInfo:
    resource, _, subresource = what.partition("/")
    equals = tuple((key.replace("_", "."), value) for key, value in fields.items())
    return RequestInfo(verb, group, "v1", resource, subresource, namespace, name, "", True, equals)


def pod(name: str = "web", node: str = "one", **spec: object) -> core.Pod:
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace="a"),
        spec=core.PodSpec(node_name=node, **spec),  # type: ignore[arg-type]
    )


def everything(node: str = "one") -> core.Pod:
    """A pod that refers to something in every way there is."""
    container = core.Container(
        name="main",
        env=[
            core.EnvVar(
                name="A",
                value_from=core.EnvVarSource(secret_key_ref=core.SecretKeySelector(name="env-secret", key="k")),
            ),
            core.EnvVar(
                name="B",
                value_from=core.EnvVarSource(config_map_key_ref=core.ConfigMapKeySelector(name="env-map", key="k")),
            ),
        ],
        env_from=[
            core.EnvFromSource(secret_ref=core.SecretEnvSource(name="from-secret")),
            core.EnvFromSource(config_map_ref=core.ConfigMapEnvSource(name="from-map")),
        ],
    )
    projected = core.ProjectedVolumeSource(
        sources=[
            core.VolumeProjection(secret=core.SecretProjection(name="projected-secret")),
            core.VolumeProjection(config_map=core.ConfigMapProjection(name="projected-map")),
        ]
    )
    csi = core.CSIVolumeSource(driver="d", node_publish_secret_ref=core.LocalObjectReference(name="csi-secret"))
    return pod(
        node=node,
        service_account_name="robot",
        image_pull_secrets=[core.LocalObjectReference(name="pull-secret")],
        init_containers=[container],
        volumes=[
            core.Volume(name="1", secret=core.SecretVolumeSource(secret_name="volume-secret")),
            core.Volume(name="2", config_map=core.ConfigMapVolumeSource(name="volume-map")),
            core.Volume(name="3", projected=projected),
            core.Volume(name="4", csi=csi),
            core.Volume(name="5", persistent_volume_claim=core.PersistentVolumeClaimVolumeSource(claim_name="claim")),
        ],
    )


def volumes() -> list[meta.Object]:
    source = core.CSIPersistentVolumeSource(
        driver="d", node_stage_secret_ref=core.SecretReference(name="stage-secret", namespace="storage")
    )
    return [
        core.PersistentVolumeClaim(
            metadata=meta.ObjectMeta(name="claim", namespace="a"),
            spec=core.PersistentVolumeClaimSpec(volume_name="volume"),
        ),
        core.PersistentVolume(metadata=meta.ObjectMeta(name="volume"), spec=core.PersistentVolumeSpec(csi=source)),
    ]


RELATED = [
    *(
        ask(verb, "secrets", "a", name)
        for verb in ("get", "list", "watch")
        for name in (
            "env-secret",
            "from-secret",
            "pull-secret",
            "volume-secret",
            "projected-secret",
            "csi-secret",
        )
    ),
    *(ask("watch", "configmaps", "a", name) for name in ("env-map", "from-map", "volume-map", "projected-map")),
    ask("get", "secrets", "storage", "stage-secret"),
    ask("get", "persistentvolumeclaims", "a", "claim"),
    ask("get", "persistentvolumes", "", "volume"),
    ask("create", "serviceaccounts/token", "a", "robot"),
    ask("get", "pods", "a", "web"),
]


@pytest.mark.parametrize("question", RELATED, ids=str)
def test_a_node_reads_what_its_pods_refer_to_and_no_other_node_does(question: RequestInfo) -> None:
    objects = Objects(everything(), *volumes())
    authorizer = NodeAuthorizer(objects, node_rules())
    assert authorizer.authorize(NODE, question).allowed
    other = User("system:node:two", groups=("system:nodes",))
    assert authorizer.authorize(other, question).reason == ("no relationship found between node 'two' and this object")
    objects.remove(everything())
    assert not authorizer.authorize(NODE, question).allowed


def test_two_pods_may_share_a_secret() -> None:
    def with_secret(name: str) -> core.Pod:
        volume = core.Volume(name="v", secret=core.SecretVolumeSource(secret_name="shared"))
        return pod(name, volumes=[volume, volume])

    objects = Objects()
    authorizer = NodeAuthorizer(objects, [])
    question = ask("get", "secrets", "a", "shared")
    objects.put(with_secret("first"))
    objects.put(with_secret("second"))
    objects.remove(with_secret("first"))
    assert authorizer.authorize(NODE, question).allowed
    objects.remove(with_secret("second"))
    assert not authorizer.authorize(NODE, question).allowed


def test_a_pod_of_the_same_name_elsewhere_counts_there_alone() -> None:
    objects = Objects(everything())
    authorizer = NodeAuthorizer(objects, [])
    question = ask("get", "secrets", "a", "pull-secret")
    objects.remove(everything())
    objects.put(everything(node="two"))
    assert not authorizer.authorize(NODE, question).allowed
    assert authorizer.authorize(User("system:node:two", groups=("system:nodes",)), question).allowed
    objects.put(pod(node="two"))
    assert not authorizer.authorize(User("system:node:two", groups=("system:nodes",)), question).allowed


def test_a_pod_counts_from_its_binding_on() -> None:
    objects = Objects()
    authorizer = NodeAuthorizer(objects, [])
    objects.put(everything(node=""))
    question = ask("get", "secrets", "a", "pull-secret")
    assert not authorizer.authorize(NODE, question).allowed
    objects.put(everything())
    assert authorizer.authorize(NODE, question).allowed


@pytest.mark.parametrize(
    "question",
    [
        ask("get", "nodes", "", "one"),
        ask("watch", "nodes", "", "one"),
        ask("create", "nodes"),
        ask("patch", "nodes/status", "", "one"),
        ask("list", "pods", spec_nodeName="one"),
        ask("watch", "pods", spec_nodeName="one"),
        ask("create", "pods", "a"),
        ask("patch", "pods/status", "a", "web"),
        ask("delete", "pods", "a", "web"),
        ask("create", "pods/eviction", "a", "web"),
        ask("create", "leases", "kube-node-lease", group="coordination.k8s.io"),
        ask("update", "leases", "kube-node-lease", "one", group="coordination.k8s.io"),
        ask("list", "services"),
        ask("create", "events", "a"),
        ask("create", "tokenreviews", group="authentication.k8s.io"),
        ask("create", "subjectaccessreviews", group="authorization.k8s.io"),
        ask("watch", "runtimeclasses", group="node.k8s.io"),
        ask("get", "csinodes", "", "one", group="storage.k8s.io"),
    ],
    ids=str,
)
def test_a_node_may_do_its_work(question: RequestInfo) -> None:
    assert NodeAuthorizer(Objects(), node_rules()).authorize(NODE, question).allowed


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (ask("list", "secrets", "a"), "No Object name found"),
        (ask("list", "secrets"), "can only read namespaced object of this type"),
        (ask("delete", "secrets", "a", "x"), "can only read resources of this type"),
        (ask("list", "nodes"), "node 'one' cannot read all nodes, only its own Node object"),
        (ask("get", "nodes", "", "two"), "node 'one' cannot read 'two', only its own Node object"),
        (ask("delete", "nodes", "", "one"), ""),
        (ask("list", "pods"), "can only list/watch pods with spec.nodeName field selector"),
        (ask("list", "pods", spec_nodeName="two"), "can only list/watch pods with spec.nodeName field selector"),
        (ask("create", "pods/exec", "a", "web"), ""),
        (ask("list", "persistentvolumes"), "can only get individual resources of this type"),
        (
            ask("get", "leases", "kube-system", "one", group="coordination.k8s.io"),
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            ask("get", "leases", "kube-node-lease", "two", group="coordination.k8s.io"),
            "can only access node lease with the same name as the requesting node",
        ),
        (ask("create", "serviceaccounts", "a"), "can only create tokens for individual service accounts"),
        (
            ask("get", "csinodes", "", "two", group="storage.k8s.io"),
            "can only access CSINode with the same name as the requesting node",
        ),
        (ask("delete", "deployments", "a", "web", group="apps"), ""),
    ],
    ids=str,
)
def test_a_node_may_not_do_more(question: RequestInfo, reason: str) -> None:
    decision = NodeAuthorizer(Objects(), node_rules()).authorize(NODE, question)
    assert (decision.allowed, decision.reason) == (False, reason)


def test_an_attachment_is_read_by_the_node_it_is_for() -> None:
    def attachment(name: str, node: str) -> storage.VolumeAttachment:
        return storage.VolumeAttachment(
            metadata=meta.ObjectMeta(name=name), spec=storage.VolumeAttachmentSpec(node_name=node)
        )

    authorizer = NodeAuthorizer(Objects(attachment("mine", "one"), attachment("theirs", "two")), [])
    assert authorizer.authorize(NODE, ask("get", "volumeattachments", "", "mine", group="storage.k8s.io")).allowed
    assert not authorizer.authorize(NODE, ask("get", "volumeattachments", "", "theirs", group="storage.k8s.io")).allowed


def test_who_is_no_node_is_none_of_its_business() -> None:
    authorizer = NodeAuthorizer(Objects(everything()), node_rules())
    for user in (User("system:node:one"), User("alice", groups=("devs",))):
        assert not authorizer.authorize(user, ask("get", "nodes", "", "one")).allowed
    nameless = User("kubelet", groups=("system:nodes",))
    assert authorizer.authorize(nameless, ask("list", "services")).reason == 'unknown node for user "kubelet"'


def test_superusers_may_do_anything_and_reasons_are_joined() -> None:
    objects = Objects()
    authorizer = Authorizer(RbacAuthorizer(objects), NodeAuthorizer(objects, []))
    root = User("root", groups=("system:masters",))
    assert authorizer.authorize(root, ask("delete", "nodes", "", "one")).allowed
    decision = authorizer.authorize(NODE, ask("get", "secrets", "a", "x"))
    assert decision.reason == "no relationship found between node 'one' and this object"
