"""The controller process beside a real API server: what was tried with doubles, over TLS and RBAC."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import StatusError
from api.quantity import Quantity
from client.errors import Unreachable
from client.kubeconfig import load
from client.rest import ApiClient
from controlplane.apiserver import server
from controlplane.apiserver.config import ServerConfig
from controlplane.manager import ManagerConfig, run
from controlplane.pki.paths import Pki

T = TypeVar("T")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def _cluster(
    folder: Path, *, managers: int, leader_elect: bool
) -> AsyncIterator[tuple[ApiClient, list[asyncio.Event]]]:
    config = ServerConfig(data_dir=folder / "data", config_dir=folder / "config", port=_free_port())
    pki = Pki(config.data_dir, config.config_dir)
    stop_server, stops = asyncio.Event(), [asyncio.Event() for _ in range(managers)]
    async with asyncio.TaskGroup() as serving:
        serving.create_task(server.run(config, stop_server))
        try:
            await _eventually(lambda: _exists(pki.admin_kubeconfig))
            settings = ManagerConfig(pki.controller_kubeconfig, pki.scheduler_kubeconfig, leader_elect=leader_elect)
            async with ApiClient(load(pki.admin_kubeconfig)) as admin, asyncio.TaskGroup() as working:
                await _eventually(lambda: _answers(admin))
                for stop in stops:
                    working.create_task(run(settings, stop))
                try:
                    yield admin, stops
                finally:
                    for stop in stops:
                        stop.set()
        finally:
            stop_server.set()


async def _eventually(probe: Callable[[], Awaitable[T | None]]) -> T:
    """Ask again and again, for as long as any machine may need; the servers under test are real ones."""
    async with asyncio.timeout(60):
        while True:
            found = await probe()
            if found:
                return found
            await asyncio.sleep(0.05)


async def _exists(path: Path) -> bool:
    return path.exists()


async def _answers(admin: ApiClient) -> bool:
    try:
        await admin.get(core.Namespace, "default")
    except (Unreachable, StatusError):
        return False
    return True


async def _scenery(admin: ApiClient) -> None:
    await admin.create(
        core.Node(
            metadata=meta.ObjectMeta(name="n1"),
            status=core.NodeStatus(
                allocatable={"cpu": Quantity("2"), "memory": Quantity("1Gi"), "pods": Quantity("10")}
            ),
        )
    )
    # No node controller looks at this node: the test stands in for it.
    await admin.patch(core.Node, "n1", {"spec": {"taints": None}})


async def _bound(admin: ApiClient, name: str) -> core.Pod:
    containers = [core.Container(name="app", image="hello")]
    pod = core.Pod(metadata=meta.ObjectMeta(name=name, namespace="default"), spec=core.PodSpec(containers=containers))
    await admin.create(pod)

    async def bound() -> core.Pod | None:
        found = await admin.get(core.Pod, name, "default")
        return found if found.spec.node_name else None

    return await _eventually(bound)


async def _account(admin: ApiClient) -> None:
    try:
        await admin.create(core.ServiceAccount(metadata=meta.ObjectMeta(name="default", namespace="default")))
    except StatusError:
        # The controllers of this very process were quicker.
        await admin.get(core.ServiceAccount, "default", "default")


@pytest.mark.timeout(150)
async def test_a_pod_gets_its_node_and_its_event(tmp_path: Path) -> None:
    async with _cluster(tmp_path, managers=1, leader_elect=False) as (admin, _):
        await _account(admin)
        await _scenery(admin)
        pod = await _bound(admin, "web")
        assert pod.spec.node_name == "n1"

        async def told() -> list[str]:
            events = (await admin.list(core.Event, "default", field_selector="reason=Scheduled")).items
            return [event.message for event in events]

        assert await _eventually(told) == ["Successfully assigned default/web to n1"]


@pytest.mark.timeout(150)
async def test_of_two_processes_one_works_and_the_other_takes_over(tmp_path: Path) -> None:
    async with _cluster(tmp_path, managers=2, leader_elect=True) as (admin, stops):
        await _account(admin)
        await _scenery(admin)
        await _bound(admin, "first")
        stops[0].set()
        await _bound(admin, "second")
        stops[1].set()
