"""The agent's process: the real neighbours made, the agent run among them, everything ended in order.

    python -m agent --kubeconfig … --container-runtime-endpoint …

runs it alone; under `orlop up` the supervisor calls `run`. Stopping disturbs no container: pods run on, and the next
agent takes them over.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from agent.agent import Agent, Neighbours
from agent.cgroup_driver import cgroup_driver
from agent.config import AgentConfig
from agent.hosting import NodeHost
from agent.images.listing import node_images
from agent.images.puller import ImagePuller
from agent.logs.rotating import LogRotator
from agent.network import NodeNetwork
from agent.node import lease
from agent.node.addresses import detect
from agent.node.machine import Machine, allocatable, read_machine, storage_kib
from agent.recorder import PodRecorder
from agent.resources.cgroups import PodCgroups, machine_tree
from agent.resources.kernel import KernelFacts, look_up
from agent.runtime.dns import DnsSettings, node_resolver
from agent.runtime.executor import PodRuntime, Surroundings
from agent.runtime.facts import NodeFacts, Places, log_path
from agent.runtime.features import recursive_read_only, throttle_paths
from agent.runtime.subpaths import KernelSubPaths
from agent.runtime_classes import RuntimeClasses
from agent.server.serving import AgentServer
from agent.volumes.kernel import LinuxMounts
from agent.volumes.manager import VolumeManager
from api import core_v1 as core
from client import kubeconfig
from client.backoff import Backoff
from client.clock import Clock, SystemClock
from client.events import EventRecorder
from client.informer import Informer
from client.rest import ApiClient
from cri.client import RuntimeClient
from cri.containerd import explained
from cri.errors import CriError, Unimplemented

log = logging.getLogger(__name__)

CONNECTIONS = 16
"""To the API server: statuses, events and reads of many pods at once; watches have theirs beside."""


async def run(config: AgentConfig, stop: asyncio.Event) -> None:
    """Run the agent until `stop` is set. Raises what keeps it from starting: ConfigError, NoAddress, OSError."""
    process = AgentProcess(config)
    work = asyncio.create_task(process.run(), name="agent")
    stopping = asyncio.create_task(stop.wait(), name="agent-stop")
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            await work
    finally:
        work.cancel()
        stopping.cancel()
        await asyncio.gather(work, stopping, return_exceptions=True)


class AgentProcess:
    """One run of the agent with everything real."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._clock: Clock = SystemClock()
        self._machine: Machine = read_machine()
        self._kernel: KernelFacts = look_up()
        self._places = Places(root=Path(config.root), pod_logs=Path(config.pod_logs))
        self._agent: Agent | None = None
        self._ips: tuple[str, ...] = ()
        self._throttle_paths = throttle_paths()
        self._recursive_read_only = False

    async def run(self) -> None:
        """Run until cancelled."""
        config, clock = self._config, self._clock
        for folder in (config.root, config.pod_logs):
            os.makedirs(folder, mode=0o755, exist_ok=True)
        server = kubeconfig.load(config.kubeconfig)
        self._ips = (config.node_ip or detect(urlsplit(server.server).hostname or ""),)
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                ApiClient(server, clock=clock, connections=CONNECTIONS, user_agent=f"orlop-agent/{config.version}")
            )
            heartbeat = await stack.enter_async_context(client.dedicated(timeout=lease.DEADLINE))
            runtime_client = RuntimeClient(config.runtime_endpoint)
            stack.push_async_callback(runtime_client.close)
            name = await self._greet(runtime_client)
            self._recursive_read_only = await recursive_read_only(runtime_client)
            await self._live(stack, client, heartbeat, runtime_client, name)

    async def _greet(self, client: RuntimeClient) -> str:
        """Wait until the runtime answers; returns its name."""
        backoff = Backoff(0.1, 5.0)
        told = False
        while True:
            try:
                return (await client.version()).runtime_name
            except CriError as error:
                if not told:
                    why = await explained(client.transport, error)
                    log.warning("waiting for the runtime endpoint=%s error=%s", self._config.runtime_endpoint, why)
                told = True
                await self._clock.sleep(backoff.next())

    async def _live(
        self,
        stack: AsyncExitStack,
        client: ApiClient,
        heartbeat: ApiClient,
        runtime_client: RuntimeClient,
        name: str,
    ) -> None:
        config, clock = self._config, self._clock
        sink = EventRecorder(client, "kubelet", config.node_name, clock=clock)
        recorder = PodRecorder(sink)
        cgroups = PodCgroups(
            machine_tree(self._kernel),
            self._kernel,
            clock,
            driver=await cgroup_driver(runtime_client),
            root=(config.cgroup_root,),
        )
        storage = storage_kib(config.root)
        await cgroups.start(allocatable(self._machine, storage, config.max_pods))
        sub_paths = KernelSubPaths()
        volumes = VolumeManager(self._places.root, client, clock, LinuxMounts(), self._facts, self._volumes_changed)
        services: Informer[core.Service] = Informer(client, core.Service, clock=clock)
        surroundings = Surroundings(
            facts=self._facts,
            places=self._places,
            dns=self._dns,
            cgroup_parent=cgroups.parent_of,
            objects=volumes.objects,
            services=services.list,
            runtime_handler=RuntimeClasses(client).handler,
            recorder=recorder,
            clock=clock,
            sub_paths=sub_paths,
        )
        neighbours = Neighbours(
            client=client,
            lease_client=heartbeat,
            runtime=PodRuntime(runtime_client, name, surroundings),
            images=ImagePuller(runtime_client, recorder, clock),
            volumes=volumes,
            cgroups=cgroups,
            recorder=recorder,
            clock=clock,
            list_images=lambda: node_images(runtime_client),
            recursive_read_only=self._recursive_read_only,
            on_pod_cidr=self._on_pod_cidr(runtime_client, await self._network(stack, runtime_client)),
        )
        agent = self._agent = Agent(config, self._ips, self._machine, neighbours)
        rotator = LogRotator(self._running_logs, runtime_client.reopen_container_log, clock)
        async with asyncio.TaskGroup() as group:
            group.create_task(sink.run(), name="events")
            group.create_task(volumes.run(), name="volume-objects")
            group.create_task(services.run(), name="service-informer")
            group.create_task(rotator.run(), name="log-rotation")
            group.create_task(agent.run(), name="agent-core")
            await self._serve(stack, client, NodeHost(config, agent, runtime_client))

    async def _network(self, stack: AsyncExitStack, client: RuntimeClient) -> NodeNetwork | None:
        """The pod network, served and rid of what dead pods left of it."""
        if self._config.network is None:
            return None

        async def sandboxes() -> list[str]:
            return [each.id for each in await client.list_pod_sandbox()]

        network = NodeNetwork(self._config.network, sandboxes)
        await network.start()
        stack.push_async_callback(network.stop)
        # The range of addresses that the control plane gives this node comes later, if it comes; a node that starts for
        # the first time need not wait for it.
        if not network.is_configured():
            await network.set_pod_cidr(self._config.pod_cidr)
        await network.collect()
        return network

    @staticmethod
    def _on_pod_cidr(client: RuntimeClient, network: NodeNetwork | None) -> Callable[[str], Awaitable[None]]:
        async def tell(cidr: str) -> None:
            if network is not None:
                await network.set_pod_cidr(cidr)
            await _tell_pod_cidr(client, cidr)

        return tell

    async def _serve(self, stack: AsyncExitStack, client: ApiClient, host: NodeHost) -> None:
        config = self._config
        if not config.serving_certificate:
            return
        server = AgentServer(
            host,
            config.node_name,
            client.post_review,
            self._clock,
            certificate=config.serving_certificate,
            key=config.serving_key,
            client_ca=config.client_ca,
        )
        port = await server.start(None, config.port)
        stack.push_async_callback(server.stop)
        log.info("agent serves its API port=%d", port)

    # What the neighbours ask about this node

    def _facts(self) -> NodeFacts:
        agent = self._agent
        room = agent.reporter.allocatable() if agent is not None else {}
        return NodeFacts(
            name=self._config.node_name,
            ips=self._ips,
            allocatable=room,
            kernel=self._kernel,
            recursive_read_only=self._recursive_read_only,
            extra_masked_paths=self._throttle_paths,
        )

    def _dns(self) -> DnsSettings:
        config = self._config
        path = Path(config.resolv_conf) if config.resolv_conf else None
        return DnsSettings(config.cluster_dns, config.cluster_domain, node_resolver(path))

    def _volumes_changed(self, uid: str) -> None:
        if self._agent is not None:
            self._agent.refresh_volumes(uid)

    async def _running_logs(self) -> Mapping[str, str]:
        """Container id → path of its log, for every container that runs."""
        found: dict[str, str] = {}
        if self._agent is None or self._agent.workers is None:
            return found
        for pod, containers in self._agent.workers.running():
            meta = pod.metadata
            folder = self._places.log_folder(meta.namespace, meta.name, meta.uid)
            for one in containers:
                found[one.id] = str(folder / log_path(one.name, one.attempt))
        return found


async def _tell_pod_cidr(client: RuntimeClient, cidr: str) -> None:
    """The runtime may make its network configuration from the node's range of addresses."""
    try:
        await client.update_runtime_config(cidr)
    except Unimplemented:
        log.debug("the runtime takes no pod CIDR")
    except CriError as error:
        log.warning("the runtime was not told the pod CIDR cidr=%s error=%s", cidr, error)
