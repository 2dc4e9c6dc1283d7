"""scale, binding, tokens, approval and reviews."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from tests.unit.controlplane.apiserver.server_harness import Harness, pod

PODS = "/api/v1/namespaces/test/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/test/deployments"


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": template},
    }


def binding(name: str, node: str = "n1", **metadata: object) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}


async def test_scale_shows_and_sets_replicas(api: Harness) -> None:
    made = (await api.create(DEPLOYMENTS, deployment("d"))).ok
    scale = (await api.get(f"{DEPLOYMENTS}/d/scale")).ok
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 0, "selector": "app=d"})
    assert scale["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    body = scale.json
    body["spec"]["replicas"] = 4
    assert (await api.update(f"{DEPLOYMENTS}/d/scale", body)).ok["spec"] == {"replicas": 4}
    assert (await api.update(f"{DEPLOYMENTS}/d/scale", body)).refused(409, "Conflict")
    assert (await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 0}})).ok["status"]["selector"] == "app=d"
    changed = (await api.get(f"{DEPLOYMENTS}/d")).ok
    assert (changed["spec"]["replicas"], changed["metadata"]["generation"]) == (0, 3)
    message = (await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -1}})).refused(422, "Invalid")
    assert message == (
        'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    )


async def test_a_scale_is_shown_in_columns(api: Harness) -> None:
    await api.create(DEPLOYMENTS, deployment("d"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = (await api.get(f"{DEPLOYMENTS}/d/scale", Accept=accept)).ok
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["d", 1, 0]


async def test_a_pod_is_bound_once(api: Harness) -> None:
    await api.create(PODS, pod("p"))
    done = (await api.create(f"{PODS}/p/binding", binding("p", annotations={"a": "b"}))).ok
    assert (done.status, done["kind"], done["status"]) == (201, "Status", "Success")
    bound = (await api.get(f"{PODS}/p")).ok
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"]["a"] == "b"
    (condition,) = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    message = (await api.create(f"{PODS}/p/binding", binding("p", "n2"))).refused(409, "Conflict")
    assert message == ('Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"')


async def test_bindings_can_be_posted_to_their_collection(api: Harness) -> None:
    await api.create(PODS, pod("p"))
    assert (await api.create("/api/v1/namespaces/test/bindings", binding("p"))).status == 201
    assert (await api.get(f"{PODS}/p")).ok["spec"]["nodeName"] == "n1"


async def test_of_many_binders_one_wins(api: Harness) -> None:
    await api.create(PODS, pod("p"))
    answers = await asyncio.gather(*(api.create(f"{PODS}/p/binding", binding("p", f"n{i}")) for i in range(10)))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 9]


async def test_bindings_that_cannot_be(api: Harness) -> None:
    await api.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    gated = (await api.get(f"{PODS}/p")).ok["status"]["conditions"][0]
    assert (gated["reason"], gated["status"]) == ("SchedulingGated", "False")
    assert "has non-empty .spec.schedulingGates" in (await api.create(f"{PODS}/p/binding", binding("p"))).refused(
        409, "Conflict"
    )
    (await api.create(f"{PODS}/q/binding", binding("q"))).refused(404, "NotFound")
    assert "name in URL" in (await api.create(f"{PODS}/p/binding", binding("q"))).refused(400, "BadRequest")
    assert "target.name: Required value" in (await api.create(f"{PODS}/p/binding", binding("p", ""))).refused(
        422, "Invalid"
    )
    assert "UID in precondition" in (await api.create(f"{PODS}/p/binding", binding("p", uid="other"))).refused(
        409, "Conflict"
    )


async def test_a_token_for_a_service_account(api: Harness) -> None:
    accounts = "/api/v1/namespaces/test/serviceaccounts"
    answer = (await api.create(f"{accounts}/default/token", {"spec": {"expirationSeconds": 600}})).ok
    assert answer["status"]["token"].count(".") == 2
    review = (
        await api.create("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": answer["status"]["token"]}})
    ).ok
    assert review["status"]["user"]["username"] == "system:serviceaccount:test:default"
    (await api.create(f"{accounts}/nobody/token", {})).refused(404, "NotFound")


async def test_access_reviews(api: Harness) -> None:
    question = {
        "spec": {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "test"}}
    }
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert (await api.create(reviews, question)).ok["status"]["allowed"] is False
    question["spec"]["groups"] = ["system:masters"]
    assert (await api.create(reviews, question)).ok["status"]["allowed"] is True
    mine = (await api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})).ok
    assert "system:masters" in mine["status"]["userInfo"]["groups"]


async def test_a_signing_request_names_who_asked(api: Harness) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "jane")])
    pem = (
        x509.CertificateSigningRequestBuilder(name).sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
        "username": "somebody-else",
    }
    made = (await api.create(requests, {"metadata": {"name": "c"}, "spec": spec})).ok
    assert made["spec"]["username"] != "somebody-else"
    body = made.json
    body["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "x"}], "certificate": "bm8="}
    approved = (await api.update(f"{requests}/c/approval", body)).ok
    assert approved["status"]["conditions"][0]["type"] == "Approved"
    assert "certificate" not in approved["status"]


@pytest.mark.parametrize(
    ("pem", "message"),
    [
        (b"foo", "PEM block type must be CERTIFICATE REQUEST"),
        (b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", "asn1: structure error: "),
    ],
)
async def test_a_signing_request_that_nobody_can_read_is_refused(api: Harness, pem: bytes, message: str) -> None:
    request = base64.b64encode(pem).decode()
    spec = {"request": request, "signerName": "example.com/one", "usages": ["client auth"]}
    body = {"metadata": {"name": "c"}, "spec": spec}
    answer = await api.create("/apis/certificates.k8s.io/v1/certificatesigningrequests", body)
    assert f'spec.request: Invalid value: "{request}": {message}' in answer.refused(422, "Invalid")


async def test_containers_to_debug_with_can_be_added_but_not_changed(api: Harness) -> None:
    await api.create(PODS, pod("p", nodeName="n1"))
    added = {"name": "debug", "image": "busybox", "targetContainerName": "c"}
    body = {"spec": {"ephemeralContainers": [added], "nodeName": "elsewhere"}, "status": {"phase": "Running"}}
    strategic = "application/strategic-merge-patch+json"
    changed = (await api.patch(f"{PODS}/p/ephemeralcontainers", body, strategic)).ok
    (container,) = changed["spec"]["ephemeralContainers"]
    assert (container["name"], container["terminationMessagePath"]) == ("debug", "/dev/termination-log")
    assert (changed["spec"]["nodeName"], changed["status"]["phase"]) == ("n1", "Pending")
    assert changed["metadata"]["generation"] == 2
    other = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "other"}]}}
    message = (await api.patch(f"{PODS}/p/ephemeralcontainers", other, strategic)).refused(422, "Invalid")
    assert "may not be changed" in message
    gone = await api.patch(f"{PODS}/p/ephemeralcontainers", {"spec": {"ephemeralContainers": None}})
    assert "may not be removed" in gone.refused(422, "Invalid")
