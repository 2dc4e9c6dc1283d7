"""Random days in the life of a scheduler: whatever breaks on the way, in the end every pod that fits has a node, and
no node has more than it can bear.
"""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.errors import StatusError
from api.pods import is_terminal
from api.quantity import Quantity
from client.clock import FakeClock
from client.errors import Unreachable
from client.events import EventRecorder
from client.fake import FakeApiServer
from controlplane.scheduler import main

CAPACITY = 4

_STEP = st.one_of(
    st.tuples(st.just("node"), st.integers(0, 2)),
    st.tuples(st.just("cordon"), st.integers(0, 2)),
    st.tuples(st.just("node gone"), st.integers(0, 2)),
    st.tuples(st.just("pod"), st.integers(1, 3)),
    st.tuples(st.just("pod"), st.integers(1, 3)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("finish"), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 15])),
    st.tuples(st.sampled_from(["drop", "compact", "offline", "online"]), st.just(0)),
    st.tuples(st.sampled_from(["refuse", "cut", "lose", "slow"]), st.integers(1, 3)),
)


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(_STEP, max_size=30))
def test_it_converges_and_never_overcommits(steps: list[tuple[str, int]]) -> None:
    asyncio.run(_live(steps))


async def _live(steps: list[tuple[str, int]]) -> None:
    clock = FakeClock()
    server = FakeApiServer(clock=clock, history=20)
    client, stop = server.client(), asyncio.Event()
    recorder = EventRecorder(client, "default-scheduler", clock=clock)
    async with asyncio.TaskGroup() as group:
        recording = group.create_task(recorder.run())
        group.create_task(main.run(client, clock, recorder, stop))
        for number, (verb, amount) in enumerate(steps):
            await _step(server, clock, verb, amount, number)
            _check_loads(server)
        server.faults.clear()
        # Back-off, relists, look-ups and the five-minute flush: give all safety nets the time to do their work.
        await clock.sleep(1500)
        _check_loads(server)
        _check_nobody_was_forgotten(server)
        stop.set()
        recording.cancel()


def _loads(server: FakeApiServer) -> dict[str, int]:
    loads: dict[str, int] = {}
    for pod in server.list(core.Pod).items:
        if pod.spec.node_name and not is_terminal(pod):
            loads[pod.spec.node_name] = loads.get(pod.spec.node_name, 0) + _size(pod)
    return loads


def _check_loads(server: FakeApiServer) -> None:
    assert all(load <= CAPACITY for load in _loads(server).values())


def _check_nobody_was_forgotten(server: FakeApiServer) -> None:
    loads = _loads(server)
    open_nodes = [node.metadata.name for node in server.list(core.Node).items if not node.spec.unschedulable]
    room = max((CAPACITY - loads.get(name, 0) for name in open_nodes), default=0)
    for pod in server.list(core.Pod).items:
        if pod.spec.node_name or is_terminal(pod) or pod.metadata.deletion_timestamp is not None:
            continue
        assert _size(pod) > room, f"{pod.metadata.name} of {_size(pod)} waits though there is room for {room}"
        reasons = [condition.reason for condition in pod.status.conditions if condition.type == "PodScheduled"]
        assert reasons == ["Unschedulable"]


def _size(pod: core.Pod) -> int:
    return pod.spec.containers[0].resources.requests["cpu"].value()


async def _step(server: FakeApiServer, clock: FakeClock, verb: str, amount: int, number: int) -> None:
    faults = server.faults
    actions: dict[str, Any] = {
        "node": lambda: _node(server, amount, unschedulable=False),
        "cordon": lambda: _node(server, amount, unschedulable=True),
        "node gone": lambda: server.delete(core.Node, f"n{amount}"),
        "pod": lambda: _pod(server, f"p{number}", amount),
        "delete": lambda: server.delete(core.Pod, f"p{amount}", "default", grace_period=0),
        "finish": lambda: _finish(server, f"p{amount}"),
        "drop": faults.drop_watches,
        "compact": server.compact,
        "offline": lambda: setattr(faults, "offline", True),
        "online": lambda: setattr(faults, "offline", False),
        "refuse": lambda: faults.fail(errors.internal("boom"), subresource="binding", times=amount),
        "cut": lambda: faults.fail(Unreachable("connection reset by peer"), subresource="binding", times=amount),
        "lose": lambda: faults.lose_answer(verb="create", resource="pods", times=amount),
        "slow": lambda: faults.delay(amount, verb="create", resource="pods", times=amount),
    }
    if verb == "wait":
        await (clock.sleep(amount) if amount else clock.settle())
        return
    try:
        actions[verb]()
    except StatusError as error:
        # The step names something that is not there.
        assert error.code == 404


def _node(server: FakeApiServer, number: int, *, unschedulable: bool) -> None:
    allocatable = {"cpu": Quantity(CAPACITY), "memory": Quantity("8Gi"), "pods": Quantity(100)}
    name = f"n{number}"
    if name not in {node.metadata.name for node in server.list(core.Node).items}:
        metadata = meta.ObjectMeta(name=name)
        server.put(core.Node(metadata=metadata, status=core.NodeStatus(allocatable=allocatable)))
    server.patch(core.Node, name, {"spec": {"unschedulable": unschedulable}})


def _pod(server: FakeApiServer, name: str, size: int) -> None:
    resources = core.ResourceRequirements(requests={"cpu": Quantity(size)})
    server.create(
        core.Pod(
            metadata=meta.ObjectMeta(name=name, namespace="default"),
            spec=core.PodSpec(containers=[core.Container(name="app", image="x", resources=resources)]),
        )
    )


def _finish(server: FakeApiServer, name: str) -> None:
    server.patch(core.Pod, name, {"status": {"phase": "Succeeded"}}, "default", subresource="status")
