"""Running chains of plugins: ADD forwards, DEL backwards, CHECK, GC, STATUS and VERSION (CNI spec 1.1, section 3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cni.client.attachments import Attachment, AttachmentCache
from cni.client.execution import DEFAULT_DEADLINE, Executor, interpret
from cni.client.networks import Network
from cni.errors import CniError, InvalidConfiguration


class Runner:
    """Attaches containers to networks. `deadline` is that of one plugin's call, in seconds.

    Calls for one container take turns; a GC waits for the ADD and DEL calls under way and keeps new ones waiting, as
    the specification demands.
    """

    def __init__(self, executor: Executor, cache: AttachmentCache, *, deadline: float = DEFAULT_DEADLINE) -> None:
        self._executor = executor
        self._cache = cache
        self._deadline = deadline
        self._containers: dict[str, _Turns] = {}
        self._gate = _Gate()

    async def add(self, network: Network, attachment: Attachment) -> dict[str, Any]:
        """Attach; returns the result of the last plugin. After a failure the caller calls `delete`. Raises CniError."""
        async with self._exclusively(attachment):
            result: dict[str, Any] | None = None
            for plugin in network.plugins:
                answer = await self._call("ADD", network, plugin, attachment, result)
                result = answer if answer is not None else result
            if result is None:
                raise InvalidConfiguration(f"network {network.name}: no plugin gave a result")
            self._cache.put(network.name, attachment, result)
            return result

    async def delete(self, network: Network, attachment: Attachment) -> None:
        """Detach; may be called again and again. Raises CniError of the first plugin that fails."""
        async with self._exclusively(attachment):
            await self._delete(network, attachment)

    async def _delete(self, network: Network, attachment: Attachment) -> None:
        previous = self._cache.result(network.name, attachment) if network.at_least("0.4.0") else None
        for plugin in reversed(network.plugins):
            await self._call("DEL", network, plugin, attachment, previous)
        self._cache.drop(network.name, attachment)

    async def check(self, network: Network, attachment: Attachment) -> None:
        """Ask whether an attachment is as ADD left it. Raises CniError."""
        if network.disable_check:
            return
        if not network.at_least("0.4.0"):
            raise InvalidConfiguration(
                f"network {network.name}", f'configuration version "{network.version}" does not support CHECK'
            )
        async with self._exclusively(attachment):
            previous = self._cache.result(network.name, attachment)
            if previous is None:
                raise InvalidConfiguration(f"network {network.name}", f"{attachment.container} was never attached")
            for plugin in network.plugins:
                await self._call("CHECK", network, plugin, attachment, previous)

    async def collect(self, network: Network, valid: Iterable[tuple[str, str]]) -> None:
        """Detach what we attached and is not among `valid` (container, interface), then let the plugins collect.

        All plugins get their turn; their failures are raised together as one CniError.
        """
        if network.disable_gc:
            return
        keep = set(valid)
        failures: list[str] = []
        async with self._gate.alone():
            for attachment in self._cache.all(network.name):
                if attachment.key not in keep:
                    try:
                        await self._delete(network, attachment)
                    except CniError as error:
                        failures.append(f"delete stale attachment {attachment.container}: {error}")
            if network.at_least("1.1.0"):
                listed = [{"containerID": container, "ifname": interface} for container, interface in sorted(keep)]
                extra = {"cni.dev/valid-attachments": listed, "cni.dev/attachments": listed}
                for plugin in network.plugins:
                    try:
                        await self._call("GC", network, plugin, None, None, extra)
                    except CniError as error:
                        failures.append(f"plugin {plugin['type']}: {error}")
        if failures:
            raise CniError(f"collect garbage of network {network.name}", "; ".join(failures))

    async def status(self, network: Network) -> None:
        """Ask whether ADD would be served; networks before 1.1.0 cannot say. Raises the first plugin's CniError."""
        if network.at_least("1.1.0"):
            for plugin in network.plugins:
                await self._call("STATUS", network, plugin, None, None)

    async def versions(self, plugin: str) -> list[str]:
        """The protocol versions that a plugin says it speaks. Raises CniError."""
        stdin = json.dumps({"cniVersion": "1.1.0"}).encode()
        code, output, errors = await self._executor.execute(plugin, {"CNI_COMMAND": "VERSION"}, stdin, self._deadline)
        answer = interpret(plugin, code, output, errors) or {}
        return [str(version) for version in answer.get("supportedVersions", ())]

    async def _call(
        self,
        command: str,
        network: Network,
        plugin: Mapping[str, Any],
        attachment: Attachment | None,
        previous: Mapping[str, Any] | None,
        extra: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        config = request_configuration(network, plugin, attachment, previous)
        config.update(extra or {})
        environment = {"CNI_COMMAND": command}
        if attachment is not None:
            environment |= {
                "CNI_CONTAINERID": attachment.container,
                "CNI_NETNS": attachment.netns,
                "CNI_IFNAME": attachment.interface,
                "CNI_ARGS": ";".join(f"{key}={value}" for key, value in attachment.arguments.items()),
            }
        name = str(plugin["type"])
        code, output, errors = await self._executor.execute(
            name, environment, json.dumps(config).encode(), self._deadline
        )
        return interpret(name, code, output, errors)

    @asynccontextmanager
    async def _exclusively(self, attachment: Attachment) -> AsyncIterator[None]:
        turns = self._containers.setdefault(attachment.container, _Turns())
        turns.wanted += 1
        try:
            async with self._gate.among_others(), turns.lock:
                yield
        finally:
            turns.wanted -= 1
            if not turns.wanted:
                del self._containers[attachment.container]


def request_configuration(
    network: Network,
    plugin: Mapping[str, Any],
    attachment: Attachment | None,
    previous: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What one plugin is given on standard input (section 3, "Deriving request configuration")."""
    config = {key: value for key, value in plugin.items() if key != "capabilities"}
    config |= {"name": network.name, "cniVersion": network.version}
    if previous is not None:
        config["prevResult"] = dict(previous)
    if attachment is not None:
        declared = plugin.get("capabilities") or {}
        granted = {key: value for key, value in attachment.capabilities.items() if declared.get(key)}
        if granted:
            config["runtimeConfig"] = granted
    return config


@dataclass(slots=True)
class _Turns:
    """The calls for one container that are under way or waiting."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    wanted: int = 0


class _Gate:
    """Many at once, or one alone: a lock for readers and writers in which the one who waits to be alone goes first."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._inside = 0
        self._waiting_alone = 0
        self._alone = False

    @asynccontextmanager
    async def among_others(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._alone and not self._waiting_alone)
            self._inside += 1
        try:
            yield
        finally:
            async with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        async with self._changed:
            self._waiting_alone += 1
            try:
                await self._changed.wait_for(lambda: not self._alone and not self._inside)
                self._alone = True
            finally:
                self._waiting_alone -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            async with self._changed:
                self._alone = False
                self._changed.notify_all()
