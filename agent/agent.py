"""The agent as a whole: every part of it, joined. It knows its neighbours by their seams only.

`agent.main` hands in the real ones, the simulation doubles of all of them; what happens in between is the same.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.cni_folder import CniFolder
from agent.config import AgentConfig
from agent.node.lease import NodeLease
from agent.node.machine import Machine
from agent.node.reporter import NodeIdentity, NodeReporter
from agent.pods.admission import admit
from agent.pods.hooks import Hooks
from agent.pods.identity import API_SOURCE, FILE_SOURCE
from agent.pods.killing import Killer
from agent.pods.leftovers import Leftovers
from agent.pods.reporting import StatusManager
from agent.pods.seams import Cgroups, Images, Recorder, Runtime, Volumes
from agent.pods.starting import Starter
from agent.pods.status import Failure
from agent.pods.watching import RuntimeWatch
from agent.pods.workers import PodWorkers
from agent.pods.world import World
from agent.probes.manager import ProbeManager
from agent.sources.apiserver import ApiSource
from agent.sources.manifests import ManifestSource
from agent.sources.merging import Sources
from agent.sources.mirrors import Mirrors
from api import core_v1 as core
from api.codec import deepcopy
from api.errors import StatusError
from api.pods import is_static
from client.clock import Clock
from client.errors import ClientError
from client.informer import Informer
from client.interface import Client

log = logging.getLogger(__name__)

NODE_DEADLINE = 5.0
CIDR_RETRY = 5.0
CLASSES_PAUSE = 1.0
"""Seconds between two looks at what pods request together: a burst of pods is one change."""


async def _no_images() -> Sequence[core.ContainerImage]:
    return ()


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The outside world, one object each."""

    client: Client
    lease_client: Client
    """For the heartbeat alone, with connections of its own."""
    runtime: Runtime
    images: Images
    volumes: Volumes
    cgroups: Cgroups
    recorder: Recorder
    clock: Clock
    list_images: Callable[[], Awaitable[Sequence[core.ContainerImage]]] = _no_images
    recursive_read_only: bool = False
    """The runtime can make mounts read-only with all that is mounted below them."""
    on_pod_cidr: Callable[[str], Awaitable[None]] | None = None
    """Told of the node's range of pod addresses, first and whenever it changes."""
    rng: random.Random = field(default_factory=random.Random)


class Agent:
    """One node's agent."""

    def __init__(self, config: AgentConfig, ips: tuple[str, ...], machine: Machine, neighbours: Neighbours) -> None:
        self._config = config
        self._near = neighbours
        near = neighbours
        self.statuses = StatusManager(near.client, near.clock, mirror_of=lambda pod: self.mirrors.mirror_of(pod))
        identity = NodeIdentity(
            name=config.node_name,
            hostname=config.node_name,
            ips=ips,
            version=config.version,
            port=config.port,
            max_pods=config.max_pods,
            root=config.root,
            labels=dict(config.labels),
        )
        cni_folder = CniFolder(config.cni_config_dir)
        self.reporter = NodeReporter(
            identity,
            machine,
            near.client,
            near.runtime,
            near.recorder,
            near.clock,
            images=near.list_images,
            relist_problem=lambda: self._watch.problem() if self._watch is not None else "",
            network_hint=cni_folder.hint,
            on_no_network=cni_folder.point_at,
            on_network=lambda: self.workers.poke_all() if self.workers is not None else None,
        )
        self.lease = NodeLease(near.lease_client, config.node_name, near.clock, lambda: self.reporter.node)
        self.mirrors = Mirrors(near.client, near.clock, lambda: self.reporter.node, self.statuses.mirror_seen)
        self.sources = Sources(self._pod_wanted, self._pod_dropped)
        self._pods: Informer[core.Pod] = Informer(
            near.client, core.Pod, field_selector=f"spec.nodeName={config.node_name}", clock=near.clock, rng=near.rng
        )
        self._node: Informer[core.Node] = Informer(
            near.client, core.Node, field_selector=f"metadata.name={config.node_name}", clock=near.clock, rng=near.rng
        )
        self._node.add_handler(self.reporter.seen, lambda old, new: self.reporter.seen(new), self._node_gone)
        self._api_source = ApiSource(
            self._pods, self.sources.feed(API_SOURCE), self.statuses.seen, self.mirrors.mirror_seen
        )
        self._manifests: ManifestSource | None = None
        if config.manifests:
            feed = self.sources.feed(FILE_SOURCE)
            self._manifests = ManifestSource(config.manifests, config.node_name, feed, near.clock)
        self.workers: PodWorkers | None = None
        self._watch: RuntimeWatch | None = None
        self._statics: dict[str, core.Pod] = {}

    async def run(self) -> None:
        """Run until cancelled. Being cancelled disturbs no container."""
        near = self._near
        async with asyncio.TaskGroup() as group:
            self.workers = workers = self._make_workers(group)
            watch = self._watch = RuntimeWatch(
                near.runtime, workers, near.clock, settled=lambda: self.sources.has_synced
            )
            group.create_task(self.statuses.run(), name="statuses")
            group.create_task(self.reporter.run(), name="node-reporter")
            group.create_task(self.lease.run(), name="node-lease")
            group.create_task(self._node.run(), name="node-informer")
            group.create_task(self._follow_pod_cidr(), name="pod-cidr")
            # What the runtime has must be known before the first pod comes: it decides who is new here.
            await watch.first_list()
            group.create_task(self._pods.run(), name="pod-informer")
            group.create_task(self._api_source.run(), name="api-source")
            group.create_task(self.mirrors.run(), name="mirrors")
            if self._manifests is not None:
                group.create_task(self._manifests.run(), name="manifests")
            group.create_task(watch.run(), name="runtime-watch")
            group.create_task(self._settle(watch, workers), name="leftovers")
            group.create_task(self._follow_classes(workers), name="qos-classes")

    # What others may ask

    def pods(self) -> list[core.Pod]:
        """The pods of this node, each with the status it has here and now."""
        return [self._current(one) for one in (self.workers.pods() if self.workers is not None else [])]

    def find(self, namespace: str, name: str, uid: str = "") -> core.Pod | None:
        """A pod by its name. A UID, if given, must be its own or that of its mirror."""
        for pod in self.workers.pods() if self.workers is not None else []:
            if (pod.metadata.namespace, pod.metadata.name) != (namespace, name):
                continue
            mirror = self.mirrors.mirror_of(pod) if is_static(pod) else None
            if uid in ("", pod.metadata.uid) or (mirror is not None and mirror.metadata.uid == uid):
                return self._current(pod)
        return None

    def sandbox_of(self, uid: str) -> str:
        """Id of the pod's live sandbox, "" when it has none."""
        worker = self.workers.worker(uid) if self.workers is not None else None
        runtime = worker.memory.runtime if worker is not None else None
        ready = runtime.ready_sandboxes if runtime is not None else []
        return ready[0].id if ready else ""

    def problem(self) -> str:
        """Why this agent cannot do its work at present, "" when it can."""
        return self._watch.problem() if self._watch is not None else "the runtime has not answered yet"

    def explain(self) -> list[dict[str, Any]]:
        """What was planned for each pod and how it went, for /debug/pods."""
        return self.workers.dump() if self.workers is not None else []

    def refresh_volumes(self, uid: str) -> None:
        """Objects that a pod's volumes are made of have changed."""
        if self.workers is not None:
            self.workers.refresh_volumes(uid)

    def _current(self, pod: core.Pod) -> core.Pod:
        status = self.statuses.status(pod.metadata.uid)
        if status is None:
            return pod
        current = deepcopy(pod)
        current.status = status
        return current

    # How the parts are joined

    def _make_workers(self, group: asyncio.TaskGroup) -> PodWorkers:
        near = self._near
        probes = ProbeManager(
            near.runtime,
            near.recorder,
            near.clock,
            group,
            lambda uid: workers.judged(uid),
            host_ips=self.reporter.ips,
            rng=near.rng,
        )
        hooks = Hooks(near.runtime, near.recorder, near.clock)
        killer = Killer(near.runtime, hooks, near.recorder, near.clock)
        world = World(
            clock=near.clock,
            rng=near.rng,
            runtime=near.runtime,
            volumes=near.volumes,
            cgroups=near.cgroups,
            probes=probes,
            recorder=near.recorder,
            statuses=self.statuses,
            starter=Starter(near.runtime, near.images, hooks, killer, near.recorder),
            killer=killer,
            host_ips=self.reporter.ips,
            network_problem=self.reporter.network_problem,
            recursive_read_only=near.recursive_read_only,
        )
        workers = PodWorkers(world, group, self._admit)
        return workers

    def _pod_wanted(self, pod: core.Pod) -> None:
        assert self.workers is not None
        if is_static(pod):
            self._statics[pod.metadata.uid] = pod
            self.mirrors.static_set(pod)
        self.workers.update(pod)

    def _pod_dropped(self, uid: str) -> None:
        assert self.workers is not None
        static = self._statics.pop(uid, None)
        if static is not None:
            self.mirrors.static_removed(static)
        # The API server lets go of a pod once it has ended, or when somebody forces it: no grace is left either way.
        self.workers.remove(uid, grace=None if static is not None else 0)

    def _node_gone(self, node: core.Node) -> None:
        self.reporter.seen(None)

    async def _admit(self, pod: core.Pod, others: Callable[[], list[core.Pod]]) -> Failure | None:
        allocatable = self.reporter.allocatable()
        refusal = admit(pod, self.reporter.node_or_self(), allocatable, others())
        if refusal is None or refusal.reason != "NodeAffinity":
            return refusal
        # The label the pod asks for may be newer than what the watch has brought.
        try:
            async with self._near.clock.timeout(NODE_DEADLINE):
                self.reporter.seen(await self._near.client.get(core.Node, self._config.node_name))
        except (StatusError, ClientError, TimeoutError) as error:
            log.info("node not read anew for admission pod=%s error=%s", pod.metadata.uid, error)
        return admit(pod, self.reporter.node_or_self(), allocatable, others())

    async def _settle(self, watch: RuntimeWatch, workers: PodWorkers) -> None:
        """Once all sources have spoken: end what nobody wants, and clear away what is left of it."""
        await self.sources.synced()
        self.mirrors.settled()
        watch.relist_soon()
        await watch.relisted()
        leftovers = Leftovers(self._near.volumes, self._near.cgroups, self._near.clock, lambda uid: uid in workers)
        await leftovers.run()

    async def _follow_classes(self, workers: PodWorkers) -> None:
        """Keep the processor shares of the QoS classes at what their pods request."""
        while True:
            await workers.changed()
            await self._near.clock.sleep(CLASSES_PAUSE)
            try:
                await self._near.cgroups.update_classes(workers.holding())
            except OSError as error:
                log.warning("shares of the QoS classes not set error=%s", error)

    async def _follow_pod_cidr(self) -> None:
        """The control plane's word on the node's range of pod addresses goes before the configured one."""
        if self._near.on_pod_cidr is None:
            return
        told = ""
        while True:
            node = self.reporter.node
            cidr = (node.spec.pod_cidr if node is not None else "") or self._config.pod_cidr
            if cidr and cidr != told:
                try:
                    await self._near.on_pod_cidr(cidr)
                except OSError as error:
                    log.warning("pod network not configured cidr=%s error=%s", cidr, error)
                    await self._near.clock.sleep(CIDR_RETRY)
                    continue
                told = cidr
            await self.reporter.changed()
