"""One call of the plugin from the outside: environment and standard input in, exit code and standard output out.

Used alike by the agent's service and by the program that does the work itself when the agent is away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cni.bridge import config as configs
from cni.bridge.config import NetworkConfig
from cni.bridge.filtering import table_name
from cni.bridge.network import BridgeNetwork
from cni.environment import COMMANDS
from cni.errors import CniError, IOFailure
from cni.kernel.interface import Kernel
from cni.kernel.namespaces import NoSuchNamespace
from cni.sdk import Request, serve


class Plugin:
    """Serves calls on one kernel, one after the other."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._prepared: set[str] = set()
        self._served: dict[str, NetworkConfig] = {}
        """The configuration last served, by the name of the table in the packet filter that came of it."""

    def mend(self, tables: Collection[str] | None) -> list[str]:
        """Put back which of these tables in the packet filter are ours (None: all); returns their names. Raises
        NftablesError, OSError.
        """
        mended = [name for name in self._served if tables is None or name in tables]
        for name in mended:
            BridgeNetwork(self._kernel, self._served[name], self._prepared).mend()
        return mended

    def serve(self, name: str, environment: Mapping[str, str], stdin: bytes) -> tuple[int, bytes]:
        """Do what a call under the program name `name` asks; returns exit code and standard output. Never raises."""
        handler = self._loopback if name == "loopback" else self._bridge
        return serve(dict.fromkeys(COMMANDS, handler), environment, stdin)

    def _bridge(self, request: Request) -> dict[str, Any] | None:
        call = request.call
        config = configs.parse(request.config, opens_ports=call.command in ("ADD", "CHECK"))
        self._served[table_name(config.bridge)] = config
        network = BridgeNetwork(self._kernel, config, self._prepared)
        match call.command:
            case "ADD":
                return network.add(call)
            case "DEL":
                network.delete(call)
            case "CHECK":
                network.check(call)
            case "STATUS":
                network.status()
            case "GC":
                network.collect()
        return None

    def _loopback(self, request: Request) -> dict[str, Any] | None:
        """The `loopback` plugin that container runtimes call beside every network: brings `lo` up."""
        call, version = request.call, request.version
        if call.command == "CHECK":
            found = self._kernel.look(call.netns, "lo")
            if found is None or not found.up:
                raise CniError("loopback interface is down", call.netns, code=100)
        if call.command != "ADD":
            return None
        try:
            self._kernel.raise_loopback(call.netns)
        except NoSuchNamespace as error:
            raise IOFailure("bring the loopback interface up", str(error)) from error
        address: dict[str, Any] = {"address": "127.0.0.1/8", "interface": 0}
        if version.startswith("0."):
            address["version"] = "4"
        return {
            "cniVersion": version,
            "interfaces": [{"name": "lo", "mac": "00:00:00:00:00:00", "sandbox": call.netns}],
            "ips": [address],
            "dns": {},
        }
