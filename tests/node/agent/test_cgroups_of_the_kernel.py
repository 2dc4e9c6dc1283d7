"""Both kinds of trees on the machine's own cgroups, with a process in them."""

from __future__ import annotations

import errno
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.resources.kernel import look_up
from agent.resources.settings import UNLIMITED, Settings
from agent.resources.tree import CgroupTree
from agent.resources.v1 import SplitTree, mounted_hierarchies
from agent.resources.v2 import UnifiedTree

pytestmark = pytest.mark.node

SECONDS = 20.0


def _unified_mount() -> Path:
    return Path(mounted_hierarchies()["unified"])


def _procs_folders(tree: CgroupTree, path: str) -> list[Path]:
    """Where a process has to be put to be in the group."""
    if isinstance(tree, UnifiedTree):
        return [_unified_mount() / path]
    mounts = mounted_hierarchies()
    return [Path(mounts[name]) / path for name in ("cpu", "memory", "pids")]


@pytest.fixture(params=["split", "unified"])
def tree(request: pytest.FixtureRequest) -> CgroupTree:
    if request.param == "unified":
        return UnifiedTree(_unified_mount())
    if look_up().cgroup_v2:
        pytest.skip("this machine has no cgroups of version 1")
    return SplitTree()


@pytest.fixture
def root(tree: CgroupTree) -> Iterator[str]:
    name = f"orlop-test-{secrets.token_hex(3)}"
    yield name
    for pid in tree.pids(name):
        os.kill(pid, 9)
    tree.remove(name)
    assert not tree.exists(name)
    assert name not in tree.children("")


def test_a_group_is_made_set_listed_and_removed(tree: CgroupTree, root: str) -> None:
    kernel = look_up()
    settings = Settings(
        cpu_shares=512,
        cpu_quota=20_000,
        memory_limit=64 << 20,
        pids_limit=10,
        huge_page_limits=dict.fromkeys(kernel.huge_page_sizes, 0),
    )
    tree.ensure(f"{root}/pod1", settings)
    tree.ensure(f"{root}/pod1", Settings(memory_limit=UNLIMITED, pids_limit=UNLIMITED, cpu_quota=UNLIMITED))
    tree.ensure(f"{root}/pod2", Settings())
    assert tree.children(root) == ["pod1", "pod2"]
    assert tree.exists(f"{root}/pod1")
    if isinstance(tree, SplitTree):
        mounts = mounted_hierarchies()
        assert Path(mounts["cpu"], root, "pod1/cpu.shares").read_text() == "512\n"
        assert Path(mounts["cpu"], root, "pod1/cpu.cfs_quota_us").read_text() == "-1\n"
        assert Path(mounts["pids"], root, "pod1/pids.max").read_text() == "max\n"
    else:
        assert Path(_unified_mount(), root, "pod1/hugetlb.2MB.max").read_text() == "0\n"
    tree.remove(f"{root}/pod1")
    assert tree.children(root) == ["pod2"]


def test_what_runs_in_a_group_keeps_it_until_it_is_killed(tree: CgroupTree, root: str) -> None:
    tree.ensure(f"{root}/pod1", Settings())
    process = subprocess.Popen(["sleep", "1000"])
    bystander = subprocess.Popen(["sleep", "1000"])
    try:
        for folder in _procs_folders(tree, f"{root}/pod1"):
            # As a runtime does it: processes are in a group of their container's, below the pod's.
            (folder / "container").mkdir()
            (folder / "container/cgroup.procs").write_text(str(process.pid))
        assert tree.pids(root) == {process.pid}
        with pytest.raises(OSError) as caught:
            tree.remove(f"{root}/pod1")
        assert caught.value.errno == errno.EBUSY
        tree.kill(f"{root}/pod1")
        assert process.wait(SECONDS) == -9
        assert bystander.poll() is None
        assert tree.pids(root) == set()
        tree.remove(f"{root}/pod1")
    finally:
        for one in (process, bystander):
            one.kill()
            one.wait()
