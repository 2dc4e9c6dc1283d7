"""Pods that nobody else will clear away."""

import pytest

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.errors import StatusError
from api.pods import get_condition
from api.times import Time
from client.fake import FakeApiServer
from controlplane.controllers.pod_collection.planning import missing_nodes, plan
from tests.unit.controlplane.controllers.small_cluster import controllers, lease, node, report

NOW = 1_767_225_600.0
LATER = Time.from_timestamp(NOW)


def _pod(name: str, on: str = "", phase: str = "Running", *, going: bool = False, age: int = 0) -> core.Pod:
    return core.Pod(
        metadata=meta.ObjectMeta(
            name=name,
            uid=name,
            namespace="default",
            creation_timestamp=Time.from_timestamp(NOW - age),
            deletion_timestamp=LATER if going else None,
        ),
        spec=core.PodSpec(node_name=on, containers=[core.Container(name="app")]),
        status=core.PodStatus(phase=phase),
    )


def _names(*removals: object) -> list[tuple[str, bool]]:
    return [(removal.pod.metadata.name, removal.orphaned) for removal in removals]  # type: ignore[attr-defined]


def _out_of_service(ready: str) -> core.Node:
    subject = node("n1", NOW, ready)
    subject.spec.taints = [core.Taint(key="node.kubernetes.io/out-of-service", effect="NoExecute")]
    return subject


@pytest.mark.parametrize(
    ("pod", "nodes", "gone", "expected"),
    [
        (_pod("p", "n1"), {"n1": node("n1", NOW)}, set(), []),
        (_pod("p", "n1", going=True), {"n1": node("n1", NOW, "Unknown")}, set(), []),
        (_pod("p", "n1"), {}, {"n1"}, [("p", True)]),
        (_pod("p", "n1"), {}, set(), []),
        (_pod("p", going=True), {}, set(), [("p", False)]),
        (_pod("p"), {}, set(), []),
        (_pod("p", "n1", going=True), {"n1": _out_of_service("Unknown")}, set(), [("p", False)]),
        (_pod("p", "n1", going=True), {"n1": _out_of_service("True")}, set(), []),
        (_pod("p", "n1"), {"n1": _out_of_service("Unknown")}, set(), []),
    ],
)
def test_who_is_collected(
    pod: core.Pod, nodes: dict[str, core.Node], gone: set[str], expected: list[tuple[str, bool]]
) -> None:
    assert _names(*plan([pod], nodes, gone)) == expected


def test_of_pods_that_are_done_evicted_ones_go_first_then_the_oldest() -> None:
    done = [_pod(f"d{age}", "n1", "Succeeded", age=age) for age in (3, 2, 1)]
    evicted = _pod("evicted", "n1", "Failed")
    evicted.status.reason = "Evicted"
    nodes = {"n1": node("n1", NOW)}
    assert _names(*plan([*done, evicted], nodes, set(), terminated_limit=2)) == [("evicted", False), ("d3", False)]
    assert plan([*done, evicted], nodes, set(), terminated_limit=4) == []


def test_missing_nodes() -> None:
    assert missing_nodes([_pod("a", "n1"), _pod("b", "n2"), _pod("c")], {"n1"}) == {"n2"}


def _exists(server: FakeApiServer, name: str) -> bool:
    try:
        server.get(core.Pod, name, "default")
    except StatusError:
        return False
    return True


async def test_the_pods_of_a_node_that_is_gone_fail_and_go(server: FakeApiServer) -> None:
    held = _pod("held", "ghost")
    held.metadata.finalizers = ["example.com/wait"]
    held.metadata.generation = 3
    report(held, "Running", True, NOW)
    server.put(held)
    server.put(_pod("plain", "ghost"))
    async with controllers(server):
        await server.clock.sleep(35)
        assert _exists(server, "plain")
        await server.clock.sleep(30)
        assert not _exists(server, "plain")
        marked = server.get(core.Pod, "held", "default")
        assert marked.status.phase == "Failed"
        assert marked.metadata.deletion_timestamp is not None
        target = get_condition(marked.status.conditions, "DisruptionTarget")
        assert target is not None
        assert (target.reason, target.message) == ("DeletionByPodGC", "PodGC: node no longer exists")
        assert target.observed_generation == 3


async def test_a_node_that_only_the_server_knows_is_no_ghost(server: FakeApiServer) -> None:
    """The informer of nodes lags: pods must not pay for it."""
    server.put(_pod("web", "n1"))
    server.faults.serve_stale_lists("nodes", 1_000)
    async with controllers(server):
        await server.clock.sleep(1)
        server.faults.fail(errors.service_unavailable("away"), verb="watch", resource="nodes", times=None)
        server.faults.drop_watches("nodes")
        server.put(node("n1", server.clock.now()))
        for _ in range(20):
            server.put(lease("n1", server.clock.now()))
            await server.clock.sleep(10)
        assert _exists(server, "web")


async def test_a_pod_deleted_before_it_had_a_node_goes(server: FakeApiServer) -> None:
    pod = _pod("early", going=True)
    pod.metadata.deletion_grace_period_seconds = 30
    server.put(pod)
    async with controllers(server):
        await server.clock.sleep(25)
        assert not _exists(server, "early")
