"""What clients are told of the server: discovery in both forms, and the OpenAPI documents."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict

from api.errors import StatusError
from api.scheme import SCHEME
from controlplane.apiserver.discovery import AGGREGATED, Discovery, wants_aggregated
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.openapi import OpenApi
from controlplane.apiserver.query import parse

REFERENCE = Path(__file__).parents[5] / "shared" / "data" / "discovery-1.36.json"
# As kubectl 1.32 and newer ask.
KUBECTL = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)

DISCOVERY = Discovery(SCHEME, "10.0.0.1:6443")
OPENAPI = OpenApi(lambda: 1_800_000_000.0)


def exchange(path: str, accept: str = "", query: str = "", **headers: str) -> Exchange:
    sent = CIMultiDict({key.replace("_", "-"): value for key, value in headers.items()})
    if accept:
        sent["Accept"] = accept
    return Exchange(None, "GET", path, query, parse(query), sent, None)  # type: ignore[arg-type]


def discover(path: str, accept: str = "", **headers: str) -> Reply:
    reply = DISCOVERY.serve(exchange(path, accept, **headers))
    assert reply is not None
    return reply


def aggregated(path: str) -> dict[str, Any]:
    return dict(json.loads(discover(path, KUBECTL).body))


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference data lies beside the checkout")
def test_aggregated_discovery_agrees_with_upstreams_for_every_version_served() -> None:
    upstream = {
        (group["metadata"]["name"], version["version"]): version
        for group in json.loads(REFERENCE.read_text())["items"]
        for version in group["versions"]
    }
    ours = aggregated("/apis")["items"]
    for group in ours:
        for version in group["versions"]:
            assert version == upstream[group["metadata"]["name"], version["version"]]
    order = [name for name, version in upstream if version == "v1"]
    assert [group["metadata"]["name"] for group in ours] == order


def test_the_core_group_is_found_under_api() -> None:
    document = aggregated("/api")
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    (group,) = document["items"]
    assert group["metadata"] == {"name": ""} or group["metadata"] == {}
    resources = {item["resource"]: item for item in group["versions"][0]["resources"]}
    pods = resources["pods"]
    assert (pods["shortNames"], pods["categories"], pods["scope"]) == (["po"], ["all"], "Namespaced")
    kinds = {item["subresource"]: item["responseKind"] for item in pods["subresources"]}
    assert kinds["eviction"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert {"log", "exec", "attach", "portforward", "binding", "status"} <= set(kinds)


def test_both_forms_say_the_same() -> None:
    for root in ("/api", "/apis"):
        for group in aggregated(root)["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                path = f"{root}/{name}/{version['version']}" if name else f"{root}/{version['version']}"
                old = json.loads(discover(path).body)
                listed = {item["name"]: item["verbs"] for item in old["resources"]}
                told = {item["resource"]: item["verbs"] for item in version["resources"]}
                for item in version["resources"]:
                    for part in item.get("subresources", []):
                        told[f"{item['resource']}/{part['subresource']}"] = part["verbs"]
                assert listed == told


def test_the_old_form_is_upstreams() -> None:
    assert json.loads(discover("/api").body) == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443"}],
    }
    assert json.loads(discover("/apis/autoscaling").body) == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "autoscaling",
        "versions": [
            {"groupVersion": "autoscaling/v2", "version": "v2"},
            {"groupVersion": "autoscaling/v1", "version": "v1"},
        ],
        "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
    }
    assert json.loads(discover("/apis/apps/v1/").body)["groupVersion"] == "apps/v1"
    scale = next(item for item in json.loads(discover("/apis/apps/v1").body)["resources"] if "/scale" in item["name"])
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


@pytest.mark.parametrize("path", ["/apis/nothing", "/apis/apps/v2", "/api/v2"])
def test_unknown_groups_and_versions_are_not_found(path: str) -> None:
    assert DISCOVERY.serve(exchange(path)) is None


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (KUBECTL, True),
        (AGGREGATED, True),
        (AGGREGATED + ";profile=nopeer", True),
        ("application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io", True),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", False),
        ("application/json, " + AGGREGATED, False),
        ("*/*", False),
        ("", False),
    ],
)
def test_the_client_says_which_form_it_wants(accept: str, wanted: bool) -> None:
    assert wants_aggregated(accept) is wanted
    assert (discover("/apis", accept).content_type == AGGREGATED) is wanted


def test_who_has_the_document_is_spared_it() -> None:
    first = discover("/apis", KUBECTL)
    etag = dict(first.headers)["ETag"]
    again = discover("/apis", KUBECTL, If_None_Match=etag)
    assert (again.status, again.body, dict(again.headers)["ETag"]) == (304, b"", etag)
    other = discover("/apis", KUBECTL, If_None_Match='"other"')
    assert (other.status, other.body) == (200, first.body)
    assert dict(first.headers)["Vary"] == "Accept"


# ---------------------------------------------------------------- OpenAPI


def document(path: str, accept: str = "application/json", query: str = "", **headers: str) -> Reply:
    reply = OPENAPI.serve(exchange(path, accept, query, **headers))
    assert reply is not None
    return reply


def test_the_index_leads_to_every_document_and_its_hash_lets_it_be_kept() -> None:
    paths = json.loads(document("/openapi/v3").body)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/autoscaling/v2"} <= set(paths)
    for name in ("api/v1", "apis/apps/v1"):
        path, _, query = paths[name]["serverRelativeURL"].partition("?")
        reply = document(path, query=query)
        headers = dict(reply.headers)
        assert headers["Cache-Control"] == "public, immutable"
        assert headers["Expires"] == "Sat, 15 Jan 2028 08:00:00 GMT"
        assert json.loads(reply.body)["openapi"] == "3.0.0"
        tagged = document(path, query=query, If_None_Match=headers["ETag"])
        assert tagged.status == 304


def test_an_old_hash_leads_to_the_new_document() -> None:
    reply = document("/openapi/v3/api/v1", query="hash=OLD")
    location = dict(reply.headers)["Location"]
    assert reply.status == 301
    assert location == json.loads(document("/openapi/v3").body)["paths"]["api/v1"]["serverRelativeURL"]


def test_without_a_hash_nothing_is_promised() -> None:
    assert "Cache-Control" not in dict(document("/openapi/v3/apis/apps/v1").headers)


def test_large_documents_are_compressed_for_who_can_read_it() -> None:
    plain = document("/openapi/v2")
    packed = document("/openapi/v2", Accept_Encoding="gzip, deflate")
    assert dict(packed.headers)["Content-Encoding"] == "gzip"
    assert zlib.decompress(packed.body, 31) == plain.body
    assert json.loads(plain.body)["swagger"] == "2.0"


# As kubectl asks, and as the answer is labelled.
ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@pytest.mark.parametrize(
    ("accept", "sent"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        (ASKED, PROTOBUF),
        (PROTOBUF, PROTOBUF),
        (f"{ASKED}, application/json;q=0.5", PROTOBUF),
        (f"{ASKED};q=0.5, application/json", "application/json"),
    ],
)
def test_v2_comes_in_the_form_the_client_likes_best(accept: str, sent: str) -> None:
    reply = document("/openapi/v2", accept)
    assert (reply.status, reply.content_type) == (200, sent)
    assert reply.body.startswith(b"{") is (sent == "application/json")


def test_the_protobuf_form_has_a_tag_of_its_own_and_is_compressed() -> None:
    plain, as_json = document("/openapi/v2", ASKED), document("/openapi/v2")
    headers = dict(plain.headers)
    assert headers["Vary"] == "Accept"
    assert headers["ETag"] != dict(as_json.headers)["ETag"]
    assert document("/openapi/v2", ASKED, If_None_Match=headers["ETag"]).status == 304
    packed = document("/openapi/v2", ASKED, Accept_Encoding="gzip")
    assert dict(packed.headers)["Content-Encoding"] == "gzip"
    assert zlib.decompress(packed.body, 31) == plain.body


@pytest.mark.parametrize(("path", "accept"), [("/openapi/v2", "text/html"), ("/openapi/v3", ASKED)])
def test_other_forms_are_not_to_be_had(path: str, accept: str) -> None:
    with pytest.raises(StatusError) as caught:
        document(path, accept)
    assert caught.value.code == 406


def test_there_is_no_document_for_what_is_not_served() -> None:
    assert OPENAPI.serve(exchange("/openapi/v3/apis/nothing/v1")) is None
