"""The replica set controller against the API double: what is on the server in the end is what counts."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import apps_v1 as apps
from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.owners import controller_of
from api.pods import get_condition, is_active
from client.clock import FakeClock
from client.fake import Call, FakeApiServer
from tests.unit.controlplane.controllers.small_cluster import (
    Kubelet,
    controllers,
    events,
    pods,
    replica_set,
    report,
)


def _status(server: FakeApiServer) -> apps.ReplicaSetStatus:
    return server.get(apps.ReplicaSet, "web", "default").status


def _scale(server: FakeApiServer, replicas: int) -> None:
    live = server.get(apps.ReplicaSet, "web", "default")
    live.spec.replicas = replicas
    server.update(live)


async def test_pods_are_made_reported_and_removed(server: FakeApiServer) -> None:
    server.create(replica_set())
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(5)
        made = pods(server)
        assert len(made) == 3
        owner = server.get(apps.ReplicaSet, "web", "default")
        assert all(pod.metadata.name.startswith("web-") and len(pod.metadata.name) == 9 for pod in made)
        assert {(ref.uid, ref.block_owner_deletion) for pod in made if (ref := controller_of(pod))} == {
            (owner.metadata.uid, True)
        }
        status = _status(server)
        assert (status.replicas, status.fully_labeled_replicas, status.ready_replicas) == (3, 3, 3)
        assert (status.available_replicas, status.observed_generation, status.terminating_replicas) == (3, 1, 0)
        _scale(server, 1)
        await server.clock.sleep(5)
        assert len(pods(server)) == 1
        assert _status(server).replicas == 1
    told = events(server, "web")
    assert sorted(reason for reason, _ in told) == ["SuccessfulCreate"] * 3 + ["SuccessfulDelete"] * 2
    assert {message for _, message in told} >= {f"Created pod: {pod.metadata.name}" for pod in made}


async def test_a_pod_that_ends_or_goes_is_replaced(server: FakeApiServer) -> None:
    server.create(replica_set(replicas=2))
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(5)
        first, second = pods(server)
        server.delete(core.Pod, first.metadata.name, "default", grace_period=0)
        report(second, "Failed", False, server.clock.now())
        server.put(second)
        await server.clock.sleep(5)
        active = [pod for pod in pods(server) if is_active(pod)]
        assert len(active) == 2
        assert not {pod.metadata.uid for pod in active} & {first.metadata.uid, second.metadata.uid}


async def test_orphans_are_adopted_and_strangers_released(server: FakeApiServer) -> None:
    server.create(core.Pod(metadata=meta.ObjectMeta(name="orphan", namespace="default", labels={"app": "web"})))
    server.create(replica_set(replicas=1))
    async with controllers(server):
        await server.clock.sleep(1)
        (pod,) = pods(server)
        assert pod.metadata.name == "orphan"
        assert controller_of(pod) is not None
        pod.metadata.labels = {"app": "other"}
        server.update(pod)
        await server.clock.sleep(1)
        assert controller_of(server.get(core.Pod, "orphan", "default")) is None
        assert len(pods(server)) == 2


async def test_availability_waits_for_min_ready_seconds(server: FakeApiServer) -> None:
    server.create(replica_set(replicas=1, min_ready_seconds=30))
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(20)
        assert (_status(server).ready_replicas, _status(server).available_replicas) == (1, 0)
        await server.clock.sleep(15)
        assert _status(server).available_replicas == 1


async def test_a_refused_creation_shows_until_it_succeeds(server: FakeApiServer) -> None:
    refusal = errors.forbidden("pods", "", "exceeded quota")
    server.faults.fail(refusal, verb="create", resource="pods", times=3)
    server.create(replica_set())
    failing: list[apps.ReplicaSetCondition] = []

    async def watch(call: Call) -> None:
        condition = get_condition(_status(server).conditions, "ReplicaFailure")
        if condition is not None:
            failing.append(condition)

    server.faults.hook(watch, verb="update", resource="replicasets", after=True)
    async with controllers(server) as client:
        await server.clock.sleep(30)
        assert len(pods(server)) == 3
        assert get_condition(_status(server).conditions, "ReplicaFailure") is None
        # Slowly does it: what refuses one refuses all.
        tries = [call for call in client.calls if (call.verb, call.resource) == ("create", "pods")]
        assert len(tries) == 6
    assert failing
    assert (failing[0].status, failing[0].reason) == ("True", "FailedCreate")
    assert failing[0].message == "pods is forbidden: exceeded quota"
    assert ("FailedCreate", "Error creating: pods is forbidden: exceeded quota") in events(server, "web")


async def test_nothing_is_made_in_a_namespace_that_goes(server: FakeApiServer) -> None:
    refusal = errors.forbidden("pods", "", "being terminated")
    assert refusal.status.details is not None
    refusal.status.details.causes = [meta.StatusCause(reason="NamespaceTerminating")]
    server.faults.fail(refusal, verb="create", resource="pods", times=None)
    server.create(replica_set())
    async with controllers(server):
        await server.clock.sleep(60)
        assert _status(server).conditions == []
    assert events(server, "web") == []


async def test_a_lagging_watch_makes_no_pod_too_many(server: FakeApiServer) -> None:
    """The informer shows nothing of the pods made; every reconciliation meanwhile must count them nevertheless."""
    server.create(replica_set())
    made: list[str] = []

    async def count(call: Call) -> None:
        made.append(call.namespace)

    server.faults.hook(count, verb="create", resource="pods", after=True)
    async with controllers(server):
        await server.clock.sleep(0)
        server.faults.fail(errors.service_unavailable("away"), verb="watch", resource="pods", times=5)
        server.faults.serve_stale_lists("pods", 50)
        server.faults.drop_watches("pods")
        for labels in range(5):
            live = server.get(apps.ReplicaSet, "web", "default")
            live.metadata.labels = {"round": str(labels)}
            server.update(live)
            await server.clock.sleep(0.5)
        assert len(made) == 3
        server.faults.clear()
        await server.clock.sleep(120)
        assert len(pods(server)) == 3


async def test_a_pod_that_came_and_went_unseen_is_replaced(server: FakeApiServer) -> None:
    server.create(replica_set(replicas=1))

    async def remove_newest(call: Call) -> None:
        newest = max(pods(server), key=lambda pod: int(pod.metadata.resource_version))
        server.delete(core.Pod, newest.metadata.name, "default")

    async with controllers(server):
        await server.clock.sleep(0.1)
        server.faults.fail(errors.service_unavailable("away"), verb="watch", resource="pods", times=3)
        server.faults.fail(errors.service_unavailable("away"), verb="list", resource="pods", times=3)
        server.faults.drop_watches("pods")
        server.faults.hook(remove_newest, verb="create", resource="pods", after=True, times=1)
        _scale(server, 2)
        await server.clock.sleep(0.1)
        assert len(pods(server)) == 1
        await server.clock.sleep(60)
        assert len(pods(server)) == 2


@pytest.mark.parametrize("verb", ["create", "delete"])
async def test_a_lost_answer_does_no_lasting_harm(server: FakeApiServer, verb: str) -> None:
    server.create(replica_set())
    server.faults.lose_answer(verb=verb, resource="pods", times=2)
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(30)
        _scale(server, 1)
        fewest = 3
        for _ in range(100):
            await server.clock.sleep(0.3)
            fewest = min(fewest, sum(1 for pod in pods(server) if is_active(pod)))
        assert [len(pods(server)), fewest] == [1, 1]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_any_course_of_events_ends_at_the_wanted_size(seed: int) -> None:
    asyncio.run(_random_course(seed))


async def _random_course(seed: int) -> None:
    rng = random.Random(seed)
    server = FakeApiServer(clock=FakeClock(), seed=seed)
    server.create(replica_set(replicas=rng.randrange(6)))
    async with controllers(server, kubelet=Kubelet(server)):
        for _ in range(12):
            _disturb(server, rng)
            await server.clock.sleep(rng.choice([0, 0.1, 3.0]))
        server.faults.clear()
        await server.clock.sleep(200)
        wanted = server.get(apps.ReplicaSet, "web", "default").spec.replicas
        active = [pod for pod in pods(server) if is_active(pod)]
        assert len(active) == wanted
        assert (_status(server).replicas, _status(server).ready_replicas) == (wanted, wanted)


def _disturb(server: FakeApiServer, rng: random.Random) -> None:
    match rng.randrange(7):
        case 0:
            _scale(server, rng.randrange(6))
        case 1 if pods(server):
            server.delete(core.Pod, rng.choice(pods(server)).metadata.name, "default", grace_period=0)
        case 2 if pods(server):
            pod = rng.choice(pods(server))
            report(pod, "Failed", False, server.clock.now())
            server.put(pod)
        case 3:
            server.faults.fail(errors.internal("boom"), verb=rng.choice(["create", "delete", "update"]), times=2)
        case 4:
            server.faults.lose_answer(verb=rng.choice(["create", "delete"]), resource="pods")
        case 5:
            server.faults.drop_watches(rng.choice(["pods", "replicasets.apps", ""]))
        case 6:
            server.compact()
            server.faults.drop_watches()
