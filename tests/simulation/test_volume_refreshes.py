"""When the files of running pods' volumes are brought up to date."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.pods.seams import VolumeError
from api import core_v1 as core
from tests.simulation.node_simulation import SimulatedVolumes, Simulation


class Refreshed(SimulatedVolumes):
    """Counts refreshes; each waits for `gate` and fails while `failing`."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.failing = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def refresh(self, pod: core.Pod) -> None:
        self.begun.append(pod.metadata.name)
        await self.gate.wait()
        if self.failing:
            raise VolumeError('MountVolume.SetUp failed for volume "v" : configmap "c" not found')


@asynccontextmanager
async def web() -> AsyncIterator[tuple[Simulation, Refreshed, str]]:
    simulation = Simulation()
    volumes = simulation.volumes = Refreshed()
    async with simulation as node:
        await node.create("web")
        await node.until(lambda: node.is_ready("web"), 30)
        pod = node.pod("web")
        assert pod is not None
        yield node, volumes, pod.metadata.uid


async def test_a_restarted_agent_takes_up_the_volumes_of_pods_that_run() -> None:
    """Or their config maps would be stale, and their tokens would expire, from that restart on."""
    async with web() as (node, volumes, _):
        assert volumes.begun == []
        await node.restart_agent()
        await node.until(lambda: volumes.begun == ["web"], 30)
        await node.wait(600)
        assert volumes.begun == ["web"]


async def test_a_change_that_comes_during_a_refresh_is_not_lost() -> None:
    async with web() as (node, volumes, uid):
        volumes.gate.clear()
        assert node.agent is not None
        node.agent.refresh_volumes(uid)
        await node.until(lambda: len(volumes.begun) == 1, 30)
        node.agent.refresh_volumes(uid)
        volumes.gate.set()
        await node.until(lambda: len(volumes.begun) == 2, 30)
        await node.wait(600)
        assert len(volumes.begun) == 2


async def test_a_refresh_that_fails_is_told_and_tried_again() -> None:
    async with web() as (node, volumes, uid):
        volumes.failing = True
        assert node.agent is not None
        node.agent.refresh_volumes(uid)
        await node.until(lambda: len(volumes.begun) >= 3, 600)
        failures = [message for reason, message in node.events("web") if reason == "FailedMount"]
        assert failures and set(failures) == {'MountVolume.SetUp failed for volume "v" : configmap "c" not found'}
        volumes.failing = False
        so_far = len(volumes.begun)
        await node.until(lambda: len(volumes.begun) == so_far + 1, 600)
        assert node.is_ready("web")
