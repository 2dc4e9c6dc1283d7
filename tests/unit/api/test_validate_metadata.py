"""Metadata of any kind: names per kind, namespaces, labels, annotations, owners, finalizers."""

from typing import Any

import pytest

from api import codec
from api.defaults import set_defaults
from api.scheme import SCHEME
from api.validation import validate_create, validate_update


def make(api_version: str, kind: str, metadata: dict[str, Any], **rest: Any) -> Any:
    data = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
    obj = codec.from_builtins(data, SCHEME.kind_type(api_version, kind))
    set_defaults(obj)
    return obj


def config(**metadata: Any) -> Any:
    return make("v1", "ConfigMap", {"name": "c", "namespace": "default", "resourceVersion": "1", **metadata})


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"namespace": ""}, "metadata.namespace: Required value"),
        ({"generation": -1}, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"annotations": {"a": "x" * 262144}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        (
            {"finalizers": ["mine"]},
            'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully '
            "qualified",
        ),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
            "foregroundDeletion "
            "cannot be both set",
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]},
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, '
            "Kind=Event is disallowed from being an owner",
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "u"}]},
            'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        ),
        (
            {"managedFields": [{"manager": "m", "operation": "Merge"}]},
            'metadata.managedFields[0].operation: Invalid value: "Merge": must be `Apply` or `Update`',
        ),
    ],
)
def test_metadata(metadata, expected):
    assert texts(validate_create(config(**metadata))) == [expected]


def test_bad_labels_and_annotation_keys():
    found = texts(
        validate_create(config(labels={"a b": "c", "d": "e f"}, annotations={"UPPER.io/x": "fine", "/y": ""}))
    )
    assert [error.split(": ")[0] for error in found] == ["metadata.labels", "metadata.labels", "metadata.annotations"]
    assert found[2] == 'metadata.annotations: Invalid value: "/y": prefix part must be non-empty'


def test_two_controllers():
    owner = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
    found = texts(validate_create(config(ownerReferences=[{**owner, "name": "a"}, {**owner, "name": "b"}])))
    assert len(found) == 1
    assert found[0].endswith(
        'Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b'
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "fine"),
    [
        ("v1", "ConfigMap", "a.b", True),
        ("v1", "Namespace", "a.b", False),
        ("v1", "ServiceAccount", "a.b", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "system:node", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "a/b", False),
        ("storage.k8s.io/v1", "CSINode", "node.example", True),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", "any:thing", True),
    ],
)
def test_names_per_kind(api_version, kind, name, fine):
    namespaced = SCHEME.by_kind(api_version, kind).namespaced
    obj = make(api_version, kind, {"name": name, **({"namespace": "default"} if namespaced else {})})
    wrong = [error for error in validate_create(obj) if error.path == "metadata.name"]
    assert (not wrong) is fine


def test_a_cluster_wide_kind_has_no_namespace():
    obj = make("v1", "Namespace", {"name": "a", "namespace": "b"})
    assert texts(validate_create(obj)) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_every_served_kind_can_be_checked():
    for resource in SCHEME.resources():
        if "create" not in resource.verbs:
            continue
        obj = make(resource.api_version, resource.kind, {"name": "a", "namespace": "b" if resource.namespaced else ""})
        assert isinstance(validate_create(obj), list)
        assert isinstance(validate_update(obj, obj), list)


def test_a_dying_object_gets_no_new_finalizers():
    old = config(deletionTimestamp="2024-01-01T00:00:00Z", finalizers=["a.io/x"])
    new = config(deletionTimestamp="2024-01-01T00:00:00Z", finalizers=["a.io/x", "a.io/y"])
    assert texts(validate_update(new, old)) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"a.io/y"}'
    ]


def test_identity_is_fixed():
    new = config(name="d", namespace="other", generation=1, resourceVersion="")
    old = config(generation=2)
    assert texts(validate_update(new, old)) == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        "metadata.generation: Invalid value: 1: must not be decremented",
        'metadata.name: Invalid value: "d": field is immutable',
        'metadata.namespace: Invalid value: "other": field is immutable',
    ]
