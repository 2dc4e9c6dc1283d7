"""The whole scheduler against the API double: what ends up on the server is what counts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.quantity import Quantity
from client.clock import FakeClock
from client.errors import Unreachable
from client.events import EventRecorder
from client.fake import FakeApiServer, FakeClient
from controlplane.scheduler import loop, main

CPU = "cpu"


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(clock=FakeClock())


def _node(server: FakeApiServer, name: str, cpu: str = "4", **spec: Any) -> core.Node:
    allocatable = {"cpu": Quantity(cpu), "memory": Quantity("8Gi"), "pods": Quantity("110")}
    return server.put(
        core.Node(
            metadata=meta.ObjectMeta(name=name, labels={"kubernetes.io/hostname": name}),
            spec=core.NodeSpec(**spec),
            status=core.NodeStatus(allocatable=allocatable),
        )
    )


def _pod(server: FakeApiServer, name: str, cpu: str = "1", **spec: Any) -> core.Pod:
    resources = core.ResourceRequirements(requests={"cpu": Quantity(cpu)})
    return server.create(
        core.Pod(
            metadata=meta.ObjectMeta(name=name, namespace="default"),
            spec=core.PodSpec(
                scheduler_name=spec.pop("scheduler_name", "default-scheduler"),
                containers=[core.Container(name="app", image="x", resources=resources)],
                **spec,
            ),
        )
    )


@asynccontextmanager
async def _scheduling(server: FakeApiServer, client: FakeClient | None = None) -> AsyncIterator[FakeClient]:
    client, stop = client or server.client(), asyncio.Event()
    recorder = EventRecorder(client, "default-scheduler", clock=server.clock)
    async with asyncio.TaskGroup() as group:
        recording = group.create_task(recorder.run())
        group.create_task(main.run(client, server.clock, recorder, stop))
        yield client
        await server.clock.sleep(0.1)
        stop.set()
        recording.cancel()


def _where(server: FakeApiServer, name: str) -> str:
    return server.get(core.Pod, name, "default").spec.node_name


def _condition(server: FakeApiServer, name: str) -> core.PodCondition:
    (condition,) = server.get(core.Pod, name, "default").status.conditions
    return condition


def _told(server: FakeApiServer, name: str) -> list[tuple[str, str, str]]:
    events = server.list(core.Event).items
    return [(one.type, one.reason, one.message) for one in events if one.involved_object.name == name]


async def test_a_pod_is_bound_and_the_user_is_told(server: FakeApiServer) -> None:
    _node(server, "n1")
    pod = _pod(server, "web")
    async with _scheduling(server):
        await server.clock.sleep(1)
    assert _where(server, "web") == "n1"
    assert (_condition(server, "web").type, _condition(server, "web").status) == ("PodScheduled", "True")
    assert _told(server, "web") == [("Normal", "Scheduled", "Successfully assigned default/web to n1")]
    (event,) = server.list(core.Event).items
    assert event.involved_object.uid == pod.metadata.uid
    assert event.source.component == "default-scheduler"


async def test_a_pod_that_fits_nowhere_says_why(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "big", cpu="64")
    async with _scheduling(server):
        await server.clock.sleep(1)
    message = (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )
    condition = _condition(server, "big")
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert condition.message == message
    assert _told(server, "big") == [("Warning", "FailedScheduling", message)]


async def test_an_unschedulable_pod_costs_no_write_while_nothing_changes(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "big", cpu="64")
    async with _scheduling(server) as client:
        await server.clock.sleep(60)
        before = len([call for call in client.calls if call.verb != "watch"])
        await server.clock.sleep(200)
        assert len([call for call in client.calls if call.verb != "watch"]) == before


async def test_a_node_that_comes_takes_the_pods_that_wait(server: FakeApiServer) -> None:
    _pod(server, "web")
    async with _scheduling(server):
        await server.clock.sleep(5)
        assert _condition(server, "web").message == "no nodes available to schedule pods"
        _node(server, "n1")
        await server.clock.sleep(1)
        assert _where(server, "web") == "n1"


async def test_room_that_is_freed_is_used(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "first", cpu="3")
    async with _scheduling(server):
        await server.clock.sleep(1)
        _pod(server, "second", cpu="3")
        await server.clock.sleep(5)
        assert _where(server, "second") == ""
        server.patch(core.Pod, "first", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
        await server.clock.sleep(1)
        assert _where(server, "second") == "n1"


async def test_a_taint_that_is_lifted_lets_pods_in(server: FakeApiServer) -> None:
    _node(server, "n1", taints=[core.Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")])
    _pod(server, "web")
    async with _scheduling(server):
        await server.clock.sleep(5)
        assert _where(server, "web") == ""
        server.patch(core.Node, "n1", {"spec": {"taints": None}})
        await server.clock.sleep(1)
        assert _where(server, "web") == "n1"


async def test_heartbeats_do_not_make_the_scheduler_try_again(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "big", cpu="64")
    async with _scheduling(server) as client:
        await server.clock.sleep(1)
        before = len(client.calls)
        for number in range(5):
            condition = {"type": "Ready", "status": "True", "reason": str(number)}
            server.patch(core.Node, "n1", {"status": {"conditions": [condition]}}, subresource="status")
            await server.clock.sleep(1)
        assert len(client.calls) == before


async def test_pods_of_others_and_gated_and_ending_pods_are_left_alone(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "other", scheduler_name="mine")
    _pod(server, "gated", scheduling_gates=[core.PodSchedulingGate(name="wait")])
    ending = _pod(server, "ending")
    ending.metadata.finalizers = ["example.org/hold"]
    server.update(ending)
    server.delete(core.Pod, "ending", "default")
    async with _scheduling(server):
        await server.clock.sleep(5)
        assert [_where(server, name) for name in ("other", "gated", "ending")] == ["", "", ""]
        server.patch(
            core.Pod, "gated", {"spec": {"schedulingGates": [{"$patch": "delete", "name": "wait"}]}}, "default"
        )
        await server.clock.sleep(1)
        assert _where(server, "gated") == "n1"


async def test_no_node_is_overcommitted_while_bindings_are_on_their_way(server: FakeApiServer) -> None:
    for name in ("n1", "n2"):
        _node(server, name)
    for number in range(12):
        _pod(server, f"p{number:02}")
    server.faults.delay(2, verb="create", resource="pods")
    async with _scheduling(server):
        await server.clock.sleep(10)
    placed = [_where(server, f"p{number:02}") for number in range(12)]
    assert (placed.count("n1"), placed.count("n2"), placed.count("")) == (4, 4, 4)


async def test_important_pods_go_first(server: FakeApiServer) -> None:
    for number in range(8):
        _pod(server, f"p{number}", priority=number)
    _node(server, "n1")
    async with _scheduling(server):
        await server.clock.sleep(1)
    assert {name for name in (f"p{n}" for n in range(8)) if _where(server, name)} == {"p4", "p5", "p6", "p7"}


async def test_a_refused_binding_is_reported_and_tried_again(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "web")
    server.faults.fail(errors.internal("boom"), verb="create", subresource="binding")
    async with _scheduling(server):
        await server.clock.sleep(0.5)
        assert _condition(server, "web").reason == "SchedulerError"
        await server.clock.sleep(5)
    assert _where(server, "web") == "n1"
    assert [reason for _, reason, _ in _told(server, "web")] == ["FailedScheduling", "Scheduled"]


async def test_a_binding_whose_answer_was_lost_is_not_made_twice(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "web")
    server.faults.lose_answer(verb="create", resource="pods")
    async with _scheduling(server) as client:
        await server.clock.sleep(5)
    assert _where(server, "web") == "n1"
    assert [call.subresource for call in client.calls].count("binding") == 1
    assert [reason for _, reason, _ in _told(server, "web")] == ["Scheduled"]


async def test_a_binding_that_never_arrived_is_made_again(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "web")
    server.faults.fail(Unreachable("connection refused"), verb="create", subresource="binding")
    async with _scheduling(server):
        await server.clock.sleep(10)
    assert _where(server, "web") == "n1"


async def test_a_pod_deleted_while_it_is_bound_leaves_its_room(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "first", cpu="4")
    server.faults.delay(2, verb="create", resource="pods")
    async with _scheduling(server):
        await server.clock.sleep(1)
        server.delete(core.Pod, "first", "default")
        _pod(server, "second", cpu="4")
        await server.clock.sleep(10)
        assert _where(server, "second") == "n1"


async def test_a_pod_that_another_scheduler_bound_first_counts_where_it_is(server: FakeApiServer) -> None:
    _node(server, "n1")
    _node(server, "n2", unschedulable=True)
    _pod(server, "web", cpu="4")

    async def steal(call: object) -> None:
        target = core.ObjectReference(kind="Node", name="n2")
        server.create_subresource(core.Pod, "web", "default", "binding", core.Binding(target=target))

    server.faults.hook(steal, verb="create", resource="pods", times=1)
    async with _scheduling(server):
        await server.clock.sleep(5)
        assert _where(server, "web") == "n2"
        _pod(server, "next", cpu="4")
        await server.clock.sleep(5)
        assert _where(server, "next") == "n1"


async def test_an_outage_is_outlived(server: FakeApiServer) -> None:
    _node(server, "n1")
    async with _scheduling(server):
        await server.clock.sleep(1)
        server.faults.offline = True
        server.faults.drop_watches()
        _pod(server, "web")
        await server.clock.sleep(120)
        server.faults.offline = False
        await server.clock.sleep(120)
    assert _where(server, "web") == "n1"


async def test_a_bug_met_by_one_pod_does_not_stop_the_others(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loop.schedule

    def buggy(cluster: Any, demand: Any) -> Any:
        if demand.name == "cursed":
            raise ZeroDivisionError("boom")
        return real(cluster, demand)

    monkeypatch.setattr(loop, "schedule", buggy)
    _node(server, "n1")
    _pod(server, "cursed")
    _pod(server, "web")
    async with _scheduling(server):
        await server.clock.sleep(5)
    assert _where(server, "web") == "n1"
    assert _condition(server, "cursed").reason == "SchedulerError"


class LyingClient(FakeClient):
    """Says of the first binding that it was made, and makes none."""

    lied = False

    async def create_subresource(
        self, cls: Any, name: str, namespace: str, subresource: str, body: Any, into: Any
    ) -> Any:
        if not self.lied:
            self.lied = True
            return meta.Status(status="Success")
        return await super().create_subresource(cls, name, namespace, subresource, body, into)


async def test_an_assumption_that_never_comes_true_is_given_up(server: FakeApiServer) -> None:
    _node(server, "n1")
    _pod(server, "ghost", cpu="4")
    async with _scheduling(server, LyingClient(server)):
        await server.clock.sleep(20)
        assert _where(server, "ghost") == ""
        await server.clock.sleep(20)
        assert _where(server, "ghost") == "n1"


async def test_a_binding_that_is_undone_frees_its_room(server: FakeApiServer) -> None:
    """No API call does this, but a store restored from a backup may."""
    _node(server, "n1")
    _pod(server, "web", cpu="4")
    async with _scheduling(server):
        await server.clock.sleep(1)
        pod = server.get(core.Pod, "web", "default")
        pod.spec.node_name = ""
        server.put(pod)
        await server.clock.sleep(1)
        assert _where(server, "web") == "n1"


async def test_many_pods_on_many_nodes(server: FakeApiServer) -> None:
    for number in range(20):
        _node(server, f"n{number}")
    for number in range(80):
        _pod(server, f"p{number}")
    async with _scheduling(server):
        await server.clock.sleep(5)
    placed = [pod.spec.node_name for pod in server.list(core.Pod).items]
    assert {placed.count(f"n{number}") for number in range(20)} == {4}
    assert len(server.list(core.Event).items) == 80
