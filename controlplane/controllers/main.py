"""The controllers as a part of a process: made over shared informers, run side by side, ended together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol

from api import core_v1 as core
from api.apps_v1 import Deployment, ReplicaSet
from api.coordination_v1 import Lease
from client.clock import Clock
from client.events import EventRecorder
from client.informer import InformerFactory
from client.interface import Client
from controlplane.controllers.deployments import controller as deployments
from controlplane.controllers.garbage import controller as garbage
from controlplane.controllers.namespaces.controller import NamespaceController
from controlplane.controllers.nodes import eviction, lifecycle
from controlplane.controllers.nodes.placement import OnNodes
from controlplane.controllers.ownership import Owned
from controlplane.controllers.pod_collection.controller import PodCollector
from controlplane.controllers.replicasets import controller as replicasets
from controlplane.controllers.root_ca import RootCaController
from controlplane.controllers.service_accounts import ServiceAccountController


class Service(Protocol):
    """Something that works until cancelled: a controller, a recorder."""

    async def run(self) -> None: ...


async def run(
    client: Client,
    clock: Clock,
    stop: asyncio.Event,
    *,
    root_ca: bytes,
    factory: InformerFactory | None = None,
) -> None:
    """Run all controllers until `stop` is set.

    `root_ca` is the cluster's CA bundle in PEM. `factory` shares informers with the rest of the process, which runs it
    then; without one, the controllers have their own.
    """
    informers = factory if factory is not None else InformerFactory(client, clock=clock)
    services: list[Service] = list(_services(client, informers, clock, root_ca))
    if factory is None:
        services.append(informers)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(service.run(), name=type(service).__name__) for service in services]
        await stop.wait()
        for task in tasks:
            task.cancel()


def _services(client: Client, informers: InformerFactory, clock: Clock, root_ca: bytes) -> Iterator[Service]:
    pods = Owned(informers.informer(core.Pod))
    replica_sets = Owned(informers.informer(ReplicaSet))

    yield ServiceAccountController(client, informers, clock)
    yield RootCaController(client, informers, clock, root_ca)
    yield NamespaceController(client, informers, clock)

    # Each controller reports under its own name.
    recorder = EventRecorder(client, replicasets.COMPONENT, clock=clock)
    yield recorder
    yield replicasets.ReplicaSetController(client, replica_sets, pods, clock, recorder)

    recorder = EventRecorder(client, deployments.COMPONENT, clock=clock)
    yield recorder
    yield deployments.DeploymentController(client, informers.informer(Deployment), replica_sets, pods, clock, recorder)

    placed = OnNodes(pods.informer)
    recorder = EventRecorder(client, lifecycle.COMPONENT, clock=clock)
    yield recorder
    yield lifecycle.NodeLifecycleController(client, informers, placed, clock, recorder)

    recorder = EventRecorder(client, eviction.COMPONENT, clock=clock)
    yield recorder
    yield eviction.TaintEvictionController(client, informers, placed, clock, recorder)
    yield PodCollector(client, informers, clock)

    recorder = EventRecorder(client, garbage.COMPONENT, clock=clock)
    yield recorder
    shared = (core.Pod, core.Node, core.Namespace, Lease, ReplicaSet, Deployment)
    yield garbage.GarbageCollector(client, informers, clock, recorder, shared)
