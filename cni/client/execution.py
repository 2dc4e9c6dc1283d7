"""Running a plugin's program: the seam between the runner and the outside.

`ProgramExecutor` starts processes; `cni.fake.FakeExecutor` is the double. Both answer with exit code and output, or
raise CniError when there is no answer.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cni.errors import CniError, DecodingFailure, InvalidConfiguration, IOFailure, from_code

DEFAULT_DEADLINE = 60.0


class Executor(Protocol):
    """Runs plugins by their type."""

    async def execute(
        self, plugin: str, environment: Mapping[str, str], stdin: bytes, deadline: float
    ) -> tuple[int, bytes, bytes]:
        """Run the plugin; returns exit code, standard output and standard error. Raises CniError."""


class ProgramExecutor:
    """Runs the programs in `folders`, the first that has one of the plugin's name."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = tuple(folders)

    def find(self, plugin: str) -> str:
        """The path of a plugin's program. Raises InvalidConfiguration."""
        for folder in self.folders:
            path = os.path.join(folder, plugin)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
        raise InvalidConfiguration(f'failed to find plugin "{plugin}" in path', f"{list(self.folders)}")

    async def execute(
        self, plugin: str, environment: Mapping[str, str], stdin: bytes, deadline: float
    ) -> tuple[int, bytes, bytes]:
        path = self.find(plugin)
        try:
            process = await asyncio.create_subprocess_exec(
                path,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "CNI_PATH": os.pathsep.join(self.folders), **environment},
            )
        except OSError as error:
            raise IOFailure(f'run plugin "{plugin}"', str(error)) from error
        try:
            async with asyncio.timeout(deadline):
                output, errors = await process.communicate(stdin)
        except TimeoutError:
            raise IOFailure(f'run plugin "{plugin}"', f"no answer after {deadline:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, output, errors


def interpret(plugin: str, code: int, output: bytes, errors: bytes) -> dict[str, Any] | None:
    """The object that a plugin answered with, None for an empty answer. Raises the CniError it reports."""
    try:
        answer = json.loads(output) if output.strip() else None
    except ValueError as error:
        if code == 0:
            raise DecodingFailure(f'plugin "{plugin}" answered with no JSON', str(error)) from error
        answer = None
    if code:
        if isinstance(answer, dict) and (answer.get("msg") or answer.get("code")):
            raise from_code(_number(answer.get("code")), str(answer.get("msg", "")), str(answer.get("details", "")))
        text = errors.decode(errors="replace").strip() or output.decode(errors="replace").strip()
        raise CniError(f'plugin "{plugin}" ended with exit code {code}', text[:1024])
    if answer is not None and not isinstance(answer, dict):
        raise DecodingFailure(f'plugin "{plugin}" answered with no object', f"{type(answer).__name__}")
    return answer


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
