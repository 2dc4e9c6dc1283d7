"""Evictions: pods go as far as their disruption budgets let them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.controlplane.apiserver.server_harness import Harness, pod

PODS = "/api/v1/namespaces/test/pods"
BUDGETS = "/apis/policy/v1/namespaces/test/poddisruptionbudgets"
EVICTION = {"metadata": {"name": "p"}}


async def test_an_eviction_asks_the_budget(api: Harness) -> None:
    await api.create(PODS, pod("p", nodeName="n1"))
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    (await api.patch(f"{PODS}/p/status", ready)).ok  # noqa: B018
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "test"}}}}
    (await api.create(BUDGETS, budget)).ok  # noqa: B018
    eviction = {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 1}}
    answer = await api.create(f"{PODS}/p/eviction", eviction)
    answer.refused(429, "TooManyRequests")
    assert answer["details"]["causes"][0]["reason"] == "DisruptionBudget"
    status = {"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0}}
    (await api.patch(f"{BUDGETS}/b/status", status)).ok  # noqa: B018
    assert (await api.create(f"{PODS}/p/eviction", eviction)).status == 201
    evicted = (await api.get(f"{PODS}/p")).ok
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 1
    told = {one["type"]: one for one in evicted["status"]["conditions"]}["DisruptionTarget"]
    assert (told["status"], told["observedGeneration"]) == ("True", 1)
    assert (told["reason"], told["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")
    spent = (await api.get(f"{BUDGETS}/b")).ok["status"]
    assert spent["disruptionsAllowed"] == 0
    assert list(spent["disruptedPods"]) == ["p"]
    (condition,) = spent["conditions"]
    assert (condition["type"], condition["status"]) == ("DisruptionAllowed", "False")
    assert (condition["reason"], condition["observedGeneration"]) == ("InsufficientPods", 1)


async def covered(api: Harness, ready: str, budget: dict[str, Any], status: dict[str, Any]) -> None:
    """A running pod p, ready or not, and a budget b that covers it, as its controller left it."""
    await api.create(PODS, pod("p", nodeName="n1"))
    conditions = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}}
    (await api.patch(f"{PODS}/p/status", conditions)).ok  # noqa: B018
    spec = {"selector": {"matchLabels": {"app": "test"}}, **budget}
    (await api.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})).ok  # noqa: B018
    (await api.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1, **status}})).ok  # noqa: B018


async def test_a_pod_that_is_not_ready_may_go_while_the_others_suffice(api: Harness) -> None:
    await covered(api, "False", {"minAvailable": 1}, {"currentHealthy": 0, "desiredHealthy": 1})
    (await api.create(f"{PODS}/p/eviction", EVICTION)).refused(429, "TooManyRequests")
    (await api.patch(f"{BUDGETS}/b/status", {"status": {"currentHealthy": 1}})).ok  # noqa: B018
    assert (await api.create(f"{PODS}/p/eviction", EVICTION)).status == 201
    assert "disruptedPods" not in (await api.get(f"{BUDGETS}/b")).ok["status"]


async def test_a_pod_that_is_not_ready_may_always_go_where_the_budget_says_so(api: Harness) -> None:
    policy = {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    await covered(api, "False", policy, {"currentHealthy": 0, "desiredHealthy": 1})
    older = {**EVICTION, "deleteOptions": {"preconditions": {"resourceVersion": "1"}}}
    (await api.create(f"{PODS}/p/eviction", older)).refused(409, "Conflict")
    assert (await api.create(f"{PODS}/p/eviction", EVICTION)).status == 201


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (
            {"currentHealthy": 1, "desiredHealthy": 1},
            429,
            "The disruption budget b needs 1 healthy pods and has 1 currently",
        ),
        (
            {"currentHealthy": 2, "desiredHealthy": 1},
            429,
            "The disruption budget b does not allow evicting pods currently",
        ),
        (
            {
                "conditions": [
                    {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "lost"}
                ]
            },
            429,
            "The disruption budget b does not allow evicting pods currently because it failed sync: lost",
        ),
        (
            {"disruptionsAllowed": 1, "disruptedPods": {f"p{n}": "2024-01-01T00:00:00Z" for n in range(2001)}},
            403,
            'poddisruptionbudget.policy "b" is forbidden: DisruptedPods map too big - too many evictions not confirmed '
            "by PDB controller",
        ),
    ],
)
async def test_a_budget_says_why_not(api: Harness, status: dict[str, Any], code: int, words: str) -> None:
    await covered(api, "True", {"minAvailable": 1}, status)
    answer = await api.create(f"{PODS}/p/eviction", EVICTION)
    assert answer.status == code
    causes = answer["details"].get("causes", [{"message": answer["message"]}])
    assert [cause["message"] for cause in causes] == [words]


async def test_two_budgets_of_one_pod_cannot_be_sorted_out(api: Harness) -> None:
    await covered(api, "True", {"minAvailable": 0}, {"disruptionsAllowed": 1})
    other = {"metadata": {"name": "c"}, "spec": {"selector": {"matchLabels": {"app": "test"}}, "maxUnavailable": 1}}
    (await api.create(BUDGETS, other)).ok  # noqa: B018
    answer = await api.create(f"{PODS}/p/eviction", EVICTION)
    assert answer.status == 500
    assert answer["message"] == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
    assert "details" not in answer.json
