"""OpenAPI v3 as kubectl and client generators read it. That the content agrees with upstream's:
test_upstream_agreement.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from api.openapi import v2_document, v3_document, v3_index


def _tree(path: str) -> dict[str, Any]:
    document = v3_document(path)
    assert document is not None
    tree: dict[str, Any] = json.loads(document.body)
    return tree


_PATHS = sorted(json.loads(v3_index().body)["paths"])


def test_index_names_every_group_version() -> None:
    assert {"api/v1", "apis/apps/v1", "apis/autoscaling/v2", "apis/rbac.authorization.k8s.io/v1"} <= set(_PATHS)
    for path, entry in json.loads(v3_index().body)["paths"].items():
        location, _, digest = entry["serverRelativeURL"].partition("?hash=")
        assert location == f"/openapi/v3/{path}"
        document = v3_document(path)
        assert document is not None
        assert document.etag == digest


def test_there_is_no_document_of_what_is_not_served() -> None:
    assert v3_document("apis/nowhere.example/v1") is None


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


@pytest.mark.parametrize("path", _PATHS)
def test_references_lead_somewhere(path: str) -> None:
    tree = _tree(path)
    schemas = tree["components"]["schemas"]
    for reference in _references(tree):
        assert reference.removeprefix("#/components/schemas/") in schemas


def test_v2_references_lead_somewhere() -> None:
    tree = json.loads(v2_document().body)
    for reference in _references(tree):
        assert reference.removeprefix("#/definitions/") in tree["definitions"]


def test_what_kubectl_looks_for() -> None:
    tree = _tree("api/v1")
    pod = tree["components"]["schemas"]["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    # kubectl asks whether the server validates fields by looking for this parameter of PATCH
    patch = tree["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "kind": "Pod", "version": "v1"}
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_fields_carry_how_they_merge() -> None:
    schemas = _tree("api/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }
    strategy = _tree("apis/apps/v1")["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"][
        "strategy"
    ]
    assert strategy == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}],
        "x-kubernetes-patch-strategy": "retainKeys",
    }


def test_alternatives_can_be_said_in_v3() -> None:
    schemas = _tree("api/v1")["components"]["schemas"]
    assert schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["oneOf"] == [
        {"type": "integer"},
        {"type": "string"},
    ]
    assert schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]["oneOf"] == [{"type": "string"}, {"type": "number"}]


def test_operations_of_a_path_are_named_once() -> None:
    identifiers = [
        operation["operationId"]
        for path in _PATHS
        for item in _tree(path)["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(identifiers) == len(set(identifiers)) > 500
