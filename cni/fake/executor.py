"""An executor that runs plugins as functions, records what they were given, and can delay, fail and lie."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cni.errors import CniError, InvalidConfiguration, IOFailure

Answer = tuple[int, bytes, bytes]


@dataclass
class FakePlugin:
    """One plugin: what ADD gives, and what goes wrong at which command.

    `failures` are raised as the plugin's own errors; `answers` replace the whole answer for a command; a command in
    `hangs` waits until it is set or the deadline is over.
    """

    result: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    failures: dict[str, CniError] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    hangs: dict[str, asyncio.Event] = field(default_factory=dict)


@dataclass
class FakeExecutor:
    """`cni.client.execution.Executor` in memory. `calls` are (plugin, command, environment, configuration)."""

    plugins: dict[str, FakePlugin]
    calls: list[tuple[str, str, Mapping[str, str], dict[str, Any]]] = field(default_factory=list)
    versions: tuple[str, ...] = ("0.4.0", "1.0.0", "1.1.0")

    async def execute(self, plugin: str, environment: Mapping[str, str], stdin: bytes, deadline: float) -> Answer:
        if plugin not in self.plugins:
            raise InvalidConfiguration(f'failed to find plugin "{plugin}" in path', "[]")
        behaviour, command, config = self.plugins[plugin], environment["CNI_COMMAND"], json.loads(stdin)
        self.calls.append((plugin, command, dict(environment), config))
        if command in behaviour.hangs:
            try:
                async with asyncio.timeout(deadline):
                    await behaviour.hangs[command].wait()
            except TimeoutError:
                raise IOFailure(f'run plugin "{plugin}"', f"no answer after {deadline:g} s") from None
        if command in behaviour.answers:
            return behaviour.answers[command]
        if command in behaviour.failures:
            error = behaviour.failures[command]
            body = {"cniVersion": "1.1.0", "code": error.code, "msg": error.msg, "details": error.details}
            return 1, json.dumps(body).encode(), b""
        if command == "VERSION":
            return 0, json.dumps({"cniVersion": "1.1.0", "supportedVersions": list(self.versions)}).encode(), b""
        if command == "ADD":
            make = behaviour.result or (lambda given: given.get("prevResult") or {"cniVersion": given["cniVersion"]})
            return 0, json.dumps(make(config)).encode(), b""
        return 0, b"", b""
