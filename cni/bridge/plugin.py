"""One call of the plugin from the outside: environment and standard input in, exit code and standard output out.

Used alike by the agent's service and by the program that does the work itself when the agent is away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cni.bridge import config as configs
from cni.bridge.network import BridgeNetwork
from cni.environment import Call, parse_environment
from cni.errors import CniError, IOFailure
from cni.kernel.interface import Kernel
from cni.kernel.namespaces import NoSuchNamespace


class Plugin:
    """Serves calls on one kernel, one after the other."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._prepared: set[str] = set()

    def serve(self, name: str, environment: Mapping[str, str], stdin: bytes) -> tuple[int, bytes]:
        """Do what a call under the program name `name` asks; returns exit code and standard output. Never raises."""
        version = configs.LATEST_VERSION
        try:
            call = parse_environment(environment)
            raw = configs.parse_object(stdin)
            if raw.get("cniVersion") in configs.SUPPORTED_VERSIONS:
                version = raw["cniVersion"]
            if call.command == "VERSION":
                result: dict[str, Any] | None = {
                    "cniVersion": version,
                    "supportedVersions": list(configs.SUPPORTED_VERSIONS),
                }
            elif name == "loopback":
                result = self._loopback(call, raw)
            else:
                result = self._bridge(call, raw)
        except CniError as error:
            return 1, _error(version, error)
        except Exception as error:  # noqa: BLE001 - the runtime must get an answer it can read, whatever went wrong
            return 1, _error(version, IOFailure(f"{type(error).__name__}", str(error)))
        return 0, b"" if result is None else json.dumps(result).encode()

    def _bridge(self, call: Call, raw: Mapping[str, Any]) -> dict[str, Any] | None:
        network = BridgeNetwork(self._kernel, configs.parse(raw), self._prepared)
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

    def _loopback(self, call: Call, raw: Mapping[str, Any]) -> dict[str, Any] | None:
        """The `loopback` plugin that container runtimes call beside every network: brings `lo` up."""
        version = configs.checked_version(raw)
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


def _error(version: str, error: CniError) -> bytes:
    body: dict[str, Any] = {"cniVersion": version, "code": error.code, "msg": error.msg}
    if error.details:
        body["details"] = error.details
    return json.dumps(body).encode()
