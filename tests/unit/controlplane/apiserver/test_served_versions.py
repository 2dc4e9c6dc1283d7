"""Kinds that are served in another version than they are stored in: events of two groups, older autoscalers."""

from __future__ import annotations

import json

from tests.unit.controlplane.apiserver.server_harness import Harness

CORE = "/api/v1/namespaces/test/events"
NEWER = "/apis/events.k8s.io/v1/namespaces/test/events"
REFERENCE = {"kind": "Pod", "name": "p", "namespace": "test"}


async def test_an_event_is_one_object_in_both_groups(api: Harness) -> None:
    body = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-1",
        "action": "Bind",
        "reason": "Scheduled",
        "type": "Normal",
        "regarding": REFERENCE,
        "note": "said so",
    }
    made = (await api.create(NEWER, body)).ok
    assert (made["apiVersion"], made["note"], made["regarding"]) == ("events.k8s.io/v1", "said so", REFERENCE)
    older = (await api.get(f"{CORE}/e")).ok
    assert (older["apiVersion"], older["message"], older["involvedObject"]) == ("v1", "said so", REFERENCE)
    assert older["reportingComponent"] == "example.com/c"
    assert older["metadata"] == made["metadata"]
    changed = (
        await api.patch(f"{NEWER}/e", {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}})
    ).ok
    assert (await api.get(f"{CORE}/e")).ok["series"]["count"] == 2
    assert (await api.get(f"{NEWER}/e")).ok.body == changed.body
    assert (await api.delete(f"{NEWER}/e")).ok["status"] == "Success"
    (await api.get(f"{CORE}/e")).refused(404, "NotFound")


async def test_an_event_may_be_made_by_a_put_in_either_group(api: Harness) -> None:
    event = {"metadata": {"name": "p"}, "eventTime": "2024-01-01T00:00:00.000000Z", "type": "Normal", "reason": "r"}
    event |= {"reportingController": "c", "reportingInstance": "i", "action": "a", "regarding": REFERENCE}
    assert (await api.update(f"{NEWER}/p", event)).status == 201
    assert (await api.get(f"{CORE}/p")).ok["reason"] == "r"


async def test_both_groups_list_and_watch_the_same_events(api: Harness) -> None:
    since = (await api.get(NEWER)).ok["metadata"]["resourceVersion"]
    watching = await api.watch(f"{NEWER}?watch=1&resourceVersion={since}&fieldSelector=regarding.name%3Dp")
    for name, about in (("a", "p"), ("b", "q")):
        event = {
            "metadata": {"name": name},
            "involvedObject": REFERENCE | {"name": about},
            "reason": "R",
            "type": "Normal",
        }
        (await api.create(CORE, event)).ok  # noqa: B018
    (seen,) = await watching.events(1)
    assert (seen["type"], seen["object"]["kind"], seen["object"]["regarding"]["name"]) == ("ADDED", "Event", "p")
    listed = (await api.get(NEWER)).ok
    assert (listed["kind"], listed["apiVersion"]) == ("EventList", "events.k8s.io/v1")
    assert [item["regarding"]["name"] for item in listed["items"]] == ["p", "q"]
    chosen = (await api.get(f"{NEWER}?fieldSelector=regarding.name%3Dq")).ok["items"]
    assert [item["metadata"]["name"] for item in chosen] == ["b"]
    await watching.stop()


async def test_an_older_autoscaler_keeps_the_metrics_it_cannot_say(api: Harness) -> None:
    newer, older = (f"/apis/autoscaling/{version}/namespaces/test/horizontalpodautoscalers" for version in ("v2", "v1"))
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    }
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, "metrics": [memory, cpu]}
    (await api.create(newer, {"metadata": {"name": "h"}, "spec": spec})).ok  # noqa: B018
    seen = (await api.get(f"{older}/h")).ok
    assert seen["spec"] == {
        "scaleTargetRef": target,
        "minReplicas": 2,
        "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 70,
    }
    kept = seen["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]
    assert json.loads(kept) == [memory]
    (await api.patch(f"{older}/h", {"spec": {"targetCPUUtilizationPercentage": 50}})).ok  # noqa: B018
    metrics = (await api.get(f"{newer}/h")).ok["spec"]["metrics"]
    assert metrics[0] == memory
    assert metrics[1]["resource"]["target"]["averageUtilization"] == 50
    assert "annotations" not in (await api.get(f"{newer}/h")).ok["metadata"]


async def test_an_older_autoscaler_without_a_metric_has_the_default_one(api: Harness) -> None:
    newer, older = (f"/apis/autoscaling/{version}/namespaces/test/horizontalpodautoscalers" for version in ("v2", "v1"))
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    made = (
        await api.create(older, {"metadata": {"name": "h"}, "spec": {"scaleTargetRef": target, "maxReplicas": 5}})
    ).ok
    assert made["spec"]["targetCPUUtilizationPercentage"] == 80
    metrics = (await api.get(f"{newer}/h")).ok["spec"]["metrics"]
    assert [metric["resource"]["target"]["averageUtilization"] for metric in metrics] == [80]
