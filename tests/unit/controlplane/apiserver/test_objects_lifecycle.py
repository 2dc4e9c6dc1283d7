"""Create, get, update and patch, as clients see them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from controlplane.apiserver.config import ServerConfig
from controlplane.store.memory import MemoryStore
from tests.unit.controlplane.apiserver.server_harness import (
    JSON_PATCH,
    STRATEGIC,
    Harness,
    config_map,
    pod,
    start,
)

MAPS = "/api/v1/namespaces/test/configmaps"
PODS = "/api/v1/namespaces/test/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/test/deployments"
OTHER_CLAIM = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "other"}
PICTURE = {"apiGroup": "pictures.io", "kind": "Picture", "name": "mine"}


def deployment(name: str, **spec: object) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": template, **spec},
    }


async def test_a_new_object_gets_what_only_the_server_can_say(api: Harness) -> None:
    made = await api.create(
        MAPS, {"metadata": {"name": "a", "uid": "mine", "creationTimestamp": "1999-01-01T00:00:00Z"}}
    )
    assert made.status == 201
    metadata = made["metadata"]
    assert made["kind"], made["apiVersion"] == ("ConfigMap", "v1")
    assert re.fullmatch(r"[0-9a-f-]{36}", metadata["uid"])
    assert metadata["creationTimestamp"] != "1999-01-01T00:00:00Z"
    assert metadata["namespace"] == "test"
    assert int(metadata["resourceVersion"]) > 1
    assert (await api.get(f"{MAPS}/a")).body == made.body


async def test_a_name_is_generated(api: Harness) -> None:
    made = (await api.create(MAPS, {"metadata": {"generateName": "job-"}})).ok
    assert re.fullmatch(r"job-[bcdfghjklmnpqrstvwxz2456789]{5}", made["metadata"]["name"])


async def test_a_generated_name_that_is_taken_is_tried_again(api: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["x-aaaaa", "x-aaaaa", "x-bbbbb"])
    from controlplane.apiserver.verbs.environment import Environment

    monkeypatch.setattr(Environment, "generate_name", lambda self, base: next(names))
    assert (await api.create(MAPS, {"metadata": {"generateName": "x-"}}))["metadata"]["name"] == "x-aaaaa"
    assert (await api.create(MAPS, {"metadata": {"generateName": "x-"}}))["metadata"]["name"] == "x-bbbbb"


async def test_status_is_not_the_creators_to_say(api: Harness) -> None:
    body = pod("p") | {"status": {"phase": "Running", "podIP": "10.0.0.1"}}
    made = (await api.create(PODS, body)).ok
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


async def test_a_volume_says_since_when_it_is_in_its_phase(api: Harness) -> None:
    source = {"hostPath": {"path": "/srv"}, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    volumes = "/api/v1/persistentvolumes"
    made = (await api.create(volumes, {"metadata": {"name": "v"}, "spec": source})).ok["status"]
    assert made["phase"] == "Pending"
    began = made["lastPhaseTransitionTime"]

    async def report(**status: str) -> Any:
        await api.clock.advance(60)
        return (await api.patch(f"{volumes}/v/status", {"status": status})).ok["status"]

    assert (await report(message="looked at"))["lastPhaseTransitionTime"] == began
    available = await report(phase="Available")
    assert available["lastPhaseTransitionTime"] > began
    told = await report(phase="Bound", lastPhaseTransitionTime="2001-01-01T00:00:00Z")
    assert told["lastPhaseTransitionTime"] == "2001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"dataSource": OTHER_CLAIM}, {"dataSource": OTHER_CLAIM, "dataSourceRef": OTHER_CLAIM}),
        ({"dataSourceRef": PICTURE}, {"dataSource": PICTURE, "dataSourceRef": PICTURE}),
        ({"dataSource": PICTURE}, {"dataSource": None, "dataSourceRef": None}),
        ({"dataSourceRef": OTHER_CLAIM | {"namespace": "other"}}, {"dataSource": None, "dataSourceRef": None}),
    ],
)
async def test_what_fills_a_claim_is_said_in_both_fields(
    api: Harness, said: dict[str, Any], kept: dict[str, Any]
) -> None:
    claims = "/api/v1/namespaces/test/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = (await api.create(claims, {"metadata": {"name": "c"}, "spec": spec | said})).ok.json
    assert {name: made["spec"].get(name) for name in kept} == kept
    changed = made | {
        "metadata": made["metadata"] | {"labels": {"a": "b"}},
        "spec": spec | said | {"volumeMode": "Filesystem"},
    }
    assert (await api.update(f"{claims}/c", changed)).ok["spec"] == made["spec"]


async def test_a_node_reports_its_status_along(api: Harness) -> None:
    body = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    assert (await api.create("/api/v1/nodes", body))["status"]["capacity"] == {"cpu": "4"}


async def test_update_replaces_and_takes_the_next_version(api: Harness) -> None:
    made = (await api.create(MAPS, config_map("a", x="1"))).json
    made["data"] = {"y": "2"}
    changed = (await api.update(f"{MAPS}/a", made)).ok
    assert changed["data"] == {"y": "2"}
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]


async def test_update_without_a_version_overwrites(api: Harness) -> None:
    await api.create(MAPS, config_map("a", x="1"))
    assert (await api.update(f"{MAPS}/a", config_map("a", x="2"))).ok["data"] == {"x": "2"}


async def test_update_from_an_old_version_is_a_conflict(api: Harness) -> None:
    made = (await api.create(MAPS, config_map("a", x="1"))).json
    await api.patch(f"{MAPS}/a", {"data": {"x": "2"}})
    message = (await api.update(f"{MAPS}/a", made)).refused(409, "Conflict")
    assert message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_update_of_another_uid_is_a_conflict(api: Harness) -> None:
    await api.create(MAPS, config_map("a"))
    body = config_map("a")
    body["metadata"]["uid"] = "other"
    assert "Precondition failed: UID" in (await api.update(f"{MAPS}/a", body)).refused(409, "Conflict")


async def test_some_kinds_demand_a_version(api: Harness) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/test/leases"
    await api.create(leases, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 1}})
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 1}}
    message = (await api.update(f"{leases}/l", body)).refused(422, "Invalid")
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in message


async def test_a_lease_can_be_made_by_update(api: Harness) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/test/leases"
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 1}}
    assert (await api.update(f"{leases}/l", body)).status == 201
    assert (await api.update(f"{MAPS}/nope", config_map("nope"))).refused(404, "NotFound")


async def test_a_change_that_changes_nothing_is_not_written(api: Harness) -> None:
    made = (await api.create(MAPS, config_map("a", x="1"))).ok
    again = (await api.update(f"{MAPS}/a", config_map("a", x="1"))).ok
    patched = (await api.patch(f"{MAPS}/a", {"data": {"x": "1"}})).ok
    assert made.body == again.body == patched.body


async def test_the_spec_counts_generations_and_the_status_does_not(api: Harness) -> None:
    made = (await api.create(DEPLOYMENTS, deployment("d"))).ok
    assert made["metadata"]["generation"] == 1
    scaled = (await api.patch(f"{DEPLOYMENTS}/d", {"spec": {"replicas": 3}})).ok
    assert scaled["metadata"]["generation"] == 2
    labelled = (await api.patch(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"a": "b"}}})).ok
    assert labelled["metadata"]["generation"] == 2
    reported = (await api.patch(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 3}})).ok
    assert (reported["metadata"]["generation"], reported["status"]["replicas"]) == (2, 3)


async def test_each_endpoint_writes_its_half(api: Harness) -> None:
    await api.create(DEPLOYMENTS, deployment("d"))
    both = {"spec": {"replicas": 7}, "status": {"replicas": 7}}
    assert "replicas" not in (await api.patch(f"{DEPLOYMENTS}/d", both)).ok["status"]
    both = {"spec": {"replicas": 9}, "status": {"replicas": 9}}
    changed = (await api.patch(f"{DEPLOYMENTS}/d/status", both)).ok
    assert (changed["spec"]["replicas"], changed["status"]["replicas"]) == (7, 9)


async def test_the_status_endpoint_leaves_metadata_that_is_not_its_own(api: Harness) -> None:
    marks = {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}
    await api.create(DEPLOYMENTS, deployment("d"))
    metadata = (await api.patch(f"{DEPLOYMENTS}/d/status", marks)).ok["metadata"]
    assert (metadata.get("labels"), metadata["annotations"]) == (None, {"a": "b"})
    levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    spec = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    await api.create(levels, {"metadata": {"name": "l"}, "spec": spec})
    status = {"conditions": [{"type": "Seen", "status": "True"}]}
    changed = (await api.patch(f"{levels}/l/status", {**marks, "status": status})).ok
    assert changed["status"]["conditions"][0]["type"] == "Seen"
    assert not changed["metadata"].keys() & {"labels", "annotations"}


async def test_the_three_patch_formats(api: Harness) -> None:
    made = (await api.create(DEPLOYMENTS, deployment("d"))).ok
    containers = [{"name": "second", "image": "y"}]
    strategic = {"spec": {"template": {"spec": {"containers": containers}}}}
    merged = (await api.patch(f"{DEPLOYMENTS}/d", strategic, STRATEGIC)).ok
    assert [c["name"] for c in merged["spec"]["template"]["spec"]["containers"]] == ["second", "c"]
    replaced = (await api.patch(f"{DEPLOYMENTS}/d", strategic)).ok
    assert [c["name"] for c in replaced["spec"]["template"]["spec"]["containers"]] == ["second"]
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 5}]
    assert (await api.patch(f"{DEPLOYMENTS}/d", operations, JSON_PATCH)).ok["spec"]["replicas"] == 5
    assert made["spec"]["replicas"] == 1


async def test_a_json_patch_whose_test_fails_changes_nothing(api: Harness) -> None:
    before = (await api.create(MAPS, config_map("a", x="1"))).ok
    operations = [{"op": "test", "path": "/data/x", "value": "2"}, {"op": "remove", "path": "/data/x"}]
    (await api.patch(f"{MAPS}/a", operations, JSON_PATCH)).refused(422, "Invalid")
    assert (await api.get(f"{MAPS}/a")).body == before.body


class Slow(MemoryStore):
    """Takes a turn of the loop for each write, as a disk would."""

    async def write(self, key: str, value: bytes | None, *, expect: int | None) -> int:
        await asyncio.sleep(0)
        return await super().write(key, value, expect=expect)


async def test_patches_of_many_clients_all_count(config: ServerConfig) -> None:
    api = await start(config, Slow())
    await api.create("/api/v1/namespaces", {"metadata": {"name": "test"}})
    await api.create(MAPS, config_map("a"))
    answers = await asyncio.gather(*(api.patch(f"{MAPS}/a", {"data": {f"k{i}": "v"}}) for i in range(40)))
    assert {answer.status for answer in answers} == {200}
    assert len((await api.get(f"{MAPS}/a"))["data"]) == 40


class Interfering(MemoryStore):
    """Somebody else writes the same object right before the next conditional write."""

    armed = False

    async def write(self, key: str, value: bytes | None, *, expect: int | None = None) -> int:
        if self.armed and expect:
            self.armed = False
            record = await self.get(key)
            assert record is not None
            await super().write(key, record.value, expect=None)
        return await super().write(key, value, expect=expect)


async def test_a_patch_that_meets_another_write_is_tried_again(config: ServerConfig) -> None:
    store = Interfering()
    api = await start(config, store)
    await api.create("/api/v1/namespaces", {"metadata": {"name": "test"}})
    made = await api.create(MAPS, config_map("a", x="1"))
    store.armed = True
    patched = (await api.patch(f"{MAPS}/a", {"data": {"y": "2"}})).ok
    assert patched["data"] == {"x": "1", "y": "2"}
    store.armed = True
    insisting = {"metadata": {"resourceVersion": patched["metadata"]["resourceVersion"]}, "data": {"z": "3"}}
    (await api.patch(f"{MAPS}/a", insisting)).refused(409, "Conflict")
    assert made["metadata"]["uid"] == patched["metadata"]["uid"]
    api.server.close_watches()


async def test_dry_run_answers_and_does_nothing(api: Harness) -> None:
    assert (await api.create(f"{MAPS}?dryRun=All", config_map("a", x="1"))).status == 201
    (await api.get(f"{MAPS}/a")).refused(404, "NotFound")
    made = (await api.create(MAPS, config_map("a", x="1"))).ok
    (await api.create(f"{MAPS}?dryRun=All", config_map("a"))).refused(409, "AlreadyExists")
    patched = (await api.patch(f"{MAPS}/a?dryRun=All", {"data": {"x": "2"}})).ok
    assert patched["data"] == {"x": "2"}
    assert patched["metadata"] == made["metadata"]
    assert (await api.delete(f"{MAPS}/a?dryRun=All")).status == 200
    assert (await api.get(f"{MAPS}/a")).body == made.body


@pytest.mark.parametrize(("mode", "status", "warnings"), [("Ignore", 201, 0), ("Warn", 201, 1), ("Strict", 400, 0)])
async def test_unknown_fields_are_reported_as_asked(api: Harness, mode: str, status: int, warnings: int) -> None:
    body = config_map("a") | {"dta": {"x": "1"}}
    answer = await api.create(f"{MAPS}?fieldValidation={mode}", body)
    assert (answer.status, len(answer.warnings)) == (status, warnings)
    if mode == "Warn":
        assert answer.warnings == ['unknown field "dta"']
    if mode == "Strict":
        assert answer["message"] == (
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"'
        )


async def test_what_is_unwise_is_warned_of_when_it_is_written(api: Harness) -> None:
    selector = {"spec": {"template": {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}}}}
    warning = (
        'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'
    )
    assert (await api.create(DEPLOYMENTS, deployment("d"))).warnings == []
    assert (await api.patch(f"{DEPLOYMENTS}/d", selector)).warnings == [warning]
    assert (await api.patch(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"a": "b"}}})).warnings == []
    assert (await api.patch(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 1}})).warnings == []
    body = deployment("e")
    body["spec"]["template"]["spec"] |= selector["spec"]["template"]["spec"]
    assert (await api.create(f"{DEPLOYMENTS}?dryRun=All", body)).warnings == [warning]
    body["spec"]["replicas"] = -1
    assert (await api.create(DEPLOYMENTS, body)).warnings == []


async def test_repeated_keys_of_yaml_are_reported_by_line(api: Harness) -> None:
    body = b"kind: ConfigMap\nmetadata:\n  name: a\nzz: 1\ndata:\n  x: '1'\n  x: '2'\ndta: 1\ndata:\n  x: '3'\n"
    strict = await api.request("POST", f"{MAPS}?fieldValidation=Strict", body, content_type="application/yaml")
    assert (strict.status, strict["message"]) == (
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n'
        '  line 7: key "x" already set in map\n  line 10: key "data" already set in map, '
        'unknown field "dta", unknown field "zz"',
    )
    warned = await api.request("POST", MAPS, body, content_type="application/yaml")
    assert (warned.status, warned["data"]) == (201, {"x": "3"})
    assert warned.warnings == [
        'line 7: key "x" already set in map',
        'line 10: key "data" already set in map',
        'unknown field "dta"',
        'unknown field "zz"',
    ]


@pytest.mark.parametrize(
    ("form", "body", "objections"),
    [
        ("merge", b'{"data":{"x":"1","x":"2"},"zz":1}', ['duplicate field "data.x"', 'unknown field "zz"']),
        ("strategic-merge", b'{"data":{"x":"1"},"data":{"x":"2"}}', ['duplicate field "data"']),
        (
            "json",
            b'[{"op":"add","op":"add","path":"/data","value":{"x":"2"},"foo":1}]',
            ['json patch duplicate field "[0].op"', 'json patch unknown field "[0].foo"'],
        ),
    ],
)
async def test_patches_are_held_to_field_validation(
    api: Harness, form: str, body: bytes, objections: list[str]
) -> None:
    await api.create(MAPS, config_map("a"))
    content_type = f"application/{form}-patch+json"
    strict = await api.request("PATCH", f"{MAPS}/a?fieldValidation=Strict", body, content_type=content_type)
    strict.refused(422, "Invalid")
    assert strict["message"].endswith(f": strict decoding error: {', '.join(objections)}")
    ignored = await api.request("PATCH", f"{MAPS}/a?fieldValidation=Ignore", body, content_type=content_type)
    assert (ignored.ok["data"], ignored.warnings) == ({"x": "2"}, [])
    warned = await api.request("PATCH", f"{MAPS}/a", body, content_type=content_type)
    assert (warned.ok["data"], warned.warnings) == ({"x": "2"}, objections)


async def test_what_is_answered_only_has_no_table(api: Harness) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    (await api.request("POST", path, review, headers=headers)).refused(406, "NotAcceptable")
    headers["Accept"] += ",application/json"
    assert (await api.request("POST", path, review, headers=headers))["kind"] == "SelfSubjectAccessReview"


async def test_yaml_in_and_out(api: Harness) -> None:
    body = b'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  when: 2024-01-01\n  x: "1"\n'
    answer = await api.request(
        "POST", MAPS, body, content_type="application/yaml", headers={"Accept": "application/yaml"}
    )
    assert answer.status == 201, answer.body
    assert answer.headers["Content-Type"] == "application/yaml"
    assert b"when: '2024-01-01'" in answer.body or b"when: 2024-01-01" in answer.body


async def test_metadata_only(api: Harness) -> None:
    await api.create(MAPS, config_map("a", x="1"))
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    one = (await api.get(f"{MAPS}/a", Accept=accept)).ok
    assert (one["kind"], one["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert one["metadata"]["name"] == "a"
    assert "data" not in one.json
    many = (await api.get(MAPS, Accept=accept.replace("Metadata;", "MetadataList;"))).ok
    assert [item["metadata"]["name"] for item in many["items"]] == ["a"]


async def test_tables(api: Harness) -> None:
    await api.create(PODS, pod("p"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = (await api.get(PODS, Accept=accept)).ok
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
    assert table["rows"][0]["cells"][:3] == ["p", "0/1", "Pending"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    single = (await api.get(f"{PODS}/p?includeObject=None", Accept=accept)).ok
    assert len(single["rows"]) == 1
    assert not single["rows"][0].get("object")


async def test_indented_for_people(api: Harness) -> None:
    await api.create(MAPS, config_map("a"))
    assert b"\n" not in (await api.get(f"{MAPS}/a")).body
    assert b'\n  "kind"' in (await api.get(f"{MAPS}/a?pretty=true")).body
    assert b'\n  "kind"' in (await api.get(f"{MAPS}/a", User_Agent="curl/8")).body
    assert b"\n" not in (await api.get(f"{MAPS}/a?pretty=false", User_Agent="curl/8")).body


async def test_what_is_deleted_already_can_not_be_made_again(api: Harness) -> None:
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await api.create(MAPS, body)
    await api.delete(f"{MAPS}/a")
    message = (await api.create(MAPS, config_map("a"))).refused(409, "AlreadyExists")
    assert message == 'object is being deleted: configmaps "a" already exists'
