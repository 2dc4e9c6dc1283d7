"""Bad input: each gets its Status with upstream's code, reason and words, and the server goes on."""

from __future__ import annotations

import json

import pytest

from tests.unit.controlplane.apiserver.server_harness import JSON_PATCH, MERGE, STRATEGIC, Harness, config_map, pod

MAPS = "/api/v1/namespaces/test/configmaps"
PODS = "/api/v1/namespaces/test/pods"
JSON = "application/json"


@pytest.fixture
async def api_with_map(api: Harness) -> Harness:
    await api.create(MAPS, config_map("a", x="1"))
    return api


BODIES = [
    # what, content type, body, code, reason, part of the message
    ("nothing", JSON, b"", 400, "BadRequest", "the object provided is unrecognized (must be of type ConfigMap)"),
    ("no JSON", JSON, b"nonsense", 400, "BadRequest", "(6e6f6e73656e7365)"),
    ("half an object", JSON, b'{"metadata":', 400, "BadRequest", "unexpected end of JSON input"),
    ("a list", JSON, b"[1, 2]", 400, "BadRequest", "the object provided is unrecognized"),
    ("a number", JSON, b"7", 400, "BadRequest", "the object provided is unrecognized"),
    ("not UTF-8", JSON, b'{"metadata":{"name":"\xff\xfe"}}', 422, "Invalid", "metadata.name"),
    (
        "another kind",
        JSON,
        json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}).encode(),
        400,
        "BadRequest",
        'Service in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Service) to (core.ConfigMap): unknown conversion",
    ),
    (
        "an unknown kind",
        JSON,
        b'{"apiVersion":"v1","kind":"Nonsense"}',
        400,
        "BadRequest",
        'no kind "Nonsense" is registered for version "v1" in scheme',
    ),
    (
        "an unknown group",
        JSON,
        b'{"apiVersion":"example.com/v1","kind":"ConfigMap"}',
        400,
        "BadRequest",
        'no kind "ConfigMap" is registered for version "example.com/v1" in scheme',
    ),
    (
        "a wrong type",
        JSON,
        b'{"metadata":{"name":"b"},"data":{"x":1}}',
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct',
    ),
    (
        "another namespace",
        JSON,
        b'{"metadata":{"name":"b","namespace":"other"}}',
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    ("no name", JSON, b"{}", 422, "Invalid", "metadata.name: Required value: name or generateName is required"),
    ("a bad name", JSON, b'{"metadata":{"name":"UPPER_case"}}', 422, "Invalid", "metadata.name: Invalid value"),
    (
        "the name of another",
        JSON,
        b'{"metadata":{"name":"a"}}',
        409,
        "AlreadyExists",
        'configmaps "a" already exists',
    ),
    ("broken YAML", "application/yaml", b"a: [1", 400, "BadRequest", "error converting YAML to JSON"),
    (
        "an unknown form",
        "application/vnd.example",
        b"x",
        415,
        "UnsupportedMediaType",
        "accepted media types include: application/json, application/yaml",
    ),
    (
        "a version",
        JSON,
        b'{"metadata":{"name":"b","resourceVersion":"5"}}',
        400,
        "BadRequest",
        "resourceVersion should not be set on objects to be created",
    ),
    ("far too deep", JSON, b'{"metadata":' + b'{"a":' * 100_000, 400, "BadRequest", "the object provided"),
    ("too much", JSON, b'{"data":{"x":"' + b"y" * (4 << 20) + b'"}}', 413, "RequestEntityTooLarge", "limit is 3145728"),
]


@pytest.mark.parametrize("case", BODIES, ids=[case[0] for case in BODIES])
async def test_bodies(api_with_map: Harness, case: tuple[str, str, bytes, int, str, str]) -> None:
    _, content_type, body, code, reason, words = case
    answer = await api_with_map.request("POST", MAPS, body, content_type=content_type)
    if body:
        assert words in answer.refused(code, reason)
    else:
        answer.refused(code, reason)
    assert (await api_with_map.get(f"{MAPS}/a")).status == 200


async def test_nested_aliases_do_not_explode(api: Harness) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    answer = await api.request("POST", MAPS, "\n".join(lines).encode(), content_type="application/yaml")
    assert "excessive aliasing" in answer.refused(400, "BadRequest")


QUERIES = [
    (f"{MAPS}?labelSelector=a%3Db%3Dc", 400, "BadRequest", "found '=', expected: ',' or 'end of string'"),
    (f"{MAPS}?labelSelector=!!x", 400, "BadRequest", "unable to parse requirement"),
    (f"{MAPS}?fieldSelector=nonsense", 400, "BadRequest", "invalid selector: 'nonsense'; can't understand 'nonsense'"),
    (
        f"{MAPS}?fieldSelector=data.x%3D1",
        400,
        "BadRequest",
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ),
    (f"{PODS}?fieldSelector=spec.color%3Dred", 400, "BadRequest", "field label not supported: spec.color"),
    (f"{MAPS}?limit=many", 400, "BadRequest", 'strconv.ParseInt: parsing "many": invalid syntax'),
    (f"{MAPS}?resourceVersion=old", 400, "BadRequest", 'strconv.ParseUint: parsing "old": invalid syntax'),
    (f"{MAPS}/a?resourceVersion=old", 400, "BadRequest", "invalid resource version"),
    (f"{MAPS}?watch=1&resourceVersion=old", 422, "Invalid", "resourceVersion: Invalid value"),
    (f"{MAPS}?continue=nonsense", 400, "BadRequest", "continue key is not valid"),
    (f"{MAPS}?continue=e30", 400, "BadRequest", "continue key is not valid"),
    (
        f"{MAPS}?resourceVersionMatch=Exact",
        422,
        "Invalid",
        "resourceVersionMatch is forbidden unless resourceVersion is provided",
    ),
    (f"{MAPS}?resourceVersion=1&resourceVersionMatch=Sometimes", 422, "Invalid", 'Unsupported value: "Sometimes"'),
    (f"{MAPS}?resourceVersion=0&resourceVersionMatch=Exact", 422, "Invalid", 'is forbidden for resourceVersion "0"'),
    (f"{MAPS}?sendInitialEvents=true", 422, "Invalid", "sendInitialEvents is forbidden for list"),
    (
        f"{MAPS}?watch=1&sendInitialEvents=true",
        422,
        "Invalid",
        "sendInitialEvents requires setting resourceVersionMatch",
    ),
    (f"{MAPS}?watch=1&resourceVersionMatch=Exact", 422, "Invalid", "is forbidden for watch unless sendInitialEvents"),
    (f"{MAPS}/a?timeout=soon", 400, "BadRequest", "invalid timeout specified in the request URL"),
    (f"{MAPS}/b", 404, "NotFound", 'configmaps "b" not found'),
    ("/api/v1/namespaces/test/nonsense", 404, "NotFound", "the server could not find the requested resource"),
    ("/apis/example.com/v1/things", 404, "NotFound", "the server could not find the requested resource"),
    (f"{PODS}/p/nonsense", 404, "NotFound", "the server could not find the requested resource"),
    ("/api/v1/pods/p", 404, "NotFound", "the server could not find the requested resource"),
    ("/api/v1/namespaces/test/nodes/n", 404, "NotFound", "the server could not find the requested resource"),
    ("/api/v1/watch", 400, "BadRequest", "unable to determine kind and namespace from url"),
]


@pytest.mark.parametrize(("target", "code", "reason", "words"), QUERIES)
async def test_queries_and_paths(api_with_map: Harness, target: str, code: int, reason: str, words: str) -> None:
    assert words in (await api_with_map.get(target)).refused(code, reason)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/api/v1/pods"),
        ("POST", f"{MAPS}/a"),
        ("PUT", MAPS),
        ("PATCH", MAPS),
        ("DELETE", "/api/v1/pods"),
        ("DELETE", "/api/v1/namespaces"),
        ("BREW", MAPS),
        ("PUT", "/apis/authentication.k8s.io/v1/tokenreviews"),
        ("POST", f"{PODS}/p/status"),
        ("DELETE", f"{PODS}/p/log"),
    ],
)
async def test_methods_that_are_not_allowed(api: Harness, method: str, target: str) -> None:
    (await api.request(method, target, {})).refused(405, "MethodNotAllowed")


async def test_paths_outside_the_api(api: Harness) -> None:
    for target in ("/nonsense", "/healthz/nonsense", "/apis/example.com", "/api/v2"):
        answer = await api.get(target)
        assert (answer.status, answer.body) == (404, b"404 page not found\n"), target


async def test_forms_that_cannot_be_served(api_with_map: Harness) -> None:
    for accept in ("text/html", "application/xml", "application/json;as=Sketch;g=meta.k8s.io;v=v1", "image/*"):
        answer = await api_with_map.get(f"{MAPS}/a", Accept=accept)
        message = answer.refused(406, "NotAcceptable")
        assert message == "only the following media types are accepted: application/json, application/yaml"
    for accept in ("*/*", "application/*", "text/html, application/json;q=0.1", "application/json;stream=watch"):
        assert (await api_with_map.get(f"{MAPS}/a", Accept=accept)).status == 200


PATCHES = [
    (MERGE, b"[]", 400, "BadRequest"),
    (MERGE, b"{", 400, "BadRequest"),
    (MERGE, b'{"data":{"x":1}}', 422, "Invalid"),
    (MERGE, b'{"metadata":{"name":"other"}}', 400, "BadRequest"),
    (MERGE, b'{"metadata":{"namespace":"other"}}', 400, "BadRequest"),
    (MERGE, b'{"metadata":{"resourceVersion":"1"}}', 409, "Conflict"),
    (MERGE, b'{"metadata":{"uid":"other"}}', 409, "Conflict"),
    (STRATEGIC, b"[]", 400, "BadRequest"),
    (STRATEGIC, b'{"data":"x"}', 422, "Invalid"),
    (JSON_PATCH, b"{}", 400, "BadRequest"),
    (JSON_PATCH, b'[{"op":"remove","path":"/data/nothing"}]', 422, "Invalid"),
    (JSON_PATCH, b'[{"op":"invent","path":"/data/x"}]', 422, "Invalid"),
    (
        JSON_PATCH,
        json.dumps([{"op": "test", "path": "/data/x", "value": "1"}] * 10_001).encode(),
        413,
        "RequestEntityTooLarge",
    ),
    ("application/apply-patch+yaml", b"{}", 415, "UnsupportedMediaType"),
    ("application/json", b"{}", 415, "UnsupportedMediaType"),
    ("", b"{}", 415, "UnsupportedMediaType"),
]


@pytest.mark.parametrize(("kind", "body", "code", "reason"), PATCHES)
async def test_patches(api_with_map: Harness, kind: str, body: bytes, code: int, reason: str) -> None:
    answer = await api_with_map.request("PATCH", f"{MAPS}/a", body, content_type=kind)
    answer.refused(code, reason)
    assert (await api_with_map.get(f"{MAPS}/a"))["data"] == {"x": "1"}


async def test_a_json_patch_that_does_not_fit_is_refused_in_general_words(api_with_map: Harness) -> None:
    operations = [{"op": "test", "path": "/data/x", "value": "2"}]
    answer = await api_with_map.patch(f"{MAPS}/a", operations, JSON_PATCH)
    assert answer.refused(422, "Invalid") == "the server rejected our request due to an error in our request"
    assert answer["details"] == {}


async def test_options_of_writes(api_with_map: Harness) -> None:
    api = api_with_map
    assert "dryRun: Unsupported value" in (await api.create(f"{MAPS}?dryRun=Some", {})).refused(422, "Invalid")
    assert "fieldValidation: Unsupported value" in (
        await api.create(f"{MAPS}?fieldValidation=Loose", config_map("b"))
    ).refused(422, "Invalid")
    assert "fieldManager: Too long" in (await api.create(f"{MAPS}?fieldManager={'x' * 129}", config_map("b"))).refused(
        422, "Invalid"
    )
    assert "may not be specified for non-apply patch" in (await api.patch(f"{MAPS}/a?force=true", {})).refused(
        422, "Invalid"
    )


async def test_the_url_names_the_object(api_with_map: Harness) -> None:
    message = (await api_with_map.update(f"{MAPS}/a", config_map("b"))).refused(400, "BadRequest")
    assert message == "the name of the object (b) does not match the name on the URL (a)"


async def test_all_wrong_fields_are_named_at_once(api: Harness) -> None:
    body = pod("p", restartPolicy="Sometimes", containers=[{"name": "C!", "image": ""}, {"name": "d"}])
    answer = await api.create(PODS, body)
    answer.refused(422, "Invalid")
    fields = {cause["field"] for cause in answer["details"]["causes"]}
    assert {
        "spec.restartPolicy",
        "spec.containers[0].name",
        "spec.containers[0].image",
        "spec.containers[1].image",
    } <= fields
    assert answer["details"] | {"causes": []} == {"name": "p", "kind": "Pod", "causes": []}


async def test_a_namespace_must_exist(api: Harness) -> None:
    message = (await api.create("/api/v1/namespaces/nowhere/configmaps", config_map("a"))).refused(404, "NotFound")
    assert message == 'namespaces "nowhere" not found'


async def test_a_bug_is_a_500_and_the_server_goes_on(
    api: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from controlplane.apiserver.registry.registry import Registry

    with monkeypatch.context() as patch:
        patch.setattr(Registry, "encode", lambda self, obj: 1 / 0)
        (await api.create(MAPS, config_map("a"))).refused(500, "InternalError")
    assert "ZeroDivisionError" in caplog.text
    assert (await api.create(MAPS, config_map("a"))).status == 201


async def test_too_many_requests_are_told_to_come_back(api: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    from controlplane.apiserver import front

    monkeypatch.setattr(front, "MAX_READING", 0)
    monkeypatch.setattr(front, "SUPERUSERS", "nobody")
    answer = await api.get(MAPS)
    answer.refused(429, "TooManyRequests")
    assert answer.headers["Retry-After"] == "1"


async def test_a_request_that_takes_too_long_is_a_timeout(api: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    async def never(*_: object, **__: object) -> int:
        await asyncio.sleep(60)
        raise AssertionError("unreachable")

    monkeypatch.setattr(api.server.store, "write", never)
    message = (await api.create(f"{MAPS}?timeout=20ms", config_map("a"))).refused(504, "Timeout")
    assert message.startswith("Timeout: request did not complete within requested timeout")
