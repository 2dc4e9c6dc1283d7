"""Ends: at once, in two steps, held up by finalizers, in bulk; and those of namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.controlplane.apiserver.server_harness import Harness, config_map, pod

MAPS = "/api/v1/namespaces/test/configmaps"
PODS = "/api/v1/namespaces/test/pods"


async def bound_pod(api: Harness, name: str, **spec: object) -> dict[str, Any]:
    made: dict[str, Any] = (await api.create(PODS, pod(name, nodeName="n1", **spec))).ok.json
    return made


async def test_deleting_answers_with_a_status_that_names_what_is_gone(api: Harness) -> None:
    made = (await api.create(MAPS, config_map("a"))).ok
    answer = (await api.delete(f"{MAPS}/a")).ok
    assert answer.json == {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    (await api.get(f"{MAPS}/a")).refused(404, "NotFound")
    assert (await api.delete(f"{MAPS}/a")).refused(404, "NotFound") == 'configmaps "a" not found'


async def test_a_pod_nobody_runs_goes_at_once(api: Harness) -> None:
    await api.create(PODS, pod("p"))
    gone = (await api.delete(f"{PODS}/p")).ok
    assert (gone["kind"], gone["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    (await api.get(f"{PODS}/p")).refused(404, "NotFound")


async def test_a_bound_pod_is_given_its_grace_period(api: Harness) -> None:
    await bound_pod(api, "p", terminationGracePeriodSeconds=42)
    marked = (await api.delete(f"{PODS}/p")).ok
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 42
    assert marked["metadata"]["generation"] == 2
    stored = (await api.get(f"{PODS}/p")).ok
    assert stored["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]
    # The kubelet's last word.
    assert (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})).ok
    (await api.get(f"{PODS}/p")).refused(404, "NotFound")


async def test_a_grace_period_can_be_shortened_but_not_prolonged(api: Harness) -> None:
    await bound_pod(api, "p")
    first = (await api.delete(f"{PODS}/p?gracePeriodSeconds=30")).ok
    longer = (await api.delete(f"{PODS}/p?gracePeriodSeconds=60")).ok
    assert longer.body == first.body
    again = (await api.delete(f"{PODS}/p")).ok
    assert again.body == first.body
    shorter = (await api.delete(f"{PODS}/p?gracePeriodSeconds=5")).ok
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    assert shorter["metadata"]["deletionTimestamp"] < first["metadata"]["deletionTimestamp"]


async def test_a_pod_that_is_over_goes_at_once(api: Harness) -> None:
    await bound_pod(api, "p")
    await api.patch(f"{PODS}/p/status", {"status": {"phase": "Succeeded"}})
    await api.delete(f"{PODS}/p")
    (await api.get(f"{PODS}/p")).refused(404, "NotFound")


async def test_a_negative_grace_period_is_one_second(api: Harness) -> None:
    await bound_pod(api, "p")
    assert (await api.delete(f"{PODS}/p?gracePeriodSeconds=-5")).ok["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_a_pod_whose_own_grace_period_is_negative_has_one_of_a_second(api: Harness) -> None:
    pod = await bound_pod(api, "p", terminationGracePeriodSeconds=-1)
    assert pod["spec"]["terminationGracePeriodSeconds"] == 1
    pod["spec"]["terminationGracePeriodSeconds"] = -1
    updated = (await api.update(f"{PODS}/p", pod)).ok
    assert (updated["spec"], updated["metadata"]["generation"]) == (
        pod["spec"] | {"terminationGracePeriodSeconds": 1},
        1,
    )
    assert (await api.delete(f"{PODS}/p")).ok["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_finalizers_hold_an_object_until_the_last_is_taken(api: Harness) -> None:
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/one", "example.com/two"]
    await api.create(MAPS, body)
    marked = (await api.delete(f"{MAPS}/a")).ok
    assert marked["metadata"]["deletionTimestamp"]
    (await api.patch(f"{MAPS}/a", {"metadata": {"finalizers": ["example.com/two"]}})).ok  # noqa: B018
    assert (await api.get(f"{MAPS}/a")).status == 200
    (await api.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})).ok  # noqa: B018
    (await api.get(f"{MAPS}/a")).refused(404, "NotFound")


async def test_deleting_again_what_its_finalizers_hold_changes_nothing(api: Harness) -> None:
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/one"]
    await api.create(MAPS, body)
    marked = (await api.delete(f"{MAPS}/a")).ok
    assert (await api.delete(f"{MAPS}/a")).ok.body == marked.body
    held = await bound_pod(api, "p")
    await api.patch(f"{PODS}/p", {"metadata": {"finalizers": ["example.com/one"]}})
    ending = (await api.delete(f"{PODS}/p")).ok
    ended = (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})).ok
    versions = [one["metadata"]["resourceVersion"] for one in (held, ending, ended)]
    assert len(set(versions)) == 3
    assert (await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})).ok.body == ended.body


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion"), ("Background", "")]
)
async def test_propagation_becomes_a_finalizer(api: Harness, policy: str, finalizer: str) -> None:
    await api.create(MAPS, config_map("a"))
    answer = (await api.delete(f"{MAPS}/a", {"propagationPolicy": policy})).ok
    if finalizer:
        assert answer["metadata"]["finalizers"] == [finalizer]
        assert (await api.get(f"{MAPS}/a")).status == 200
    else:
        assert answer["status"] == "Success"


async def test_jobs_orphan_their_pods_unless_told_otherwise(api: Harness) -> None:
    jobs = "/apis/batch/v1/namespaces/test/jobs"
    template = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}
    (await api.create(jobs, {"metadata": {"name": "j"}, "spec": {"template": template}})).ok  # noqa: B018
    assert (await api.delete(f"{jobs}/j")).ok["metadata"]["finalizers"] == ["orphan"]


async def test_preconditions_name_the_object_meant(api: Harness) -> None:
    made = (await api.create(MAPS, config_map("a"))).ok["metadata"]
    wrong = (await api.delete(f"{MAPS}/a", {"preconditions": {"uid": "other"}})).refused(409, "Conflict")
    assert f"the UID in the precondition (other) does not match the UID in record ({made['uid']})" in wrong
    await api.patch(f"{MAPS}/a", {"data": {"x": "1"}})
    old = {"preconditions": {"resourceVersion": made["resourceVersion"]}}
    assert "ResourceVersion in the precondition" in (await api.delete(f"{MAPS}/a", old)).refused(409, "Conflict")
    assert (await api.delete(f"{MAPS}/a", {"preconditions": {"uid": made["uid"]}})).status == 200


async def test_a_collection_is_deleted_by_selector(api: Harness) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        body = config_map(name)
        body["metadata"]["labels"] = {"app": app}
        await api.create(MAPS, body)
    answer = (await api.delete(f"{MAPS}?labelSelector=app%3Dx")).ok
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "b"]
    left = (await api.get(MAPS)).ok
    assert [item["metadata"]["name"] for item in left["items"]] == ["c"]


async def test_a_namespace_ends_in_two_requests(api: Harness) -> None:
    made = (await api.create("/api/v1/namespaces", {"metadata": {"name": "gone"}})).ok
    assert (made["spec"]["finalizers"], made["status"]["phase"]) == (["kubernetes"], "Active")
    marked = (await api.delete("/api/v1/namespaces/gone")).ok
    assert marked["status"]["phase"] == "Terminating"
    message = (await api.create("/api/v1/namespaces/gone/configmaps", config_map("a"))).refused(403, "Forbidden")
    assert message.endswith("unable to create new content in namespace gone because it is being terminated")
    assert (await api.delete("/api/v1/namespaces/gone")).ok["status"]["phase"] == "Terminating"
    finalized = marked.json
    finalized["spec"] = {}
    finalized["metadata"].pop("resourceVersion")
    (await api.update("/api/v1/namespaces/gone/finalize", finalized)).ok  # noqa: B018
    (await api.get("/api/v1/namespaces/gone")).refused(404, "NotFound")


async def test_updating_a_namespace_leaves_its_finalizers_and_phase(api: Harness) -> None:
    body = {"metadata": {"name": "test", "labels": {"a": "b"}}, "spec": {"finalizers": []}, "status": {"phase": "x"}}
    changed = (await api.update("/api/v1/namespaces/test", body)).ok
    assert (changed["spec"]["finalizers"], changed["status"]["phase"]) == (["kubernetes"], "Active")
    assert changed["metadata"]["labels"]["a"] == "b"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(api: Harness, name: str) -> None:
    (await api.delete(f"/api/v1/namespaces/{name}")).refused(403, "Forbidden")


async def test_options_that_contradict_are_refused(api: Harness) -> None:
    await api.create(MAPS, config_map("a"))
    both = {"orphanDependents": True, "propagationPolicy": "Orphan"}
    assert "cannot be both set" in (await api.delete(f"{MAPS}/a", both)).refused(422, "Invalid")
    assert "Unsupported value" in (await api.delete(f"{MAPS}/a?propagationPolicy=Sideways")).refused(422, "Invalid")
    assert "dryRun" in (await api.delete(f"{MAPS}/a", {"dryRun": ["Some"]})).refused(422, "Invalid")
