"""A cluster in memory for tests of controllers: the API double, the controllers, and a node that runs pods by fiat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from api import apps_v1 as apps
from api import core_v1 as core
from api import meta_v1 as meta
from api.coordination_v1 import Lease, LeaseSpec
from api.errors import StatusError, is_conflict, is_not_found
from api.pods import is_terminal
from api.times import MicroTime, Time
from client.fake import FakeApiServer, FakeClient
from client.interface import EventType
from controlplane.controllers import main

ROOT_CA = b"-----BEGIN CERTIFICATE-----\nthe cluster's\n-----END CERTIFICATE-----\n"
NODE = "n1"


class Kubelet:
    """Binds pods to its node, starts them after a delay and lets them go soon after they are deleted. While `alive`, it
    sends heartbeats.

    A pod whose image is in `broken` starts but never becomes ready.
    """

    def __init__(self, server: FakeApiServer, *, start_delay: float = 1.0, stop_delay: float = 0.5) -> None:
        self.broken: set[str] = set()
        self.alive = True
        self._server = server
        self._start_delay = start_delay
        self._stop_delay = stop_delay

    async def run(self) -> None:
        self._server.put(node(NODE, self._server.clock.now()))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._beat())
            seen: set[str] = set()
            ending: set[str] = set()
            while True:
                async for event in self._server.watch(core.Pod):
                    if event.type in (EventType.BOOKMARK, EventType.DELETED):
                        continue
                    pod = event.object
                    if pod.metadata.uid not in seen:
                        seen.add(pod.metadata.uid)
                        group.create_task(self._start(pod))
                    if pod.metadata.deletion_timestamp is not None and pod.metadata.uid not in ending:
                        ending.add(pod.metadata.uid)
                        group.create_task(self._stop(pod))

    async def _beat(self) -> None:
        while True:
            if self.alive:
                self._server.put(lease(NODE, self._server.clock.now()))
            await self._server.clock.sleep(10)

    async def _start(self, pod: core.Pod) -> None:
        self._change(pod, _bind)
        await self._server.clock.sleep(self._start_delay)
        image = pod.spec.containers[0].image
        now = self._server.clock.now()
        self._change(pod, lambda live: report(live, "Running", image not in self.broken, now))

    async def _stop(self, pod: core.Pod) -> None:
        await self._server.clock.sleep(self._stop_delay)
        try:
            self._server.delete(
                core.Pod, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid, grace_period=0
            )
        except StatusError as error:
            if not (is_not_found(error) or is_conflict(error)):
                raise

    def _change(self, pod: core.Pod, change: Callable[[core.Pod], None]) -> None:
        try:
            live = self._server.get(core.Pod, pod.metadata.name, pod.metadata.namespace)
        except StatusError:
            return
        if live.metadata.uid == pod.metadata.uid and not is_terminal(live):
            change(live)
            live.metadata.resource_version = ""
            self._server.put(live)


def _bind(pod: core.Pod) -> None:
    pod.spec.node_name = pod.spec.node_name or NODE


def report(pod: core.Pod, phase: str, ready: bool, now: float) -> None:
    """Set a pod's phase and whether it is ready."""
    since = Time.from_timestamp(now)
    pod.status.phase = phase
    pod.status.conditions = [
        core.PodCondition(type="Ready", status="True" if ready else "False", last_transition_time=since)
    ]


def node(name: str, now: float, ready: str = "True", **labels: str) -> core.Node:
    """A node that has just reported."""
    moment = Time.from_timestamp(now)
    condition = core.NodeCondition(
        type="Ready", status=ready, last_heartbeat_time=moment, last_transition_time=moment, reason="KubeletReady"
    )
    return core.Node(
        metadata=meta.ObjectMeta(name=name, labels=labels, creation_timestamp=moment),
        status=core.NodeStatus(conditions=[condition]),
    )


def lease(name: str, now: float) -> Lease:
    """A node's heartbeat."""
    return Lease(
        metadata=meta.ObjectMeta(name=name, namespace="kube-node-lease"),
        spec=LeaseSpec(holder_identity=name, lease_duration_seconds=40, renew_time=MicroTime.from_timestamp(now)),
    )


def deployment(name: str = "web", replicas: int = 3, image: str = "one", **spec: Any) -> apps.Deployment:
    labels = {"app": name}
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=name, namespace="default"),
        spec=apps.DeploymentSpec(
            replicas=replicas,
            selector=meta.LabelSelector(match_labels=labels),
            template=template(labels, image),
            **spec,
        ),
    )


def replica_set(name: str = "web", replicas: int = 3, **spec: Any) -> apps.ReplicaSet:
    labels = {"app": name}
    return apps.ReplicaSet(
        metadata=meta.ObjectMeta(name=name, namespace="default"),
        spec=apps.ReplicaSetSpec(
            replicas=replicas, selector=meta.LabelSelector(match_labels=labels), template=template(labels), **spec
        ),
    )


def template(labels: dict[str, str], image: str = "one") -> core.PodTemplateSpec:
    return core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=labels),
        spec=core.PodSpec(containers=[core.Container(name="app", image=image)]),
    )


@asynccontextmanager
async def controllers(
    server: FakeApiServer, *, kubelet: Kubelet | None = None, client: FakeClient | None = None
) -> AsyncIterator[FakeClient]:
    """All controllers at work against the double, and a kubelet if one is given."""
    used, stop = client or server.client(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(kubelet.run())] if kubelet is not None else []
        group.create_task(main.run(used, server.clock, stop, root_ca=ROOT_CA))
        yield used
        stop.set()
        for task in running:
            task.cancel()


def events(server: FakeApiServer, name: str) -> list[tuple[str, str]]:
    """(reason, message) of what was told about an object."""
    found = server.list(core.Event).items
    return [(one.reason, one.message) for one in found if one.involved_object.name == name]


def pods(server: FakeApiServer) -> list[core.Pod]:
    return server.list(core.Pod, "default").items
