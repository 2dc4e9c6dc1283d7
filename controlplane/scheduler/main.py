"""The scheduler as a part of a process: its informers, its loop, its end."""

from __future__ import annotations

import asyncio

from api import core_v1 as core
from client.clock import Clock
from client.events import Recorder
from client.informer import InformerFactory
from client.interface import Client
from controlplane.scheduler.cluster import Cluster
from controlplane.scheduler.loop import Scheduler
from controlplane.scheduler.queue import SchedulingQueue
from controlplane.scheduler.watching import Eyes

SCHEDULER_NAME = "default-scheduler"


async def run(
    client: Client,
    clock: Clock,
    recorder: Recorder,
    stop: asyncio.Event,
    *,
    factory: InformerFactory | None = None,
    scheduler_name: str = SCHEDULER_NAME,
) -> None:
    """Schedule pods until `stop` is set.

    `factory` shares informers with the rest of the process, which runs it then; without one, the scheduler has its own.
    """
    informers = factory if factory is not None else InformerFactory(client, clock=clock)
    nodes, pods = informers.informer(core.Node), informers.informer(core.Pod)
    namespaces = informers.informer(core.Namespace)
    cluster, queue = Cluster(), SchedulingQueue(clock)
    eyes = Eyes(cluster, queue, scheduler_name)
    scheduler = Scheduler(client, clock, recorder, pods, cluster, queue, eyes)

    async def work() -> None:
        # No decision before everything is known: half a list of nodes makes for wrong places and false alarms.
        for informer in (nodes, namespaces, pods):
            await informer.synced()
        eyes.watch(nodes, pods, namespaces)
        await scheduler.run()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(), name="scheduler")]
        if factory is None:
            tasks.append(group.create_task(informers.run(), name="scheduler-informers"))
        await stop.wait()
        for task in tasks:
            task.cancel()
