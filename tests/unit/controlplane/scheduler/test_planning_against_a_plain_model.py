"""The vector scheduler against one that looks at node after node: same nodes, same reasons, whatever went before."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from api import core_v1 as core
from api import meta_v1 as meta
from api.pods import untolerated_taint
from api.quantity import Quantity
from controlplane.scheduler.cluster import Cluster
from controlplane.scheduler.demand import DemandReader
from controlplane.scheduler.failures import Failure
from controlplane.scheduler.planning import Placement, schedule

NAMES = ("n0", "n1", "n2", "n3", "n4")


@dataclass
class Model:
    """Nodes and pods as plain objects."""

    nodes: dict[str, core.Node] = field(default_factory=dict)
    pods: dict[str, tuple[core.Pod, str]] = field(default_factory=dict)

    def reasons(self, node: core.Node, pod: core.Pod) -> list[str]:
        if node.spec.unschedulable:
            return ["node(s) were unschedulable"]
        if untolerated_taint(node.spec.taints, pod.spec.tolerations, ("NoSchedule", "NoExecute")) is not None:
            return ["node(s) had untolerated taint(s)"]
        if any(node.metadata.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
            return ["node(s) didn't match Pod's node affinity/selector"]
        here = [one for one, where in self.pods.values() if where == node.metadata.name]
        if _ports(pod) & {port for one in here for port in _ports(one)}:
            return ["node(s) didn't have free ports for the requested pod ports"]
        short = []
        if len(here) + 1 > int(str(node.status.allocatable["pods"])):
            short.append("Too many pods")
        for resource in ("cpu", "memory"):
            wanted = _request(pod, resource)
            taken = sum(_request(one, resource) for one in here)
            if wanted and taken + wanted > node.status.allocatable[resource].milli():
                short.append(f"Insufficient {resource}")
        return short


def _request(pod: core.Pod, resource: str) -> int:
    requests = pod.spec.containers[0].resources.requests
    return requests[resource].milli() if resource in requests else 0


def _ports(pod: core.Pod) -> set[int]:
    return {port.host_port for port in pod.spec.containers[0].ports}


_TAINTS = st.lists(st.sampled_from(["a", "b"]), max_size=1).map(
    lambda keys: [core.Taint(key=key, effect="NoSchedule") for key in keys]
)
_LABELS = st.dictionaries(st.sampled_from(["disk", "zone"]), st.sampled_from(["x", "y"]), max_size=2)
_AMOUNTS = st.fixed_dictionaries({"cpu": st.integers(0, 4), "memory": st.integers(0, 4)})


@st.composite
def _nodes(draw: st.DrawFn) -> core.Node:
    amounts = {key: Quantity(value) for key, value in draw(_AMOUNTS).items()} | {
        "pods": Quantity(draw(st.integers(0, 3)))
    }
    return core.Node(
        metadata=meta.ObjectMeta(name=draw(st.sampled_from(NAMES)), labels=draw(_LABELS)),
        spec=core.NodeSpec(taints=draw(_TAINTS), unschedulable=draw(st.sampled_from([False, False, True]))),
        status=core.NodeStatus(allocatable=amounts),
    )


@st.composite
def _pods(draw: st.DrawFn) -> core.Pod:
    name = draw(st.sampled_from([f"p{n}" for n in range(8)]))
    requests = {key: Quantity(value) for key, value in draw(_AMOUNTS).items() if value}
    ports = draw(st.lists(st.sampled_from([80, 81]), max_size=1))
    container = core.Container(
        name="app",
        resources=core.ResourceRequirements(requests=requests),
        ports=[core.ContainerPort(container_port=1, host_port=port) for port in ports],
    )
    tolerations = draw(st.lists(st.sampled_from(["a", "b"]), max_size=1))
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace="default", uid=name),
        spec=core.PodSpec(
            containers=[container],
            node_selector=draw(st.one_of(st.just({}), _LABELS)),
            tolerations=[core.Toleration(key=key, operator="Exists") for key in tolerations],
        ),
    )


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), _nodes()),
        st.tuples(st.just("node gone"), st.sampled_from(NAMES)),
        st.tuples(st.just("pod"), st.tuples(_pods(), st.sampled_from(NAMES))),
        st.tuples(st.just("assume"), st.tuples(_pods(), st.sampled_from(NAMES))),
        st.tuples(st.just("pod gone"), st.sampled_from([f"p{n}" for n in range(8)])),
    ),
    max_size=30,
)


@settings(max_examples=120, deadline=None)
@given(steps=_STEPS, wanted=_pods())
def test_decisions_agree(steps: list[tuple[str, Any]], wanted: core.Pod) -> None:
    cluster, reader, model = Cluster(), DemandReader(), Model()
    for verb, what in steps:
        _apply(cluster, reader, model, verb, what)
    cluster.remove_pod("wanted")
    wanted.metadata.uid = "wanted"
    verdicts = {name: model.reasons(node, wanted) for name, node in model.nodes.items()}
    decision = schedule(cluster, reader.read(wanted))
    if isinstance(decision, Placement):
        assert verdicts[decision.node] == []
        assert decision.feasible == sum(not reasons for reasons in verdicts.values())
        return
    assert isinstance(decision, Failure)
    assert decision.nodes == len(model.nodes)
    counted = Counter(reason for reasons in verdicts.values() for reason in reasons)
    assert {reason.text: count for reason, count in decision.reasons.items()} == dict(counted)
    assert sum(decision.preemption.values()) == len(model.nodes)


@settings(max_examples=100, deadline=None)
@given(steps=_STEPS)
def test_columns_hold_what_the_pods_add_up_to(steps: list[tuple[str, Any]]) -> None:
    cluster, reader, model = Cluster(), DemandReader(), Model()
    for verb, what in steps:
        _apply(cluster, reader, model, verb, what)
    nodes = cluster.nodes
    assert nodes.count == len(model.nodes) == int(np.count_nonzero(nodes.live))
    for name in model.nodes:
        row = nodes.row(name)
        assert row is not None
        here = [pod for pod, where in model.pods.values() if where == name]
        taken = {resource: nodes.requested(resource) for resource in ("cpu", "pods")}
        assert taken["cpu"] is not None
        assert taken["pods"] is not None
        assert taken["cpu"][row] == sum(_request(pod, "cpu") for pod in here)
        assert taken["pods"][row] == len(here)
    for uid in list(model.pods):
        cluster.remove_pod(uid)
    for resource in ("cpu", "memory", "pods"):
        left = nodes.requested(resource)
        assert left is not None
        assert not left.any()
    assert cluster.ports.nodes_clashing([("TCP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 81)]) == set()


def _apply(cluster: Cluster, reader: DemandReader, model: Model, verb: str, what: Any) -> None:
    if verb == "node":
        cluster.put_node(what)
        model.nodes[what.metadata.name] = what
    elif verb == "node gone":
        cluster.remove_node(what)
        model.nodes.pop(what, None)
    elif verb == "pod gone":
        cluster.remove_pod(what)
        model.pods.pop(what, None)
    else:
        pod, where = what
        (cluster.put_pod if verb == "pod" else cluster.assume_pod)(reader.read(pod), where)
        model.pods[pod.metadata.uid] = (pod, where)
