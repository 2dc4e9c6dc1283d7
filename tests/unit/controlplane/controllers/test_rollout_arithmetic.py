"""How far a roll-out may go: the numbers alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.apps_v1 import RollingUpdateDeployment
from controlplane.controllers.deployments.rolling import grown, recreate, roll, shrunk
from controlplane.controllers.deployments.scaling import is_resized, proportional, resize
from controlplane.controllers.deployments.sizes import Goal, Share, goal_of
from tests.unit.controlplane.controllers.small_cluster import deployment


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (4, "25%", "25%", (1, 1)),
        (1, "25%", "25%", (1, 0)),
        (3, 0, 0, (0, 1)),
        (3, 0, "1%", (0, 1)),
        (10, 5, 20, (5, 10)),
        (0, "50%", "50%", (0, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    asked = deployment(replicas=replicas)
    asked.spec.strategy.rolling_update = RollingUpdateDeployment(unavailable, surge)
    goal = goal_of(asked)
    assert (goal.surge, goal.unavailable) == expected


@pytest.mark.parametrize(
    ("goal", "new", "old", "size"),
    [
        (Goal(10, 3), 0, 10, 3),
        (Goal(10, 3), 3, 10, 3),
        (Goal(10, 3), 3, 8, 5),
        (Goal(10, 0), 0, 10, 0),
        (Goal(10, 3), 12, 0, 10),
        (Goal(10, 3), 0, 0, 10),
        (Goal(10, 3), 2, 20, 2),
    ],
)
def test_new_pods_come_within_the_surge(goal: Goal, new: int, old: int, size: int) -> None:
    assert grown(goal, Share("new", new), [Share("old", old)]) == size


@pytest.mark.parametrize(
    ("goal", "new", "old", "sizes"),
    [
        # Nothing is available beyond what must be.
        (Goal(10, 0, 0), Share("new", 0), [Share("a", 10, 10)], {}),
        (Goal(10, 2, 2), Share("new", 2), [Share("a", 10, 10)], {"a": 8}),
        # Pods that do not serve go first, the oldest replica set first.
        (
            Goal(10, 0, 5),
            Share("new", 0),
            [Share("b", 5, 3, age=("2", "")), Share("a", 5, 2, age=("1", ""))],
            {"a": 2, "b": 3},
        ),
        # New pods that do not serve yet hold the old ones.
        (Goal(10, 2, 0), Share("new", 2, 0), [Share("a", 10, 10)], {}),
        (Goal(10, 2, 0), Share("new", 2, 2), [Share("a", 10, 10)], {"a": 8}),
    ],
)
def test_old_pods_go_as_new_ones_serve(goal: Goal, new: Share, old: list[Share], sizes: dict[str, int]) -> None:
    assert shrunk(goal, new, old) == sizes


def test_recreation_waits_for_the_last_old_pod() -> None:
    goal, new, old = Goal(3), Share("new", 0), Share("old", 3, 3)
    assert recreate(goal, new, [old], True) == {"old": 0}
    gone = replace(old, size=0)
    assert recreate(goal, new, [gone], True) == {}
    assert recreate(goal, new, [gone], False) == {"new": 3}


@pytest.mark.parametrize(
    ("goal", "before", "sizes"),
    [
        # (size of each, oldest first; the deployment was 10 with 2 more when they were cut to it)
        (Goal(20, 4), (4, 8), (8, 16)),
        (Goal(5, 1), (4, 8), (2, 4)),
        (Goal(0, 0), (4, 8), (0, 0)),
        (Goal(11, 2), (6, 6), (6, 7)),
        (Goal(9, 2), (6, 6), (5, 6)),
    ],
)
def test_a_change_of_size_is_shared_by_proportion(goal: Goal, before: tuple[int, int], sizes: tuple[int, int]) -> None:
    shares = [
        Share(name, size, size, age=(name, ""), most_before=12, desired_before=10)
        for name, size in zip("ab", before, strict=True)
    ]
    assert proportional(goal, shares) == dict(zip("ab", sizes, strict=True))


shares = st.builds(
    lambda uid, size, ready: Share(uid, size, min(size, ready), age=(uid, "")),
    st.uuids().map(str),
    st.integers(0, 30),
    st.integers(0, 30),
)


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(0, 10), st.lists(shares, min_size=2, max_size=5), st.integers(1, 40))
def test_resizing_always_comes_out_at_the_whole(replicas: int, surge: int, parts: list[Share], before: int) -> None:
    goal = Goal(replicas, surge)
    active = [replace(share, most_before=before) for share in parts if share.size > 0]
    if not active:
        return
    sizes = proportional(goal, active)
    assert sum(sizes.values()) == (goal.most if replicas else 0)
    assert all(size >= 0 for size in sizes.values())


@settings(deadline=None)
@given(st.integers(0, 30), st.lists(shares, max_size=4), shares)
def test_a_resized_deployment_is_so_no_longer_once_all_shares_are_renewed(
    replicas: int, old: list[Share], new: Share
) -> None:
    """Or it would never get beyond resizing."""
    goal = Goal(replicas, 1)
    stale = [replace(share, desired_before=replicas + 1) for share in old]
    renewed = resize(goal, new, stale, rolling=True)
    after = [
        replace(share, size=renewed[share.uid], desired_before=replicas) if share.uid in renewed else share
        for share in [*stale, new]
    ]
    assert not is_resized(goal, after)


@settings(deadline=None)
@given(st.data())
def test_a_rollout_keeps_within_its_bounds_and_ends(data: st.DataObject) -> None:
    """Pods become available in any order and at any time; none fails."""
    replicas = data.draw(st.integers(1, 20))
    goal = Goal(replicas, data.draw(st.integers(0, 5)), min(replicas, data.draw(st.integers(0, 5))))
    if goal.surge == goal.unavailable == 0:
        goal = replace(goal, unavailable=1)
    new = Share("new", 0)
    old = [Share("old", replicas, replicas)]
    for _ in range(20 * replicas):
        sizes = roll(goal, new, old)
        new = _sized(new, sizes)
        old = [_sized(share, sizes) for share in old]
        total = new.size + sum(share.size for share in old)
        serving = new.available + sum(share.available for share in old)
        assert total <= goal.most
        assert serving >= goal.fewest
        if new.size > new.available and (not sizes or data.draw(st.booleans())):
            new = replace(new, available=data.draw(st.integers(new.available + 1, new.size)))
        elif not sizes:
            break
    assert (new.size, new.available, [share.size for share in old]) == (replicas, replicas, [0])


def _sized(share: Share, sizes: dict[str, int]) -> Share:
    size = sizes.get(share.uid, share.size)
    return replace(share, size=size, available=min(size, share.available))
