"""Registering the node and keeping its status: told at once when it changes, and every five minutes when it does not.

The machine and its runtime are looked at every ten seconds, which is cheap; the API server is only spoken to when there
is something to say. That this node is alive is said by its lease (`agent.node.lease`), not here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from agent.node import machine as machines
from agent.node.conditions import conditions, network_problem, problems
from agent.node.status import NodeView, changed, node_status, status_patch
from agent.pods.seams import Recorder, Runtime, RuntimeInfo
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import deepcopy
from api.errors import StatusError
from api.quantity import Quantity
from client.backoff import Backoff
from client.clock import Clock
from client.errors import ClientError
from client.interface import Client
from cri.errors import CriError

log = logging.getLogger(__name__)

CHECK_PERIOD = 10.0
UNREADY_CHECK_PERIOD = 1.0
"""Shorter while somebody waits: that a runtime has found its network configuration is no event of CRI's."""

REPORT_PERIOD = 300.0
RUNTIME_DEADLINE = 5.0
RUNTIME_PATIENCE = 30.0
"""Seconds without an answer after which the runtime counts as down, as upstream's: a runtime that is restarted, or slow
under load, does not take the node out of service.
"""
WRITE_DEADLINE = 10.0
FIRST_RETRY, LONGEST_RETRY = 0.1, 7.0
IMAGES_PERIOD = 300.0
"""Seconds between looks at the list of images, beside those after a pull: the list is for the scheduler's taste only.
"""

ATTACH_ANNOTATION = "volumes.kubernetes.io/controller-managed-attach-detach"


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """What the node is told to be."""

    name: str
    hostname: str
    ips: tuple[str, ...]
    version: str
    port: int = 10250
    max_pods: int = 110
    root: str = "/var/lib"
    """A folder on the file system that pods' ephemeral storage comes from."""
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[core.Taint, ...] = ()


class NodeReporter:
    """Keeps the Node object of this machine.

    `relist_problem` says why the runtime counts as unhealthy; `network_hint` where its network configuration is looked
    for. `on_network` is called when the runtime's network becomes ready, `on_no_network` each time it is seen not to
    be.
    """

    def __init__(
        self,
        identity: NodeIdentity,
        machine: machines.Machine,
        client: Client,
        runtime: Runtime,
        recorder: Recorder,
        clock: Clock,
        *,
        images: Callable[[], Awaitable[Sequence[core.ContainerImage]]] | None = None,
        relist_problem: Callable[[], str] = lambda: "",
        network_hint: Callable[[], str] = lambda: "",
        on_network: Callable[[], object] = lambda: None,
        on_no_network: Callable[[], object] = lambda: None,
    ) -> None:
        self.node: core.Node | None = None
        """The API's Node as last seen, None until it is registered."""
        self.registered = asyncio.Event()
        self._identity = identity
        self._machine = machine
        self._client = client
        self._runtime = runtime
        self._recorder = recorder
        self._clock = clock
        self._images = images
        self._relist_problem = relist_problem
        self._network_hint = network_hint
        self._on_network = on_network
        self._on_no_network = on_no_network
        self._info: RuntimeInfo | None = None
        self._answered_at = float("-inf")
        self._silent = False
        self._known_images: Sequence[core.ContainerImage] = ()
        self._images_at = float("-inf")
        self._reported_at = float("-inf")
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._storage = machines.storage_kib(identity.root)

    async def run(self) -> None:
        """Register, then report until cancelled."""
        backoff = Backoff(FIRST_RETRY, LONGEST_RETRY, jitter=0.2)
        await self._look()
        while not await self._attempt(self._register):
            await self._clock.sleep(backoff.next())
            await self._look()
        self.registered.set()
        while True:
            await self._pause(CHECK_PERIOD if self._is_ready() and not self._silent else UNREADY_CHECK_PERIOD)
            await self._look()
            if self.node is None:
                await self._attempt(self._register)
            else:
                await self._attempt(self._report)

    def _is_ready(self) -> bool:
        info = self._info
        return info is not None and info.ready and info.network_ready

    def check_soon(self) -> None:
        """Something about the node may have changed."""
        self._wake.set()

    def images_changed(self) -> None:
        """An image was pulled or removed."""
        self._images_at = float("-inf")

    def seen(self, node: core.Node | None) -> None:
        """The API server has this version of our Node; None when it was deleted, and is to be made again."""
        self.node = node
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if node is None:
            log.warning("the node object was deleted and is registered again node=%s", self._identity.name)
            self._wake.set()

    async def changed(self) -> None:
        """Wait until another version of the Node is seen."""
        await self._changed.wait()

    def node_or_self(self) -> core.Node:
        """The API's Node; while there is none, what this machine would register as."""
        if self.node is not None:
            return self.node
        return core.Node(metadata=meta.ObjectMeta(name=self._identity.name, labels=self._labels()))

    def ips(self) -> tuple[str, ...]:
        return self._identity.ips

    def allocatable(self) -> dict[str, Quantity]:
        """What pods may ask for, by this machine's own reckoning."""
        return machines.allocatable(self._machine, self._storage, self._identity.max_pods)

    def network_problem(self) -> str:
        """Why no pod network can be set up at present; empty when it can."""
        if self._info is None:
            return ""
        return network_problem(self._info, self._network_hint())

    async def _pause(self, seconds: float) -> None:
        timer = self._clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
            self._wake.clear()

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Speak to the API server; that it cannot be reached is an everyday matter."""
        try:
            async with self._clock.timeout(WRITE_DEADLINE):
                await step()
        except (StatusError, ClientError, TimeoutError) as error:
            log.info("node not reported node=%s error=%s", self._identity.name, str(error) or "no answer in time")
            return False
        return True

    async def _look(self) -> None:
        """See how the runtime is."""
        before = self._info
        try:
            async with self._clock.timeout(RUNTIME_DEADLINE):
                self._info = await self._runtime.info()
            self._answered_at = self._clock.monotonic()
            self._silent = False
        except (CriError, TimeoutError) as error:
            if not self._silent:
                log.warning("the runtime does not tell its status error=%s", str(error) or "no answer in time")
            self._silent = True
            if self._clock.monotonic() - self._answered_at >= RUNTIME_PATIENCE:
                self._info = None
        if self._info is not None and self._info.network_ready and (before is None or not before.network_ready):
            self._on_network()
        elif self._info is not None and not self._info.network_ready:
            self._on_no_network()
        if self._images is not None and self._clock.monotonic() - self._images_at >= IMAGES_PERIOD:
            try:
                async with self._clock.timeout(RUNTIME_DEADLINE):
                    self._known_images = await self._images()
                self._images_at = self._clock.monotonic()
            except (CriError, TimeoutError) as error:
                log.info("the runtime does not list its images error=%s", str(error) or "no answer in time")

    def _status(self, previous: core.NodeStatus) -> tuple[core.NodeStatus, list[str]]:
        identity, machine = self._identity, self._machine
        reasons = problems(self._info, self._relist_problem(), self._network_hint())
        made, events = conditions(reasons, previous.conditions, self._clock.now())
        view = NodeView(
            machine=machine,
            hostname=identity.hostname,
            ips=identity.ips,
            capacity=machines.capacity(machine, self._storage, identity.max_pods),
            allocatable=self.allocatable(),
            conditions=made,
            version=identity.version,
            port=identity.port,
            runtime=self._info,
            images=self._known_images,
        )
        return node_status(view, previous), events

    async def _register(self) -> None:
        identity = self._identity
        status, events = self._status(core.NodeStatus())
        node = core.Node(
            metadata=meta.ObjectMeta(
                name=identity.name, labels=self._labels(), annotations={ATTACH_ANNOTATION: "true"}
            ),
            spec=core.NodeSpec(taints=list(identity.taints)),
            status=status,
        )
        try:
            self.node = await self._client.create(node)
            log.info("node registered node=%s", identity.name)
            self._tell(events)
            self._reported_at = self._clock.monotonic()
        except StatusError as error:
            if error.code != 409:
                raise
            self.node = await self._client.get(core.Node, identity.name)
            await self._reclaim(self.node)
        self._recorder.event(self._reference(), "Normal", "Starting", "Starting kubelet.")

    async def _reclaim(self, known: core.Node) -> None:
        """The node was registered before: bring labels and annotation up to date, then report."""
        log.info("node was registered before node=%s", known.metadata.name)
        labels = {key: one for key, one in self._labels().items() if known.metadata.labels.get(key) != one}
        annotations = {} if known.metadata.annotations.get(ATTACH_ANNOTATION) == "true" else {ATTACH_ANNOTATION: "true"}
        if labels or annotations:
            patch = {"metadata": {"labels": labels, "annotations": annotations}}
            self.node = await self._client.patch(core.Node, known.metadata.name, patch)
        if known.status.node_info.boot_id not in ("", self._machine.boot_id):
            text = f"Node {known.metadata.name} has been rebooted, boot id: {self._machine.boot_id}"
            self._recorder.event(self._reference(), "Warning", "Rebooted", text)
        self._reported_at = float("-inf")
        await self._report()

    async def _report(self) -> None:
        node = self.node
        if node is None:
            return
        status, events = self._status(deepcopy(node.status))
        overdue = self._clock.monotonic() - self._reported_at >= REPORT_PERIOD
        if not overdue and not changed(node.status, status):
            return
        patch = status_patch(node.status, status)
        try:
            self.node = await self._client.patch(core.Node, node.metadata.name, patch, subresource="status")
        except StatusError as error:
            if error.code == 404:
                self.seen(None)
                return
            raise
        self._reported_at = self._clock.monotonic()
        self._tell(events)

    def _labels(self) -> dict[str, str]:
        identity, arch = self._identity, self._machine.architecture
        return {
            "kubernetes.io/hostname": identity.hostname,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": arch,
            "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/arch": arch,
            **identity.labels,
        }

    def _tell(self, events: list[str]) -> None:
        for event in events:
            text = f"Node {self._identity.name} status is now: {event}"
            self._recorder.event(self._reference(), "Normal", event, text)

    def _reference(self) -> core.ObjectReference:
        # Upstream's agents put the name where the UID belongs, and clients find a node's events by it.
        return core.ObjectReference(kind="Node", name=self._identity.name, uid=self._identity.name)
