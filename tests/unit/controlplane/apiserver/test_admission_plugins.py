"""What admission makes of writes, plugin by plugin, through the whole chain."""

from __future__ import annotations

import random
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from api import certificates_v1 as certificates
from api import codec
from api import core_v1 as core
from api import meta_v1 as meta
from api import networking_v1 as networking
from api import node_v1 as node
from api import rbac_v1 as rbac
from api import scheduling_v1 as scheduling
from api import storage_v1 as storage
from api.errors import StatusError
from api.quantity import Quantity
from api.scheme import SCHEME
from api.times import Time
from client.clock import FakeClock
from controlplane.apiserver.admission.attributes import CREATE, DELETE, UPDATE, Attributes
from controlplane.apiserver.admission.chain import Admission
from controlplane.apiserver.admission.standard import standard_admission
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.request import RequestInfo, User
from tests.unit.controlplane.apiserver.identity_doubles import Objects

ALICE = User("alice")


def namespace(name: str, phase: str = "Active") -> core.Namespace:
    return core.Namespace(metadata=meta.ObjectMeta(name=name), status=core.NamespaceStatus(phase=phase))


def account(name: str = "default", **fields: Any) -> core.ServiceAccount:
    return core.ServiceAccount(metadata=meta.ObjectMeta(name=name, namespace="a"), **fields)


class Cluster:
    def __init__(self, *objects: meta.Object) -> None:
        self.objects = Objects(namespace("a"), account(), *objects)
        self.clock = FakeClock()
        authorizer = Authorizer(RbacAuthorizer(self.objects), NodeAuthorizer(self.objects, []))
        self.admission: Admission = standard_admission(self.objects, authorizer, self.clock, random.Random(1))

    async def admit(
        self,
        operation: str,
        new: Any,
        old: Any = None,
        *,
        user: User = ALICE,
        subresource: str = "",
        of: type[meta.Object] | None = None,
        name: str = "",
    ) -> Any:
        subject = new if new is not None else old
        resource = SCHEME.of(of or type(subject))
        home = subject.metadata.namespace or ("a" if resource.namespaced else "")
        named = name or ("" if operation == CREATE and not subresource else subject.metadata.name)
        info = RequestInfo(
            operation.lower(), resource.group, resource.version, resource.plural, subresource, home, named, "", True
        )
        await self.admission.admit(Attributes(operation, info, resource, new, old, user))
        return new

    async def refusal(self, *args: Any, **kwargs: Any) -> str:
        with pytest.raises(StatusError) as caught:
            await self.admit(*args, **kwargs)
        return f"{caught.value.code} {caught.value}"


def container(name: str = "main", **amounts: dict[str, str]) -> core.Container:
    resources = core.ResourceRequirements(
        **{part: {key: Quantity(value) for key, value in given.items()} for part, given in amounts.items()}
    )
    return core.Container(name=name, resources=resources)


def pod(name: str = "web", containers: list[core.Container] | None = None, **spec: Any) -> core.Pod:
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace="a"),
        spec=core.PodSpec(containers=[container()] if containers is None else containers, **spec),
    )


# ---------------------------------------------------------------- NamespaceLifecycle


async def test_nothing_is_written_in_a_missing_namespace() -> None:
    cluster = Cluster()
    item = core.ConfigMap(metadata=meta.ObjectMeta(name="x", namespace="gone"))
    assert await cluster.refusal(CREATE, item) == '404 namespaces "gone" not found'
    assert await cluster.refusal(UPDATE, item, item) == '404 namespaces "gone" not found'
    await cluster.admit(DELETE, None, item)


async def test_nothing_new_is_made_in_a_terminating_namespace() -> None:
    cluster = Cluster(namespace("b", "Terminating"))
    item = core.ConfigMap(metadata=meta.ObjectMeta(name="x", namespace="b"))
    with pytest.raises(StatusError) as caught:
        await cluster.admit(CREATE, item)
    assert str(caught.value) == (
        'configmaps "x" is forbidden: unable to create new content in namespace b because it is being terminated'
    )
    assert caught.value.causes == [
        meta.StatusCause(
            reason="NamespaceTerminating", message="namespace b is being terminated", field="metadata.namespace"
        )
    ]
    await cluster.admit(UPDATE, item, item)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(name: str) -> None:
    cluster = Cluster()
    assert await cluster.refusal(DELETE, None, namespace(name)) == (
        f'403 namespaces "{name}" is forbidden: this namespace may not be deleted'
    )
    await cluster.admit(DELETE, None, namespace("other"))


# ---------------------------------------------------------------- ServiceAccount


async def test_a_pod_runs_as_default_and_finds_its_token() -> None:
    made = await Cluster().admit(CREATE, pod(init_containers=[container("init")]))
    assert (made.spec.service_account_name, made.spec.service_account) == ("default", "default")
    (volume,) = made.spec.volumes
    assert volume.name.startswith("kube-api-access-")
    assert len(volume.name) == len("kube-api-access-") + 5
    token, ca, space = volume.projected.sources
    assert (token.service_account_token.path, token.service_account_token.expiration_seconds) == ("token", 3607)
    assert ca.config_map.name == "kube-root-ca.crt"
    assert space.downward_api.items[0].field_ref.field_path == "metadata.namespace"
    assert volume.projected.default_mode == 0o644
    for mounting in (*made.spec.init_containers, *made.spec.containers):
        assert mounting.volume_mounts == [
            core.VolumeMount(
                name=volume.name, mount_path="/var/run/secrets/kubernetes.io/serviceaccount", read_only=True
            )
        ]


async def test_who_does_not_want_a_token_gets_none() -> None:
    reluctant = account("quiet", automount_service_account_token=False)
    cluster = Cluster(reluctant)
    assert (await cluster.admit(CREATE, pod(automount_service_account_token=False))).spec.volumes == []
    assert (await cluster.admit(CREATE, pod(service_account_name="quiet"))).spec.volumes == []
    insisting = pod(service_account_name="quiet", automount_service_account_token=True)
    assert (await cluster.admit(CREATE, insisting)).spec.volumes != []


async def test_a_container_that_mounts_something_there_itself_is_left_alone() -> None:
    own = core.Container(
        name="main",
        volume_mounts=[core.VolumeMount(name="own", mount_path="/var/run/secrets/kubernetes.io/serviceaccount")],
    )
    made = await Cluster().admit(CREATE, pod(containers=[own]))
    assert made.spec.volumes == []
    assert len(made.spec.containers[0].volume_mounts) == 1


async def test_an_unknown_account_is_refused_at_once() -> None:
    cluster = Cluster()
    assert await cluster.refusal(CREATE, pod(service_account_name="ghost")) == (
        '403 pods "web" is forbidden: error looking up service account a/ghost: serviceaccount "ghost" not found'
    )
    assert cluster.clock.monotonic() == 0


async def test_the_default_account_of_a_new_namespace_is_waited_for() -> None:
    cluster = Cluster(namespace("new"))
    fresh = core.ServiceAccount(metadata=meta.ObjectMeta(name="default", namespace="new"))
    cluster.clock.call_later(0.5, cluster.objects.put, fresh)
    item = pod()
    item.metadata.namespace = "new"
    assert (await cluster.admit(CREATE, item)).spec.service_account_name == "default"
    cluster.objects.remove(fresh)
    other = pod()
    other.metadata.namespace = "new"
    assert "not found" in await cluster.refusal(CREATE, other)
    assert cluster.clock.monotonic() < 3


async def test_pull_secrets_come_from_the_account() -> None:
    secrets = [core.LocalObjectReference(name="registry")]
    cluster = Cluster(account("puller", image_pull_secrets=secrets))
    assert (await cluster.admit(CREATE, pod(service_account_name="puller"))).spec.image_pull_secrets == secrets
    own = [core.LocalObjectReference(name="own")]
    kept = await cluster.admit(CREATE, pod(service_account_name="puller", image_pull_secrets=own))
    assert kept.spec.image_pull_secrets == own


async def test_an_account_may_limit_which_secrets_its_pods_use() -> None:
    strict = account("strict")
    strict.metadata.annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    cluster = Cluster(strict)
    volume = core.Volume(name="v", secret=core.SecretVolumeSource(secret_name="db"))
    assert await cluster.refusal(CREATE, pod(service_account_name="strict", volumes=[volume])) == (
        '403 pods "web" is forbidden: volume with secret.secretName="db" is not allowed because service account strict '
        "does not reference that secret"
    )


# ---------------------------------------------------------------- priorities, tolerations, taints


async def test_a_pod_gets_the_priority_of_its_class() -> None:
    classes = [
        scheduling.PriorityClass(metadata=meta.ObjectMeta(name="high"), value=1000, preemption_policy="Never"),
        scheduling.PriorityClass(metadata=meta.ObjectMeta(name="usual"), value=5, global_default=True),
    ]
    cluster = Cluster(*classes)
    high = await cluster.admit(CREATE, pod(priority_class_name="high"))
    assert (high.spec.priority, high.spec.preemption_policy) == (1000, "Never")
    usual = await cluster.admit(CREATE, pod())
    assert (usual.spec.priority, usual.spec.priority_class_name) == (5, "usual")
    assert await cluster.refusal(CREATE, pod(priority_class_name="ghost")) == (
        '403 pods "web" is forbidden: no PriorityClass with name ghost was found'
    )
    assert await cluster.refusal(CREATE, pod(priority=7)) == (
        '403 pods "web" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority '
        "admission controller computed 5 from the given PriorityClass name"
    )


async def test_without_classes_priority_is_zero_and_an_update_keeps_it() -> None:
    cluster = Cluster()
    old = await cluster.admit(CREATE, pod())
    assert (old.spec.priority, old.spec.preemption_policy) == (0, "PreemptLowerPriority")
    new = await cluster.admit(UPDATE, pod(), old)
    assert (new.spec.priority, new.spec.preemption_policy) == (0, "PreemptLowerPriority")


async def test_one_class_only_is_the_default() -> None:
    first = scheduling.PriorityClass(metadata=meta.ObjectMeta(name="first"), global_default=True)
    second = scheduling.PriorityClass(metadata=meta.ObjectMeta(name="second"), global_default=True)
    cluster = Cluster(first)
    assert await cluster.refusal(CREATE, second) == (
        '403 priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as '
        "default. Only one default can exist"
    )
    await cluster.admit(UPDATE, first, first)


async def test_a_pod_tolerates_an_unwell_node_for_five_minutes() -> None:
    made = await Cluster().admit(CREATE, pod())
    assert [(item.key, item.operator, item.effect, item.toleration_seconds) for item in made.spec.tolerations] == [
        ("node.kubernetes.io/not-ready", "Exists", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "Exists", "NoExecute", 300),
    ]
    everything = core.Toleration(operator="Exists")
    assert (await Cluster().admit(CREATE, pod(tolerations=[everything]))).spec.tolerations == [everything]


async def test_a_new_node_is_tainted_until_it_is_ready() -> None:
    taint = core.Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
    fresh = await Cluster().admit(CREATE, core.Node(metadata=meta.ObjectMeta(name="one")))
    assert fresh.spec.taints == [taint]
    again = core.Node(metadata=meta.ObjectMeta(name="one"), spec=core.NodeSpec(taints=[taint]))
    assert (await Cluster().admit(CREATE, again)).spec.taints == [taint]


# ---------------------------------------------------------------- LimitRanger


def limits(**item: Any) -> core.LimitRange:
    parts = {
        key: {name: Quantity(amount) for name, amount in value.items()} if isinstance(value, dict) else value
        for key, value in item.items()
    }
    spec = core.LimitRangeSpec(limits=[core.LimitRangeItem(**parts)])
    return core.LimitRange(metadata=meta.ObjectMeta(name="limits", namespace="a"), spec=spec)


async def test_requests_and_limits_are_filled_in() -> None:
    cluster = Cluster(limits(type="Container", default={"cpu": "1"}, default_request={"cpu": "100m"}))
    made = await cluster.admit(CREATE, pod(containers=[container(), container("side", requests={"cpu": "2"})]))
    first, second = made.spec.containers
    assert (str(first.resources.requests["cpu"]), str(first.resources.limits["cpu"])) == ("100m", "1")
    assert str(second.resources.requests["cpu"]) == "2"
    assert made.metadata.annotations["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container main; cpu limit for container main; "
        "cpu limit for container side"
    )


@pytest.mark.parametrize(
    ("item", "amounts", "message"),
    [
        (
            {"type": "Container", "min": {"cpu": "200m"}},
            {"requests": {"cpu": "100m"}},
            "minimum cpu usage per Container is 200m, but request is 100m",
        ),
        (
            {"type": "Container", "max": {"cpu": "1"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {},
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
        (
            {"type": "Container", "max_limit_request_ratio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"type": "Pod", "min": {"cpu": "1", "memory": "1Gi"}},
            {},
            "[minimum cpu usage per Pod is 1.  No request is specified, minimum memory usage per Pod is 1Gi.  No "
            "request is specified]",
        ),
    ],
)
async def test_bounds_are_held_to(item: dict[str, Any], amounts: dict[str, Any], message: str) -> None:
    refusal = await Cluster(limits(**item)).refusal(CREATE, pod(containers=[container(**amounts)]))
    assert refusal == f'403 pods "web" is forbidden: {message}'


async def test_claims_are_bounded_too() -> None:
    cluster = Cluster(limits(type="PersistentVolumeClaim", max={"storage": "1Gi"}))
    claim = core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name="c", namespace="a"),
        spec=core.PersistentVolumeClaimSpec(
            resources=core.VolumeResourceRequirements(requests={"storage": Quantity("2Gi")})
        ),
    )
    assert await cluster.refusal(CREATE, claim) == (
        '403 persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but '
        "request is 2Gi"
    )


# ---------------------------------------------------------------- classes


async def test_a_runtime_class_adds_its_cost_and_its_place() -> None:
    fast = node.RuntimeClass(
        metadata=meta.ObjectMeta(name="fast"),
        handler="fast",
        overhead=node.Overhead(pod_fixed={"memory": Quantity("64Mi")}),
        scheduling=node.Scheduling(node_selector={"kind": "vm"}, tolerations=[core.Toleration(key="vm")]),
    )
    cluster = Cluster(fast)
    made = await cluster.admit(CREATE, pod(runtime_class_name="fast", node_selector={"zone": "b"}))
    assert made.spec.overhead == {"memory": Quantity("64Mi")}
    assert made.spec.node_selector == {"zone": "b", "kind": "vm"}
    assert core.Toleration(key="vm") in made.spec.tolerations
    assert await cluster.refusal(CREATE, pod(runtime_class_name="ghost")) == (
        '403 pods "web" is forbidden: pod rejected: RuntimeClass "ghost" not found'
    )
    assert "conflict: runtimeClass.scheduling.nodeSelector[kind] = vm" in await cluster.refusal(
        CREATE, pod(runtime_class_name="fast", node_selector={"kind": "metal"})
    )
    assert "without corresponding RuntimeClass defined Overhead" in await cluster.refusal(
        CREATE, pod(overhead={"memory": Quantity("1Mi")})
    )


async def test_who_names_no_class_gets_the_newest_default() -> None:
    def storage_class(name: str, made: int) -> storage.StorageClass:
        return storage.StorageClass(
            metadata=meta.ObjectMeta(
                name=name,
                creation_timestamp=Time.from_timestamp(made),
                annotations={"storageclass.kubernetes.io/is-default-class": "true"},
            ),
            provisioner="x",
        )

    ingress_class = networking.IngressClass(
        metadata=meta.ObjectMeta(name="web", annotations={"ingressclass.kubernetes.io/is-default-class": "true"})
    )
    cluster = Cluster(storage_class("old", 1), storage_class("new", 2), ingress_class)
    home = {"namespace": "a"}
    claim = core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name="c", **home))
    assert (await cluster.admit(CREATE, claim)).spec.storage_class_name == "new"
    chosen = core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name="c", **home), spec=core.PersistentVolumeClaimSpec(storage_class_name="")
    )
    assert (await cluster.admit(CREATE, chosen)).spec.storage_class_name == ""
    ingress = networking.Ingress(metadata=meta.ObjectMeta(name="i", **home))
    assert (await cluster.admit(CREATE, ingress)).spec.ingress_class_name == "web"


# ---------------------------------------------------------------- certificates


def signing_request(signer: str = "example.com/one", *groups: str) -> certificates.CertificateSigningRequest:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bob"), *organizations])
    key = ec.generate_private_key(ec.SECP256R1())
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    spec = certificates.CertificateSigningRequestSpec(
        request=signed.public_bytes(serialization.Encoding.PEM), signer_name=signer
    )
    return certificates.CertificateSigningRequest(metadata=meta.ObjectMeta(name="r"), spec=spec)


def signers_role(verb: str, signer: str) -> tuple[rbac.ClusterRole, rbac.ClusterRoleBinding]:
    rule = rbac.PolicyRule(
        verbs=[verb], api_groups=["certificates.k8s.io"], resources=["signers"], resource_names=[signer]
    )
    group = "rbac.authorization.k8s.io"
    return (
        rbac.ClusterRole(metadata=meta.ObjectMeta(name=verb), rules=[rule]),
        rbac.ClusterRoleBinding(
            metadata=meta.ObjectMeta(name=verb),
            role_ref=rbac.RoleRef(api_group=group, kind="ClusterRole", name=verb),
            subjects=[rbac.Subject(api_group=group, kind="User", name="alice")],
        ),
    )


@pytest.mark.parametrize(
    ("subresource", "verb", "status"),
    [
        ("approval", "approve", {"conditions": [{"type": "Approved", "status": "True"}]}),
        ("status", "sign", {"certificate": "eA=="}),
    ],
)
async def test_a_signer_has_people_of_its_own(subresource: str, verb: str, status: dict[str, Any]) -> None:
    old, new = signing_request(), signing_request()
    new.status = codec.from_builtins(status, certificates.CertificateSigningRequestStatus)
    refused = (
        '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: '
        f'user not permitted to {verb} requests with signerName "example.com/one"'
    )
    for roles in ((), signers_role(verb, "example.com/other"), signers_role("attest", "example.com/one")):
        assert await Cluster(*roles).refusal(UPDATE, new, old, subresource=subresource) == refused
    for signer in ("example.com/one", "example.com/*"):
        await Cluster(*signers_role(verb, signer)).admit(UPDATE, new, old, subresource=subresource)
    # To call it another signer's in passing is no way around.
    new.spec.signer_name = "example.com/other"
    other = Cluster(*signers_role(verb, "example.com/other"))
    assert await other.refusal(UPDATE, new, old, subresource=subresource) == refused


async def test_what_a_signer_wrote_may_be_written_again() -> None:
    await Cluster().admit(UPDATE, signing_request(), signing_request(), subresource="status")


async def test_nobody_asks_for_a_certificate_of_the_superusers() -> None:
    client = "kubernetes.io/kube-apiserver-client"
    assert await Cluster().refusal(CREATE, signing_request(client, "dev", "system:masters")) == (
        '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: '
        f"use of {client} signer with system:masters group is not allowed"
    )
    await Cluster().admit(CREATE, signing_request(client, "dev"))
    await Cluster().admit(CREATE, signing_request("example.com/one", "system:masters"))
    unreadable = signing_request(client)
    unreadable.spec.request = b"no request"
    await Cluster().admit(CREATE, unreadable)


# ---------------------------------------------------------------- escalation


async def test_a_role_is_no_way_to_more_power() -> None:
    everything = rbac.PolicyRule(verbs=["*"], api_groups=["*"], resources=["*"])
    role = rbac.ClusterRole(metadata=meta.ObjectMeta(name="root"), rules=[everything])
    assert "is attempting to grant RBAC permissions not currently held" in await Cluster().refusal(CREATE, role)
    await Cluster().admit(CREATE, role, user=User("root", groups=("system:masters",)))
