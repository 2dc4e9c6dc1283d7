"""The real kubectl creates objects of kinds that cannot be patched. For these alone it fetches OpenAPI v2, in
protobuf, and checks the object by it before sending anything.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.node.apiserver.server_process import connected, server
from tests.node.cluster.kubectl import Kubectl

pytestmark = pytest.mark.node

_TOKEN_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "nobody's"}}
_ACCESS_REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SubjectAccessReview",
    "spec": {
        "user": "somebody",
        "groups": ["system:masters"],
        "resourceAttributes": {"namespace": "default", "verb": "list", "resource": "pods"},
    },
}
_BINDING = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "unbound"},
    "target": {"apiVersion": "v1", "kind": "Node", "name": "somewhere"},
}
_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "unbound"},
    "spec": {"containers": [{"name": "main", "image": "example.test/main"}]},
}


@pytest.fixture
async def kubectl(tmp_path: Path, unused_tcp_port: int) -> AsyncIterator[Kubectl]:
    """kubectl with an API server of its own."""
    async with server(tmp_path, unused_tcp_port):
        await connected(unused_tcp_port, tmp_path)
        yield Kubectl(tmp_path / "config" / "admin.kubeconfig", tmp_path)


async def _create(kubectl: Kubectl, manifest: Mapping[str, Any], *arguments: str) -> str:
    return await asyncio.to_thread(kubectl, "create", "-f", "-", *arguments, text=yaml.safe_dump(manifest))


async def test_creates_reviews(kubectl: Kubectl) -> None:
    token = json.loads(await _create(kubectl, _TOKEN_REVIEW, "-o", "json"))
    assert token["status"]["error"]
    assert not token["status"].get("authenticated")
    access = json.loads(await _create(kubectl, _ACCESS_REVIEW, "-o", "json"))
    assert access["status"]["allowed"] is True


async def test_creates_a_binding(kubectl: Kubectl) -> None:
    await asyncio.to_thread(kubectl, "create", "serviceaccount", "default")
    await _create(kubectl, _POD)
    await _create(kubectl, _BINDING)
    assert await asyncio.to_thread(kubectl.field, "pod/unbound", ".spec.nodeName") == "somewhere"


async def test_refuses_by_the_schema_it_read(kubectl: Kubectl) -> None:
    wrong = yaml.safe_dump({**_TOKEN_REVIEW, "spec": {"tokken": "misspelt", "audiences": "no list"}})
    said = await asyncio.to_thread(kubectl.refused, "create", "-f", "-", text=wrong)
    assert 'unknown field "tokken" in io.k8s.api.authentication.v1.TokenReviewSpec' in said
    assert "io.k8s.api.authentication.v1.TokenReviewSpec.audiences" in said


async def test_kinds_that_can_be_patched_are_checked_by_the_server_as_before(kubectl: Kubectl) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}
    said = await asyncio.to_thread(kubectl, "apply", "--dry-run=server", "-f", "-", text=yaml.safe_dump(manifest))
    assert said == "configmap/one created (server dry run)\n"
    said = await asyncio.to_thread(kubectl, "explain", "tokenreview.spec")
    assert "audiences\t<[]string>" in said
