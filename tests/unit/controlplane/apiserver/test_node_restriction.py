"""What a kubelet may write."""

from __future__ import annotations

import random
from typing import Any

import pytest

from api import authentication_v1 as authentication
from api import coordination_v1 as coordination
from api import core_v1 as core
from api import meta_v1 as meta
from api import policy_v1 as policy
from api.errors import StatusError
from api.scheme import SCHEME
from client.clock import FakeClock
from controlplane.apiserver.admission.attributes import CREATE, DELETE, UPDATE, Attributes
from controlplane.apiserver.admission.standard import standard_admission
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import RequestInfo, User
from tests.unit.controlplane.apiserver.identity_doubles import Objects

NODE = User("system:node:one", groups=("system:nodes",))


def pod(name: str = "web", node: str = "one", **spec: Any) -> core.Pod:
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace="a", uid=f"uid-{name}"),
        spec=core.PodSpec(node_name=node, **spec),
    )


def mirror(node: str = "one", **spec: Any) -> core.Pod:
    made = pod("static-one", node, **spec)
    made.metadata.annotations = {"kubernetes.io/config.mirror": "x"}
    made.metadata.owner_references = [
        meta.OwnerReference(api_version="v1", kind="Node", name="one", uid="node-1", controller=True)
    ]
    return made


def node(name: str = "one", **labels: str) -> core.Node:
    marks = {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return core.Node(metadata=meta.ObjectMeta(name=name, uid="node-1", labels=marks))


OBJECTS = (
    core.Namespace(metadata=meta.ObjectMeta(name="a")),
    core.Namespace(metadata=meta.ObjectMeta(name="kube-node-lease")),
    core.ServiceAccount(metadata=meta.ObjectMeta(name="default", namespace="a")),
    node(),
    pod(),
    pod("theirs", "two"),
)


async def admit(
    operation: str,
    new: Any,
    old: Any = None,
    *,
    of: type[meta.Object] | None = None,
    subresource: str = "",
    name: str = "",
    user: User = NODE,
) -> None:
    objects = Objects(*OBJECTS)
    authorizer = Authorizer(RbacAuthorizer(objects), NodeAuthorizer(objects, []))
    admission = standard_admission(objects, authorizer, FakeClock(), random.Random(1))
    subject = new if new is not None else old
    resource = SCHEME.of(of or type(subject))
    home = (subject.metadata.namespace or "a") if resource.namespaced else ""
    named = name or ("" if operation == CREATE and not subresource else subject.metadata.name)
    info = RequestInfo(operation.lower(), resource.group, "v1", resource.plural, subresource, home, named, "", True)
    await admission.admit(Attributes(operation, info, resource, new, old, user))


async def refusal(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(StatusError) as caught:
        await admit(*args, **kwargs)
    return str(caught.value).partition("is forbidden: ")[2] or str(caught.value)


async def test_a_node_registers_itself_and_reports() -> None:
    await admit(CREATE, node(kubernetes_io__hostname="one", kubernetes_io__os="linux", acme_com__rack="7"))
    await admit(UPDATE, node(), node(), subresource="status")
    lease = coordination.Lease(metadata=meta.ObjectMeta(name="one", namespace="kube-node-lease"))
    await admit(CREATE, lease)
    await admit(UPDATE, lease, lease)


async def test_it_does_not_write_another_node() -> None:
    assert await refusal(CREATE, node("two")) == 'node "one" is not allowed to modify node "two"'
    assert await refusal(UPDATE, node("two"), node("two"), subresource="status") == (
        'node "one" is not allowed to modify node "two"'
    )
    lease = coordination.Lease(metadata=meta.ObjectMeta(name="two", namespace="kube-node-lease"))
    message = "can only access node lease with the same name as the requesting node"
    assert await refusal(CREATE, lease) == message


@pytest.mark.parametrize("label", ["node-role.kubernetes.io/control-plane", "node-restriction.kubernetes.io/x"])
async def test_it_does_not_give_itself_labels_that_steer_pods(label: str) -> None:
    marked = node()
    marked.metadata.labels = {label: ""}
    assert await refusal(CREATE, marked) == f'node "one" is not allowed to set the following labels: {label}'
    assert await refusal(UPDATE, marked, node()) == f"is not allowed to modify labels: {label}"
    assert await refusal(UPDATE, node(), marked) == f"is not allowed to modify labels: {label}"


async def test_it_does_not_change_its_taints() -> None:
    tainted = node()
    tainted.spec.taints = [core.Taint(key="x", effect="NoSchedule")]
    assert await refusal(UPDATE, node(), tainted) == 'node "one" is not allowed to modify taints'


async def test_it_makes_mirror_pods_bound_to_itself() -> None:
    await admit(CREATE, mirror())


def _owned(**fields: Any) -> core.Pod:
    made = mirror()
    reference = made.metadata.owner_references[0]
    for key, value in fields.items():
        setattr(reference, key, value)
    return made


def _unowned() -> core.Pod:
    made = mirror()
    made.metadata.owner_references = []
    return made


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            pod("x"),
            'pod does not have "kubernetes.io/config.mirror" annotation, node "one" can only create mirror pods',
        ),
        (mirror("two"), 'node "one" can only create pods with spec.nodeName set to itself'),
        (_unowned(), 'node "one" can only create pods with an owner reference set to itself'),
        (_owned(name="two"), 'node "one" can only create pods with an owner reference set to itself'),
        (_owned(controller=None), 'node "one" can only create pods with a controller owner reference set to itself'),
        (_owned(block_owner_deletion=True), 'node "one" must not set blockOwnerDeletion on an owner reference'),
        (_owned(uid="other"), "node one UID mismatch: expected other got node-1"),
        (mirror(service_account_name="x"), 'node "one" can not create pods that reference a service account'),
        (
            mirror(image_pull_secrets=[core.LocalObjectReference(name="s")]),
            'node "one" can not create pods that reference secrets',
        ),
        (
            mirror(volumes=[core.Volume(name="v", config_map=core.ConfigMapVolumeSource(name="m"))]),
            'node "one" can not create pods that reference configmaps',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_it_makes_no_other_pods(item: core.Pod, message: str) -> None:
    assert await refusal(CREATE, item) == message


async def test_it_deletes_reports_and_evicts_its_own_pods_alone() -> None:
    own, theirs = pod(), pod("theirs", "two")
    await admit(DELETE, None, own)
    await admit(UPDATE, own, own, subresource="status")
    eviction = policy.Eviction(metadata=meta.ObjectMeta(name="web", namespace="a"))
    await admit(CREATE, eviction, of=core.Pod, subresource="eviction", name="web")
    assert await refusal(DELETE, None, theirs) == 'node "one" can only delete pods with spec.nodeName set to itself'
    assert await refusal(UPDATE, theirs, theirs, subresource="status") == (
        'node "one" can only update pod status for pods with spec.nodeName set to itself'
    )
    assert await refusal(CREATE, eviction, of=core.Pod, subresource="eviction", name="theirs") == (
        "node one can only evict pods with spec.nodeName set to itself"
    )
    relabelled = pod()
    relabelled.metadata.labels = {"app": "web"}
    assert await refusal(UPDATE, relabelled, own, subresource="status") == (
        'node "one" cannot update labels through pod status'
    )
    assert await refusal(UPDATE, own, own) == (
        'unexpected operation "UPDATE", node "one" can only create and delete mirror pods'
    )


def token(pod_name: str = "web", uid: str = "uid-web", audiences: tuple[str, ...] = ()) -> authentication.TokenRequest:
    reference = authentication.BoundObjectReference(kind="Pod", api_version="v1", name=pod_name, uid=uid)
    spec = authentication.TokenRequestSpec(bound_object_ref=reference, audiences=list(audiences))
    return authentication.TokenRequest(spec=spec)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (authentication.TokenRequest(), "node requested token not bound to a pod"),
        (token(uid=""), "node requested token with a pod binding without a uid"),
        (
            token(uid="old"),
            "the UID in the bound object reference (old) does not match the UID in record. The object might have been "
            "deleted and then recreated",
        ),
        (token("theirs", "uid-theirs"), "node requested token bound to a pod scheduled on a different node"),
        (token(audiences=("vault",)), 'audience "vault" not found in pod spec volume'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_it_gets_no_tokens_but_for_its_pods(request_: authentication.TokenRequest, message: str) -> None:
    await admit(CREATE, token(), of=core.ServiceAccount, subresource="token", name="default")
    refused = await refusal(CREATE, request_, of=core.ServiceAccount, subresource="token", name="default")
    assert refused == message


async def test_others_are_not_restricted_and_a_nameless_node_is() -> None:
    await admit(CREATE, node("two"), user=User("admin"))
    assert await refusal(CREATE, node(), user=User("kubelet", groups=("system:nodes",))) == (
        'could not determine node from user "kubelet"'
    )
