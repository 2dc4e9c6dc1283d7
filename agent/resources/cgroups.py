"""The agent's cgroups: `kubepods`, a group for each of the lower QoS classes, and one for each pod.

Containers are made below their pod's group by the runtime, which is told its name (`parent_of`). The groups of the
classes follow the pods that are there; what is left of pods that are gone is found and removed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Iterable, Mapping, Sequence

from agent.resources.kernel import KernelFacts
from agent.resources.names import ROOT, Driver, Name, class_name, parent_of_sandbox, path_of, pod_name, uid_of
from agent.resources.pods import pod_settings
from agent.resources.settings import UNLIMITED, Settings
from agent.resources.shares import LEAST_SHARES, shares_of
from agent.resources.tree import CgroupTree
from agent.resources.v1 import SplitTree
from agent.resources.v2 import UnifiedTree
from api import core_v1 as core
from api.pod_resources import BEST_EFFORT, BURSTABLE, GUARANTEED, pod_requests, qos_class
from api.quantity import Quantity
from client.clock import Clock

log = logging.getLogger(__name__)

# As good as unlimited, and what upstream writes.
_ALL_HUGE_PAGES = 1 << 62
_CLASSES = (GUARANTEED, BURSTABLE, BEST_EFFORT)
# Killing is asynchronous: a group is empty some milliseconds after.
_REMOVE_PAUSES = (0.01, 0.05, 0.2, 0.5, 1.0)
_NONE = Quantity(0)


def machine_tree(kernel: KernelFacts) -> CgroupTree:
    """The cgroups of this machine."""
    return UnifiedTree() if kernel.cgroup_v2 else SplitTree()


class PodCgroups:
    """Keeps the tree. Writing to cgroup files can block for long in the kernel, so it is done in threads."""

    def __init__(
        self,
        tree: CgroupTree,
        kernel: KernelFacts,
        clock: Clock,
        *,
        driver: Driver = Driver.CGROUPFS,
        root: Name = (ROOT,),
        pids_limit: int = UNLIMITED,
    ) -> None:
        """`pids_limit` is for each pod (setting, podPidsLimit)."""
        self._tree = tree
        self._kernel = kernel
        self._clock = clock
        self._driver = driver
        self._root = root
        self._pids_limit = pids_limit

    def parent_of(self, pod: core.Pod) -> str:
        """What the runtime is told as the cgroup parent of a pod's sandbox and containers."""
        return parent_of_sandbox(self._name(pod), self._driver)

    async def start(self, capacity: Mapping[str, Quantity], pids: int = UNLIMITED) -> None:
        """Makes the root and the classes. `capacity` is what pods may have of the node in all (cpu, memory,
        hugepages-*), which the root is limited to; `pids` likewise. Raises OSError.
        """
        cpu, memory = capacity.get("cpu"), capacity.get("memory")
        limits = {
            size: next(
                (
                    amount.value()
                    for name, amount in capacity.items()
                    if name.startswith("hugepages-") and Quantity(name.removeprefix("hugepages-")).value() == size
                ),
                _ALL_HUGE_PAGES,
            )
            for size in self._kernel.huge_page_sizes
        }
        top = Settings(
            cpu_shares=shares_of(cpu.milli()) if cpu else None,
            memory_limit=memory.value() if memory else UNLIMITED,
            pids_limit=pids,
            huge_page_limits=limits,
        )
        await self._ensure(self._root, top)
        for quality in (BURSTABLE, BEST_EFFORT):
            await self._ensure(class_name(quality, self._root), self._class_settings(LEAST_SHARES))

    async def update_classes(self, pods: Iterable[core.Pod]) -> None:
        """Gives the burstable class the shares its pods request together. To be called when pods come and go, and from
        time to time against whatever else writes there. Raises OSError.
        """
        milli = sum(pod_requests(pod.spec).get("cpu", _NONE).milli() for pod in pods if qos_class(pod) == BURSTABLE)
        await self._ensure(class_name(BURSTABLE, self._root), self._class_settings(shares_of(milli)))
        await self._ensure(class_name(BEST_EFFORT, self._root), self._class_settings(LEAST_SHARES))

    async def ensure_pod(self, pod: core.Pod) -> None:
        """Makes the pod's group, or brings its settings up to date. Raises OSError."""
        await self._ensure(self._name(pod), pod_settings(pod, self._kernel, self._pids_limit))

    async def remove_pod(self, uid: str) -> None:
        """Kills what is left in the pod's group and removes it; idempotent. Raises OSError when it cannot be."""
        for quality in _CLASSES:
            path = path_of(pod_name(uid, quality, self._root), self._driver)
            await self._remove(path)

    async def pods(self) -> Sequence[str]:
        """UIDs that have a group, of whatever class."""
        return await asyncio.to_thread(self._list)

    def _list(self) -> list[str]:
        found: set[str] = set()
        for quality in _CLASSES:
            path = path_of(class_name(quality, self._root), self._driver)
            for entry in self._tree.children(path):
                uid = uid_of(entry, self._driver)
                if uid is not None:
                    found.add(uid)
        return sorted(found)

    async def _remove(self, path: str) -> None:
        for pause in (*_REMOVE_PAUSES, None):
            try:
                await asyncio.to_thread(self._tree.remove, path)
            except OSError as error:
                if error.errno != errno.EBUSY or pause is None:
                    raise
                left = await asyncio.to_thread(self._tree.pids, path)
                if left:
                    log.info("kill what is left in a cgroup: path=%s pids=%s", path, sorted(left)[:20])
                    await asyncio.to_thread(self._tree.kill, path)
                await self._clock.sleep(pause)
            else:
                return

    async def _ensure(self, name: Name, settings: Settings) -> None:
        await asyncio.to_thread(self._tree.ensure, path_of(name, self._driver), settings)

    def _class_settings(self, shares: int) -> Settings:
        limits = dict.fromkeys(self._kernel.huge_page_sizes, _ALL_HUGE_PAGES)
        return Settings(cpu_shares=shares, huge_page_limits=limits)

    def _name(self, pod: core.Pod) -> Name:
        return pod_name(pod.metadata.uid, qos_class(pod), self._root)
