"""Nodes that fail, and what becomes of their pods, against the API double."""

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.pods import get_condition
from client.fake import FakeApiServer
from tests.unit.controlplane.controllers.small_cluster import controllers, events, lease, node, report

BEARABLE = 300


def _cluster(server: FakeApiServer, *names: str) -> None:
    for name in names:
        server.put(node(name, server.clock.now()))
        server.put(lease(name, server.clock.now()))


def _pod(server: FakeApiServer, name: str, on: str, seconds: int | None = BEARABLE) -> core.Pod:
    tolerations = [
        core.Toleration(
            key=f"node.kubernetes.io/{key}", operator="Exists", effect="NoExecute", toleration_seconds=seconds
        )
        for key in ("not-ready", "unreachable")
    ]
    pod = core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace="default"),
        spec=core.PodSpec(node_name=on, containers=[core.Container(name="app")], tolerations=tolerations),
    )
    report(pod, "Running", True, server.clock.now())
    return server.put(pod)


async def _pass_time(server: FakeApiServer, seconds: float, *alive: str) -> None:
    """Let time pass while some nodes send heartbeats."""
    end = server.clock.monotonic() + seconds
    while (left := end - server.clock.monotonic()) > 0:
        for name in alive:
            server.put(lease(name, server.clock.now()))
        await server.clock.sleep(min(10, left))


def _taints(server: FakeApiServer, name: str) -> set[tuple[str, str]]:
    return {
        (taint.key.removeprefix("node.kubernetes.io/"), taint.effect)
        for taint in server.get(core.Node, name).spec.taints
    }


def _ready(server: FakeApiServer, name: str) -> str:
    condition = get_condition(server.get(core.Node, name).status.conditions, "Ready")
    return condition.status if condition is not None else ""


def _pods(server: FakeApiServer) -> dict[str, core.Pod]:
    return {pod.metadata.name: pod for pod in server.list(core.Pod, "default").items}


async def test_a_silent_node_loses_its_pods_in_the_end(server: FakeApiServer) -> None:
    _cluster(server, "n1", "n2")
    _pod(server, "web", "n1")
    _pod(server, "agent", "n1", seconds=None)
    async with controllers(server):
        await _pass_time(server, 45, "n2")
        assert (_ready(server, "n1"), _taints(server, "n1")) == ("True", set())
        await _pass_time(server, 30, "n2")
        assert _ready(server, "n1") == "Unknown"
        assert _taints(server, "n1") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
        assert _ready(server, "n2") == "True"
        condition = get_condition(_pods(server)["web"].status.conditions, "Ready")
        assert condition is not None
        assert condition.status == "False"
        await _pass_time(server, BEARABLE - 60, "n2")
        assert _pods(server)["web"].metadata.deletion_timestamp is None
        await _pass_time(server, 90, "n2")
        web = _pods(server)["web"]
        assert web.metadata.deletion_timestamp is not None
        target = get_condition(web.status.conditions, "DisruptionTarget")
        assert target is not None
        assert (target.reason, target.message) == (
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        assert target.observed_generation == 1
        assert _pods(server)["agent"].metadata.deletion_timestamp is None
    assert ("NodeNotReady", "Node n1 status is now: NodeNotReady") in events(server, "n1")
    assert ("RegisteredNode", "Node n1 event: Registered Node n1 in Controller") in events(server, "n1")
    assert events(server, "web") == [
        ("NodeNotReady", "Node is not ready"),
        ("TaintManagerEviction", "Marking for deletion Pod default/web"),
    ]


async def test_a_node_that_recovers_in_time_keeps_its_pods(server: FakeApiServer) -> None:
    _cluster(server, "n1", "n2")
    _pod(server, "web", "n1")
    async with controllers(server):
        await _pass_time(server, 120, "n2")
        assert ("unreachable", "NoExecute") in _taints(server, "n1")
        server.put(node("n1", server.clock.now()))
        await _pass_time(server, 400, "n1", "n2")
        assert _taints(server, "n1") == set()
        assert _pods(server)["web"].metadata.deletion_timestamp is None
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/web") in events(server, "web")


async def test_a_node_that_says_it_is_not_ready_is_believed_at_once(server: FakeApiServer) -> None:
    _cluster(server, "n1", "n2")
    async with controllers(server):
        await _pass_time(server, 10, "n1", "n2")
        server.put(node("n1", server.clock.now(), "False"))
        await _pass_time(server, 1, "n1", "n2")
        assert _taints(server, "n1") == {("not-ready", "NoSchedule")}
        await _pass_time(server, 15, "n1", "n2")
        assert _taints(server, "n1") == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
        # It falls silent on top of that.
        await _pass_time(server, 70, "n2")
        assert _taints(server, "n1") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}


async def test_when_all_nodes_are_down_no_pod_is_evicted(server: FakeApiServer) -> None:
    _cluster(server, "n1", "n2", "n3")
    for name in ("n1", "n2", "n3"):
        _pod(server, f"on-{name}", name)
    async with controllers(server):
        await _pass_time(server, 3600)
        assert [_ready(server, name) for name in ("n1", "n2", "n3")] == ["Unknown"] * 3
        assert _taints(server, "n1") == {("unreachable", "NoSchedule")}
        assert all(pod.metadata.deletion_timestamp is None for pod in _pods(server).values())
        # One is back: the others get the full time again, then they are given up one by one.
        server.put(node("n3", server.clock.now()))
        await _pass_time(server, 40, "n3")
        assert not any(effect == "NoExecute" for name in ("n1", "n2") for _, effect in _taints(server, name))


async def test_the_only_node_never_loses_its_pods(server: FakeApiServer) -> None:
    _cluster(server, "n1")
    _pod(server, "web", "n1")
    async with controllers(server):
        await _pass_time(server, 3600)
        assert _ready(server, "n1") == "Unknown"
        assert _pods(server)["web"].metadata.deletion_timestamp is None
        server.put(node("n1", server.clock.now()))
        await _pass_time(server, 10, "n1")
        assert _taints(server, "n1") == set()


async def test_nodes_are_given_up_slowly(server: FakeApiServer) -> None:
    _cluster(server, *(f"n{index}" for index in range(6)))
    async with controllers(server):
        alive = ("n3", "n4", "n5")
        await _pass_time(server, 65, *alive)

        def given_up() -> int:
            return sum(("unreachable", "NoExecute") in _taints(server, f"n{index}") for index in range(3))

        assert given_up() <= 2
        await _pass_time(server, 60, *alive)
        assert given_up() == 3


async def test_failures_of_writes_are_made_up_for(server: FakeApiServer) -> None:
    _cluster(server, "n1", "n2")
    _pod(server, "web", "n1", seconds=10)
    async with controllers(server):
        await _pass_time(server, 30, "n2")
        for verb in ("update", "patch", "delete"):
            server.faults.fail(errors.internal("boom"), verb=verb, times=4)
        await _pass_time(server, 200, "n2")
        assert _taints(server, "n1") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
        assert _pods(server)["web"].metadata.deletion_timestamp is not None


async def test_an_idle_cluster_is_left_in_peace(server: FakeApiServer) -> None:
    _cluster(server, "n1", "n2")
    _pod(server, "web", "n1")
    async with controllers(server) as client:
        await _pass_time(server, 60, "n1", "n2")
        before = len([call for call in client.calls if call.verb not in ("list", "watch")])
        await _pass_time(server, 3600, "n1", "n2")
        assert len([call for call in client.calls if call.verb not in ("list", "watch")]) == before
