"""Which pod goes first when there are too many."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import core_v1 as core
from api import meta_v1 as meta
from api.times import Time
from controlplane.controllers.replicasets.ranking import DELETION_COST, deletion_cost, in_order_of_deletion

NOW = 1_767_225_600.0
_uids = itertools.count()


def _pod(
    *,
    node: str = "n1",
    phase: str = "Running",
    ready: bool = True,
    cost: str | None = None,
    ready_for: float = 1000.0,
    restarts: int = 0,
    age: float = 1000.0,
    uid: str = "",
) -> core.Pod:
    status = core.PodStatus(
        phase=phase,
        conditions=[
            core.PodCondition(
                type="Ready",
                status="True" if ready else "False",
                last_transition_time=Time.from_timestamp(NOW - ready_for),
            )
        ],
        container_statuses=[core.ContainerStatus(name="app", restart_count=restarts)],
    )
    return core.Pod(
        metadata=meta.ObjectMeta(
            uid=uid or f"{next(_uids):08d}",
            annotations={DELETION_COST: cost} if cost is not None else {},
            creation_timestamp=Time.from_timestamp(NOW - age),
        ),
        spec=core.PodSpec(node_name=node, containers=[core.Container(name="app")]),
        status=status,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(_pod(node=""), _pod(phase="Pending", ready=False), id="without a node"),
        pytest.param(_pod(phase="Pending", ready=False), _pod(phase="Unknown", ready=False), id="pending"),
        pytest.param(_pod(phase="Unknown", ready=False), _pod(ready=False), id="unknown"),
        pytest.param(_pod(ready=False, cost="100"), _pod(cost="-100"), id="not ready"),
        pytest.param(_pod(cost="-1"), _pod(), id="cheap"),
        pytest.param(_pod(ready_for=10), _pod(ready_for=1000), id="ready for less time"),
        pytest.param(_pod(restarts=3), _pod(restarts=1), id="restarted more"),
        pytest.param(_pod(ready=False, age=10), _pod(ready=False, age=1000), id="younger"),
    ],
)
def test_the_lesser_pod_goes_first(first: core.Pod, second: core.Pod) -> None:
    assert in_order_of_deletion([second, first], [first, second], NOW) == [first, second]
    assert in_order_of_deletion([first, second], [first, second], NOW) == [first, second]


def test_a_node_with_several_pods_spares_one() -> None:
    alone, doubled, twin = _pod(node="n1"), _pod(node="n2"), _pod(node="n2")
    assert in_order_of_deletion([alone, doubled], [alone, doubled, twin], NOW) == [doubled, alone]


def test_pods_of_one_age_group_go_by_their_uid() -> None:
    """Their exact age is no reason: the youngest would always be the victim."""
    older, younger = _pod(ready_for=1000, uid="a"), _pod(ready_for=900, uid="b")
    assert in_order_of_deletion([younger, older], [], NOW) == [older, younger]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("05", 0),
        ("+5", 0),
        ("five", 0),
        ("", 0),
        ("2147483648", 0),
        ("-2147483648", -(2**31)),
    ],
)
def test_a_cost_that_cannot_be_understood_is_none(text: str, cost: int) -> None:
    assert deletion_cost(_pod(cost=text)) == cost


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_where_one_begins(rng: random.Random) -> None:
    pods = [
        _pod(
            node=rng.choice(["", "n1", "n2"]),
            phase=rng.choice(["Pending", "Running"]),
            ready=rng.random() < 0.5,
            restarts=rng.randrange(2),
            ready_for=rng.choice([5.0, 500.0]),
            age=rng.choice([5.0, 500.0]),
        )
        for _ in range(6)
    ]
    shuffled = rng.sample(pods, len(pods))
    assert in_order_of_deletion(pods, pods, NOW) == in_order_of_deletion(shuffled, pods, NOW)
