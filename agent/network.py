"""The node's pod network: our CNI plugin installed, configured with the node's range of addresses, and served.

Everything here goes by way of CNI like it would for a stranger's plugin: what the runtime uses is the configuration
file in its folder. An operator who brings a network of their own says `plugin=False`, and then only garbage is
collected.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from client.files import write_atomically
from cni.bridge.program import install
from cni.bridge.service import PluginService
from cni.client.attachments import AttachmentCache
from cni.client.execution import ProgramExecutor
from cni.client.networks import configuration_files, load_network
from cni.client.runner import Runner
from cni.errors import CniError, InvalidConfiguration

log = logging.getLogger(__name__)

CONFIG_FILE = "10-orlop.conflist"
INTERFACE = "eth0"
"""What runtimes call a pod's interface."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Where the pieces lie, and how pods are connected."""

    config_dir: str
    plugin_dir: str
    state_dir: str
    socket: str
    bridge: str = "orlop0"
    mtu: int = 1500
    unmasqueraded: tuple[str, ...] = ()
    """Ranges that pods reach under their own address: the pods of other nodes."""
    plugin: bool = True
    """Configure and serve our own plugin."""


class NodeNetwork:
    """Keeps the pod network of this node configured. `sandboxes` gives the ids of the sandboxes that still exist."""

    def __init__(self, settings: NetworkSettings, sandboxes: Callable[[], Awaitable[Iterable[str]]]) -> None:
        self._settings = settings
        self._sandboxes = sandboxes
        self._service = PluginService(settings.socket) if settings.plugin else None
        executor = ProgramExecutor([settings.plugin_dir])
        self._runner = Runner(executor, AttachmentCache(str(Path(settings.state_dir) / "attachments")))

    async def start(self) -> None:
        """Install the plugin's programs and answer them. Raises OSError."""
        if self._service is not None:
            await asyncio.to_thread(install, self._settings.plugin_dir, self._settings.socket)
            await self._service.start()

    async def stop(self) -> None:
        """Leave the work to the programs themselves."""
        if self._service is not None:
            await self._service.stop()

    def is_configured(self) -> bool:
        """Whether the runtime has a network configuration to use, ours or another."""
        return bool(configuration_files(self._settings.config_dir))

    async def set_pod_cidr(self, cidr: str) -> None:
        """Give the node's pods addresses of `cidr` from now on. Raises OSError."""
        if not self._settings.plugin:
            return
        path = Path(self._settings.config_dir) / CONFIG_FILE
        text = json.dumps(self.configuration(cidr), indent=2) + "\n"

        def write() -> None:
            if path.is_file() and path.read_text(encoding="utf-8") == text:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode(), mode=0o644)
            log.info("event=network_configured file=%s pod_cidr=%s", path, cidr)

        await asyncio.to_thread(write)

    def configuration(self, cidr: str) -> dict[str, object]:
        """The network configuration list for a node with pod range `cidr`."""
        settings = self._settings
        plugin = {
            "type": "orlop-cni",
            "bridge": settings.bridge,
            "mtu": settings.mtu,
            "subnet": cidr,
            "stateDir": settings.state_dir,
            "nonMasqueradeCIDRs": list(settings.unmasqueraded),
            "capabilities": {"portMappings": True},
        }
        # 1.0.0 is the latest version that container runtimes before 2024 accept; GC works all the same.
        return {"cniVersion": "1.0.0", "cniVersions": ["1.0.0", "1.1.0"], "name": "orlop", "plugins": [plugin]}

    async def collect(self) -> None:
        """Let the network's plugins collect everything that belongs to no sandbox; a failure is logged.

        Only while no pod is being started: a runtime lists a sandbox after its network is up, so one that is on its way
        would be taken for garbage (CNI spec 1.1, section 3: no ADD during a GC).
        """
        try:
            network = load_network(self._settings.config_dir)
        except InvalidConfiguration:
            return  # no network yet, so nothing to collect; the node's condition tells of it
        valid = [(sandbox, INTERFACE) for sandbox in await self._sandboxes()]
        try:
            await self._runner.collect(network, valid)
        except CniError as error:
            log.warning('event=network_gc_failed network=%s error="%s"', network.name, error)
