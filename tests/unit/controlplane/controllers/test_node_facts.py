"""Heartbeats, taints and zones: the facts that decisions about nodes are made of."""

import math

import pytest

from api import core_v1 as core
from api.pods import get_condition
from api.times import Time
from controlplane.controllers.nodes.eviction import endurance
from controlplane.controllers.nodes.health import GRACE, STARTUP_GRACE, heard, is_silent, silent_conditions
from controlplane.controllers.nodes.taints import due_labels, due_no_execute, due_no_schedule
from controlplane.controllers.nodes.zones import RATE, Rationing, Shift, ZoneState, rate_of, state_of
from tests.unit.controlplane.controllers.small_cluster import lease, node

WALL = 1_767_225_600.0


def test_a_node_is_silent_when_neither_lease_nor_report_changes() -> None:
    reported = node("n1", WALL)
    health = heard(None, reported, lease("n1", WALL), WALL, 100.0)
    for now in (110.0, 120.0, 130.0):
        health = heard(health, reported, lease("n1", WALL), WALL + now, now)
    assert not is_silent(health, 100.0 + GRACE)
    assert is_silent(health, 101.0 + GRACE)


@pytest.mark.parametrize("sign", ["lease", "report"])
def test_any_heartbeat_will_do(sign: str) -> None:
    health = heard(None, node("n1", WALL), lease("n1", WALL), WALL, 100.0)
    if sign == "lease":
        health = heard(health, node("n1", WALL), lease("n1", WALL + 10), WALL, 150.0)
    else:
        health = heard(health, node("n1", WALL + 10), lease("n1", WALL), WALL, 150.0)
    assert not is_silent(health, 200.0)


def test_a_node_with_a_wrong_clock_is_alive_all_the_same() -> None:
    """Its stamps are compared with each other, not with our time."""
    yesterday = WALL - 86400
    health = heard(None, node("n1", yesterday), lease("n1", yesterday), WALL, 100.0)
    health = heard(health, node("n1", yesterday), lease("n1", yesterday + 10), WALL, 140.0)
    assert not is_silent(health, 180.0)


def test_a_node_that_never_reported_gets_more_time_from_when_it_was_made() -> None:
    blank = node("n1", WALL)
    blank.status.conditions = []
    health = heard(None, blank, None, WALL + 30, 1000.0)
    assert not is_silent(health, 1000.0 + STARTUP_GRACE - 30)
    assert is_silent(health, 1001.0 + STARTUP_GRACE - 30)


def test_what_a_silent_node_reported_is_unknown() -> None:
    reported = node("n1", WALL)
    network = core.NodeCondition(type="NetworkUnavailable", status="False")
    reported.status.conditions.append(network)
    conditions = silent_conditions(reported, WALL + 60)
    assert conditions is not None
    ready, memory = get_condition(conditions, "Ready"), get_condition(conditions, "MemoryPressure")
    assert ready is not None
    assert (ready.status, ready.reason) == ("Unknown", "NodeStatusUnknown")
    assert ready.message == "Kubelet stopped posting node status."
    assert ready.last_transition_time == Time.from_timestamp(WALL + 60)
    assert memory is not None
    assert (memory.status, memory.reason) == ("Unknown", "NodeStatusNeverUpdated")
    assert memory.message == "Kubelet never posted node status."
    assert network in conditions
    reported.status.conditions = conditions
    assert silent_conditions(reported, WALL + 120) is None


@pytest.mark.parametrize(
    ("type_", "status", "key"),
    [
        ("Ready", "False", "not-ready"),
        ("Ready", "Unknown", "unreachable"),
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
    ],
)
def test_conditions_become_taints_and_back(type_: str, status: str, key: str) -> None:
    subject = node("n1", WALL)
    own = core.Taint(key="mine", effect="NoSchedule")
    subject.spec.taints = [own]
    subject.status.conditions = [core.NodeCondition(type=type_, status=status)]
    taints = due_no_schedule(subject, WALL)
    assert taints == [
        own,
        core.Taint(key=f"node.kubernetes.io/{key}", effect="NoSchedule", time_added=Time.from_timestamp(WALL)),
    ]
    subject.spec.taints = taints or []
    assert due_no_schedule(subject, WALL + 5) is None
    subject.status.conditions = []
    assert due_no_schedule(subject, WALL) == [own]


def test_a_cordon_is_a_taint() -> None:
    subject = node("n1", WALL)
    subject.spec.unschedulable = True
    (taint,) = due_no_schedule(subject, WALL) or []
    assert (taint.key, taint.effect) == ("node.kubernetes.io/unschedulable", "NoSchedule")


def test_not_ready_and_unreachable_exclude_each_other() -> None:
    subject = node("n1", WALL)
    subject.spec.taints = due_no_execute(subject, "False", WALL) or []
    assert [taint.key for taint in subject.spec.taints] == ["node.kubernetes.io/not-ready"]
    subject.spec.taints = due_no_execute(subject, "Unknown", WALL) or []
    assert [taint.key for taint in subject.spec.taints] == ["node.kubernetes.io/unreachable"]
    assert due_no_execute(subject, "Unknown", WALL) is None
    assert due_no_execute(subject, "True", WALL) == []


def test_the_old_names_of_labels_follow_the_new() -> None:
    labelled = node("n1", WALL)
    labelled.metadata.labels = {"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "windows"}
    assert due_labels(labelled) == {"beta.kubernetes.io/os": "linux"}


@pytest.mark.parametrize(
    ("ready", "unready", "state"),
    [
        (3, 0, ZoneState.NORMAL),
        (0, 1, ZoneState.FULL_DISRUPTION),
        (0, 3, ZoneState.FULL_DISRUPTION),
        (1, 2, ZoneState.NORMAL),
        (2, 3, ZoneState.PARTIAL_DISRUPTION),
        (3, 3, ZoneState.NORMAL),
        (0, 0, ZoneState.NORMAL),
    ],
)
def test_the_state_of_a_zone(ready: int, unready: int, state: ZoneState) -> None:
    assert state_of([True] * ready + [False] * unready) is state


def test_a_partly_disrupted_zone_gives_up_nodes_only_when_it_is_large() -> None:
    assert rate_of(ZoneState.PARTIAL_DISRUPTION, 50) == 0
    assert rate_of(ZoneState.PARTIAL_DISRUPTION, 51) == 0.01
    assert rate_of(ZoneState.FULL_DISRUPTION, 5) == RATE


def test_nodes_are_given_up_one_in_ten_seconds() -> None:
    rationing = Rationing()
    assert rationing.assess({"": [False, False, True]}) is Shift.NONE
    for name in ("a", "b", "c", "a"):
        rationing.submit("", name)
    assert rationing.due(0.0) == ["a"]
    assert rationing.due(5.0) == []
    rationing.withdraw("", "b")
    assert rationing.due(10.0) == ["c"]


def test_no_node_is_given_up_while_none_is_ready() -> None:
    rationing = Rationing()
    assert rationing.assess({"a": [False], "b": [False, False]}) is Shift.ALL_DOWN
    rationing.submit("a", "n1")
    assert rationing.due(1000.0) == []
    assert rationing.assess({"a": [False], "b": [False, False]}) is Shift.NONE
    assert rationing.assess({"a": [False], "b": [True, False]}) is Shift.RECOVERED
    assert rationing.due(2000.0) == []
    rationing.submit("a", "n1")
    assert rationing.due(3000.0) == ["n1"]


NOT_READY = core.Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
OTHER = core.Taint(key="other", value="x", effect="NoExecute")


def _bears(key: str, seconds: int | None = None) -> core.Toleration:
    return core.Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("tolerations", "taints", "time"),
    [
        ([], [], math.inf),
        ([], [NOT_READY], 0),
        ([_bears("node.kubernetes.io/not-ready", 300)], [NOT_READY], 300),
        ([_bears("node.kubernetes.io/not-ready")], [NOT_READY], math.inf),
        ([_bears("node.kubernetes.io/not-ready", -5)], [NOT_READY], 0),
        ([_bears("node.kubernetes.io/not-ready", 300)], [NOT_READY, OTHER], 0),
        ([_bears("node.kubernetes.io/not-ready", 300), _bears("other", 10)], [NOT_READY, OTHER], 10),
        ([_bears("node.kubernetes.io/not-ready", 300), _bears("other")], [NOT_READY, OTHER], 300),
        ([core.Toleration(operator="Exists")], [NOT_READY, OTHER], math.inf),
    ],
)
def test_how_long_taints_are_borne(tolerations: list[core.Toleration], taints: list[core.Taint], time: float) -> None:
    assert endurance(tolerations, taints) == time
