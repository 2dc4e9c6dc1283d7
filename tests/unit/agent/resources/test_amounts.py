"""Requests and limits as numbers: shares, quotas, limits, who is killed first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.resources.containers import container_resources, sandbox_overhead, sandbox_resources
from agent.resources.kernel import KernelFacts, look_up, size_name
from agent.resources.oom import oom_score_adjust
from agent.resources.pods import pod_settings
from agent.resources.settings import UNLIMITED
from agent.resources.shares import quota_of, shares_of, weight_of
from tests.unit.agent.pod_builders import pod, sidecar

GIB = 1 << 30
KERNEL = KernelFacts(memory_bytes=4 * GIB, huge_page_sizes=(2 << 20, 1 << 30))


@pytest.mark.parametrize(
    ("milli", "shares"),
    [(0, 2), (1, 2), (2, 2), (3, 3), (100, 102), (250, 256), (1000, 1024), (256_000, 262_144), (999_999, 262_144)],
)
def test_shares(milli: int, shares: int) -> None:
    assert shares_of(milli) == shares


@pytest.mark.parametrize(("shares", "weight"), [(2, 1), (256, 10), (1024, 39), (262_144, 10_000), (500_000, 10_000)])
def test_weights(shares: int, weight: int) -> None:
    assert weight_of(shares) == weight


@given(st.integers(2, 262_144), st.integers(2, 262_144))
def test_weights_keep_the_order_of_shares(one: int, other: int) -> None:
    assert 1 <= weight_of(one) <= 10_000
    if one <= other:
        assert weight_of(one) <= weight_of(other)


@pytest.mark.parametrize(
    ("milli", "quota"), [(0, 0), (1, 1000), (10, 1000), (11, 1100), (500, 50_000), (2500, 250_000)]
)
def test_quotas(milli: int, quota: int) -> None:
    assert quota_of(milli) == quota


def test_huge_page_sizes_are_named_as_the_kernel_does() -> None:
    assert [size_name(size) for size in (64 << 10, 2 << 20, 1 << 30)] == ["64KB", "2MB", "1GB"]


def resources(
    requests: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
    kernel: KernelFacts = KERNEL,
    **spec: Any,
) -> Any:
    one = pod({"name": "app", "resources": {"requests": requests or {}, "limits": limits or {}}}, **spec)
    return container_resources(one, one.spec.containers[0], kernel)


def test_a_container_with_both() -> None:
    made = resources({"cpu": "250m", "memory": "64Mi"}, {"cpu": "500m", "memory": "128Mi", "hugepages-2Mi": "4Mi"})
    assert (made.cpu_shares, made.cpu_quota, made.cpu_period) == (256, 50_000, 100_000)
    assert made.memory_limit_in_bytes == 128 << 20
    assert [(one.page_size, one.limit) for one in made.hugepage_limits] == [("2MB", 4 << 20), ("1GB", 0)]
    assert dict(made.unified) == {"memory.oom.group": "1"}


def test_a_limit_stands_in_for_a_missing_request() -> None:
    assert resources({}, {"cpu": "500m"}).cpu_shares == 512
    assert resources({"cpu": "0"}, {"cpu": "500m"}).cpu_shares == 2
    assert resources({}, {}).cpu_shares == 2


def test_the_pods_own_limits_stand_in_for_a_containers() -> None:
    shared = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    made = resources({}, {"memory": "64Mi"}, resources=shared)
    assert (made.cpu_quota, made.memory_limit_in_bytes) == (200_000, 64 << 20)


def test_settings_and_kernel_decide_the_rest() -> None:
    assert resources({}, {"cpu": "1"}, KernelFacts(cpu_quota=False)).cpu_quota == 0
    assert resources({}, {"cpu": "1"}, KernelFacts(cpu_period=10_000)).cpu_quota == 10_000
    assert not resources(kernel=KernelFacts(single_process_oom_kill=True)).unified
    assert not resources(kernel=KernelFacts(cgroup_v2=False)).unified
    v2 = resources({}, {"memory": "1Mi"}, KernelFacts(swap_limits=True))
    assert v2.unified["memory.swap.max"] == "0"
    v1 = resources({}, {"memory": "1Mi"}, KernelFacts(cgroup_v2=False, swap_limits=True))
    assert v1.memory_swap_limit_in_bytes == 1 << 20


def test_the_sandbox_is_told_the_pods_sum_and_its_overhead_apart() -> None:
    one = pod(
        {"name": "a", "resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "100m"}}},
        {"name": "b", "resources": {"limits": {"cpu": "1", "memory": "64Mi"}, "requests": {"cpu": "100m"}}},
        overhead={"cpu": "250m", "memory": "32Mi"},
    )
    made = sandbox_resources(one, KERNEL)
    assert (made.cpu_shares, made.cpu_quota, made.memory_limit_in_bytes) == (204, 200_000, 128 << 20)
    overhead = sandbox_overhead(one, KERNEL)
    assert overhead is not None
    assert (overhead.cpu_shares, overhead.memory_limit_in_bytes) == (256, 32 << 20)
    assert sandbox_overhead(pod(), KERNEL) is None


def with_resources(name: str, requests: dict[str, str], limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests, "limits": limits or {}}}


def test_a_pods_cgroup_by_class() -> None:
    full = {"cpu": "1", "memory": "1Gi"}
    guaranteed = pod_settings(pod(with_resources("a", full, full)), KERNEL)
    assert (guaranteed.cpu_shares, guaranteed.cpu_quota, guaranteed.memory_limit) == (1024, 100_000, GIB)
    burstable = pod_settings(pod(with_resources("a", full, full), with_resources("b", {"cpu": "1"})), KERNEL)
    assert (burstable.cpu_shares, burstable.cpu_quota, burstable.memory_limit) == (2048, UNLIMITED, UNLIMITED)
    limited = pod_settings(pod(with_resources("a", {"cpu": "1"}, full)), KERNEL)
    assert (limited.cpu_shares, limited.cpu_quota, limited.memory_limit) == (1024, 100_000, GIB)
    best_effort = pod_settings(pod(), KERNEL, pids_limit=100)
    assert (best_effort.cpu_shares, best_effort.cpu_quota, best_effort.memory_limit) == (2, UNLIMITED, UNLIMITED)
    assert best_effort.pids_limit == 100
    assert best_effort.huge_page_limits == {2 << 20: 0, 1 << 30: 0}


def test_pod_level_limits_limit_the_pod() -> None:
    one = pod("a", "b", resources={"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}})
    made = pod_settings(one, KERNEL)
    assert (made.cpu_shares, made.cpu_quota, made.memory_limit) == (1024, 200_000, GIB)


def test_a_limitless_init_container_makes_the_pod_limitless() -> None:
    one = pod(with_resources("a", {"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}), init=["first"])
    assert pod_settings(one, KERNEL).cpu_quota == UNLIMITED


@pytest.mark.parametrize(
    ("requests", "limits", "priority", "adjust"),
    [
        ({}, {}, None, 1000),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, None, -997),
        ({"cpu": "1"}, {}, None, 999),
        ({"memory": "1Gi"}, {}, None, 750),
        ({"memory": "2Gi"}, {}, None, 500),
        ({"memory": "4Gi"}, {}, None, 3),
        ({"memory": "1"}, {}, None, 999),
        ({"memory": "1Gi"}, {}, 2_000_001_000, -997),
        ({"memory": "1Gi"}, {}, 2_000_000_000, 750),
    ],
)
def test_who_is_killed_first(
    requests: dict[str, str], limits: dict[str, str], priority: int | None, adjust: int
) -> None:
    one = pod(with_resources("app", requests, limits), priority=priority)
    assert oom_score_adjust(one, one.spec.containers[0], 4 * GIB) == adjust


def test_a_sidecar_is_as_safe_as_what_it_serves() -> None:
    one = pod(
        with_resources("app", {"memory": "2Gi"}),
        init=[sidecar("proxy", resources={"requests": {"memory": "4Mi"}}), "first"],
    )
    assert oom_score_adjust(one, one.spec.init_containers[0], 4 * GIB) == 500
    assert oom_score_adjust(one, one.spec.init_containers[1], 4 * GIB) == 999


def test_what_the_pod_requests_beyond_its_containers_is_shared_out() -> None:
    one = pod(with_resources("a", {"memory": "512Mi"}), "b", resources={"requests": {"memory": "2560Mi"}, "limits": {}})
    a, b = (oom_score_adjust(one, each, 4 * GIB) for each in one.spec.containers)
    assert (a, b) == (1000 - 1000 * 1536 // 4096, 1000 - 1000 * 1024 // 4096)


@pytest.mark.parametrize("v2", [True, False])
def test_the_machine_is_looked_up(tmp_path: Path, v2: bool) -> None:
    for folder in (
        "proc/self",
        "sys/fs/cgroup/memory",
        "sys/fs/cgroup/own",
        "sys/kernel/mm/hugepages/hugepages-2048kB",
    ):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       1024 kB\nMemFree: 1 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/own\n")
    if v2:
        (tmp_path / "sys/fs/cgroup/cgroup.controllers").touch()
        (tmp_path / "sys/fs/cgroup/own/memory.swap.max").touch()
    facts = look_up(tmp_path)
    assert facts == KernelFacts(memory_bytes=1 << 20, huge_page_sizes=(2 << 20,), cgroup_v2=v2, swap_limits=v2)
