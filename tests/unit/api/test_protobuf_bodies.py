"""Protobuf bodies, as kubectl 1.32 sends them and as they must not crash the server."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import codec
from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Struct
from api.protobuf import MAGIC, ProtobufError, numbers, to_json
from api.scheme import SCHEME
from api.shapes import Alternatives, ListOf, MapOf, Shape, StructShape, struct_shape

# What `kubectl create deployment|quota|token|secret|ingress|poddisruptionbudget` of version 1.32.4 posted.
DEPLOYMENT = (
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErIBCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEoABCAMSDAoKCgNhcHASA3dlYhpmChwK"
    "ABIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkYSKAoBeBIDeDoxKgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgA"
    "ggEAigEAmgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA="
)
QUOTA = (
    "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRI1ChEKAXESABoAIgAqADIAOABCABIeCg8KBm1lbW9yeRIFCgMxR2kKCwoEcG9kcxIDCgEyGgAaACIA"
)
TOKEN = (
    "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBItChAKABIAGgAiACoAMgA4AEIAEhMaDgoDUG9kEgJ2MRoBcCIAIKA4"
    "GgQKABIAGgAiAA=="
)
SECRET = "azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWIaABoAIgA="
INGRESS = (
    "azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxI/ChEKAWkSABoAIgAqADIAOABCABImGiQKA2EuYhIdChsKGQoBLxINIgsKA3dlYhIE"
    "CgAQUBoFRXhhY3QaAgoAGgAiAA=="
)
BUDGET = (
    "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSOgoRCgFwEgAaACIAKgAyADgAQgASGQoJCAEQABoDNTAlEgwKCgoDYXBwEgN3ZWIa"
    "CggAGAAgACgAMAAaACIA"
)

# A CustomResourceDefinition, by the messages of its generated.proto.
DEFINITION = (
    "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEtoBCgsKB3dzLmcuaW9CABLKAQoEZy5pbxoHCg"
    "J3cyIBVyIKTmFtZXNwYWNlZDqqAQoCdjEQARgBIpsBCpgBKgZvYmplY3TqASEKAWISHCoFYXJyYXmAAQPCAQoKCCoGc3RyaW5nigICCADqASMKAWQS"
    "HsIBBRIDGgFy8gECCAGCAgsKAXoSBhIBdRIBdrACAeoBKQoBYRIkKgZudW1iZXJCCQoHeyJ4IjoxfUkAAAAAAAD4P6IBBQoDInki6gEXCgFjEhIqBm"
    "9iamVjdPIBBwgBEgPAAgEqAgoAUAAaACIA"
)


def read(text: str) -> dict[str, Any]:
    """What the body says, without what is zero."""
    found = msgspec.json.decode(to_json(base64.b64decode(text)))
    struct = SCHEME.kind_type(found["apiVersion"], found["kind"])
    return dict(codec.to_builtins(codec.from_builtins(found, struct)))


def test_a_deployment_is_read_down_to_its_containers() -> None:
    deployment = read(DEPLOYMENT)
    assert deployment["metadata"] == {"name": "web", "labels": {"app": "web"}}
    spec = deployment["spec"]
    assert (spec["replicas"], spec["selector"]) == (3, {"matchLabels": {"app": "web"}})
    assert spec["template"]["metadata"] == {"labels": {"app": "web"}}
    (container,) = spec["template"]["spec"]["containers"]
    assert container == {"name": "x", "image": "x:1", "ports": [{"containerPort": 80}], "resources": {}}


def test_quantities_bytes_and_numbers_or_strings_are_read() -> None:
    assert read(QUOTA)["spec"] == {"hard": {"memory": "1Gi", "pods": "2"}}
    assert read(SECRET)["data"] == {"a": "Yg=="}
    budget = read(BUDGET)
    assert budget["spec"] == {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}


def test_a_token_request_is_read() -> None:
    request = read(TOKEN)
    assert request["kind"] == "TokenRequest"
    assert request["spec"]["expirationSeconds"] == 7200
    assert request["spec"]["boundObjectRef"] == {"kind": "Pod", "apiVersion": "v1", "name": "p"}


def test_fields_that_stand_inline_in_json_are_found() -> None:
    assert read(INGRESS)["spec"]["rules"] == [
        {
            "host": "a.b",
            "http": {
                "paths": [
                    {
                        "path": "/",
                        "pathType": "Exact",
                        "backend": {"service": {"name": "web", "port": {"number": 80}}},
                    }
                ]
            },
        }
    ]


# ---------------------------------------------------------------- messages made by hand


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def piece(number: int, *parts: bytes | str) -> bytes:
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def body(api_version: str, kind: str, *message: bytes) -> bytes:
    return MAGIC + piece(1, piece(1, api_version), piece(2, kind)) + piece(2, *message)


def test_times_maps_of_lists_and_packed_numbers_are_read() -> None:
    metadata = piece(1, piece(1, "x"), piece(8, integer(1, 1_800_000_000)), piece(9))
    context = piece(14, integer(2, 0), piece(4, varint(5), varint(7)), integer(4, 9))
    pod = msgspec.json.decode(to_json(body("v1", "Pod", metadata, piece(2, context))))
    assert pod["metadata"] == {"name": "x", "creationTimestamp": "2027-01-15T08:00:00Z"}
    assert pod["spec"]["securityContext"] == {"runAsUser": 0, "supplementalGroups": [5, 7, 9]}
    extra = piece(5, piece(1, "scopes"), piece(2, piece(1, "a"), piece(1, "b")))
    review = body("authorization.k8s.io/v1", "SubjectAccessReview", piece(2, extra, piece(5, piece(1, "k"))))
    assert msgspec.json.decode(to_json(review))["spec"]["extra"] == {"scopes": ["a", "b"], "k": []}
    renewed = piece(2, piece(4, integer(1, 1_800_000_000), integer(2, 123_456_000)), integer(2, -1))
    lease = msgspec.json.decode(to_json(body("coordination.k8s.io/v1", "Lease", renewed)))
    assert lease["spec"] == {"renewTime": "2027-01-15T08:00:00.123456Z", "leaseDurationSeconds": -1}


def test_free_form_json_travels_as_bytes() -> None:
    data = body("apps/v1", "ControllerRevision", piece(2, piece(1, '{"a":[1]}')), integer(3, 4))
    assert msgspec.json.decode(to_json(data))["data"] == {"a": [1]}


def test_a_schema_is_read_with_what_may_stand_in_its_stead() -> None:
    (version,) = read(DEFINITION)["spec"]["versions"]
    assert version["subresources"] == {"status": {}}
    assert version["schema"]["openAPIV3Schema"]["properties"] == {
        "a": {"type": "number", "maximum": 1.5, "default": {"x": 1}, "enum": ["y"]},
        "b": {"type": "array", "maxItems": 3, "items": {"type": "string"}, "additionalItems": False},
        "c": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
        "d": {
            "items": [{"$ref": "r"}],
            "additionalProperties": True,
            "dependencies": {"z": ["u", "v"]},
            "x-kubernetes-preserve-unknown-fields": True,
        },
    }


def test_a_volume_has_its_source_inline_and_unknown_fields_are_dropped() -> None:
    volume = piece(1, piece(1, "v"), piece(2, piece(19, piece(1, piece(1, "settings")))), piece(99, "future"))
    pod = msgspec.json.decode(to_json(body("v1", "Pod", piece(2, volume))))
    assert pod["spec"]["volumes"] == [{"name": "v", "configMap": {"name": "settings"}}]


def test_an_unnamed_body_is_read_as_what_was_expected_and_an_unknown_kind_is_named() -> None:
    unnamed = MAGIC + piece(2, integer(1, 30))
    assert msgspec.json.decode(to_json(unnamed, meta.DeleteOptions)) == {"gracePeriodSeconds": 30}
    strange = to_json(body("acme.com/v1", "Thing", b"\xff\xff"))
    assert msgspec.json.decode(strange) == {"apiVersion": "acme.com/v1", "kind": "Thing"}


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"",
        MAGIC + b"\x0a\xff",
        body("v1", "Pod", b"\x0b"),
        body("v1", "Pod", piece(1, piece(1, b"\xff\xfe"))),
        body("v1", "Pod", integer(1, 3)),
        body("v1", "Pod", b"\xff" * 11),
        body("v1", "Pod", piece(1, piece(8, integer(1, 1 << 60)))),
        body("apps/v1", "ControllerRevision", piece(2, piece(1, "{"))),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(ProtobufError):
        to_json(data, core.Pod)


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_read_but_never_fatal(data: bytes) -> None:
    for candidate in (MAGIC + data, body("v1", "Pod", data)):
        try:
            msgspec.json.decode(to_json(candidate, core.Pod))
        except ProtobufError:
            continue


# ---------------------------------------------------------------- the table


def reached(shape: Shape, seen: dict[type[Struct], StructShape]) -> None:
    if isinstance(shape, ListOf):
        reached(shape.item, seen)
    elif isinstance(shape, MapOf):
        reached(shape.value, seen)
    elif isinstance(shape, Alternatives):
        for choice in shape.choices:
            reached(choice, seen)
    elif isinstance(shape, StructShape) and shape.struct not in seen:
        seen[shape.struct] = shape
        for field in shape.fields.values():
            reached(field.shape, seen)


def named_in(struct: type[Struct], message: numbers.Message) -> set[str]:
    found: set[str] = set()
    for place in message.values():
        if place.embedded:
            found |= named_in(struct, numbers.embedded(struct, place.embedded))
        else:
            found.add(place.name)
    return found


def test_every_field_of_every_served_type_has_its_number() -> None:
    seen: dict[type[Struct], StructShape] = {}
    for resource in SCHEME.resources():
        reached(struct_shape(resource.type), seen)
        for subresource in resource.subresources:
            reached(struct_shape(subresource.type), seen)
    # Options of connections come as a query, never as a body.
    missing = {}
    for struct, shape in seen.items():
        message = numbers.message_of(struct)
        wanted = set(shape.fields) - {"apiVersion", "kind"} if issubclass(struct, meta.TypeMeta) else set(shape.fields)
        absent = wanted - named_in(struct, message) if message is not None else wanted
        if absent:
            missing[f"{struct.__module__}.{struct.__name__}"] = sorted(absent)
    assert missing == {}
