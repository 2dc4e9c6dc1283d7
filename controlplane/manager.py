"""The controller process: scheduler and controllers side by side, over one set of informers.

They share what would be waste to have twice (the copy of the cluster in memory) and nothing else: each acts under its
own identity, so that RBAC holds each to its own trade. Where several servers run, a Lease says which one's process is
at work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path

from client.clock import Clock, SystemClock
from client.events import EventRecorder
from client.informer import InformerFactory
from client.kubeconfig import load
from client.leaderelection import LeaderElector
from client.rest import ApiClient
from controlplane.controllers import main as controllers
from controlplane.scheduler import main as scheduler

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-system"
LEASE_NAME = "orlop-controller"
LEASE_TIMEOUT = 5.0  # seconds a request for the Lease may take


@dataclass(frozen=True, slots=True)
class ManagerConfig:
    """How to reach the API server as each of the parts. `leader_elect` is for clusters with more than one server."""

    controller_kubeconfig: Path
    scheduler_kubeconfig: Path
    leader_elect: bool = False


async def run(config: ManagerConfig, stop: asyncio.Event, *, clock: Clock | None = None) -> None:
    """Run scheduler and controllers until `stop` is set.

    Raises client.errors.ConfigError for a kubeconfig that is not usable, client.leaderelection.LeadershipLost when
    another server took over.
    """
    clock = clock or SystemClock()
    async with (
        ApiClient(load(config.controller_kubeconfig), clock=clock, user_agent="orlop-controller") as controller_client,
        ApiClient(load(config.scheduler_kubeconfig), clock=clock, user_agent="orlop-scheduler") as scheduler_client,
    ):

        async def work() -> None:
            await _work(controller_client, scheduler_client, clock, stop)

        if not config.leader_elect:
            await work()
            return
        identity = f"{socket.gethostname()}_{os.urandom(8).hex()}"
        async with controller_client.dedicated(timeout=LEASE_TIMEOUT) as lease_client:
            elector = LeaderElector(lease_client, clock, namespace=LEASE_NAMESPACE, name=LEASE_NAME, identity=identity)
            await _unless_stopped(stop, elector.run(work))


async def _work(controller_client: ApiClient, scheduler_client: ApiClient, clock: Clock, stop: asyncio.Event) -> None:
    factory = InformerFactory(controller_client, clock=clock)
    recorder = EventRecorder(scheduler_client, scheduler.SCHEDULER_NAME, clock=clock)
    async with asyncio.TaskGroup() as group:
        services = [
            group.create_task(factory.run(), name="informers"),
            group.create_task(recorder.run(), name="scheduler-events"),
        ]
        async with asyncio.TaskGroup() as parts:
            parts.create_task(scheduler.run(scheduler_client, clock, recorder, stop, factory=factory), name="scheduler")
            # The CA by which we trust the server is the one that pods are to trust it by.
            root_ca = controller_client.config.ca
            parts.create_task(
                controllers.run(controller_client, clock, stop, root_ca=root_ca, factory=factory), name="controllers"
            )
        for service in services:
            service.cancel()


async def _unless_stopped(stop: asyncio.Event, leading: Coroutine[None, None, None]) -> None:
    """Await, but not long beyond `stop`: a leader ends by itself then, a candidate that never led has to be told."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(leading, name="leader-election")
        stopping = group.create_task(stop.wait(), name="stop")
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((task,), timeout=LEASE_TIMEOUT)
        task.cancel()
        stopping.cancel()
