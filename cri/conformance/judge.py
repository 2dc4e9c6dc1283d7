"""The demands on a runtime, one function each, asked over CRI alone.

They are what our agent rests upon: that ends are told with their codes, that names are reserved, that stopping and
removing may be repeated, that what was given comes back. Behind many of them stands a report of a pod that would not
go away.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cri.client import RuntimeClient
from cri.errors import CriError
from proto import cri_pb2 as cri

DEADLINE = 60.0
_LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one demand was met; `complaint` is "" when it was."""

    demand: str
    complaint: str

    @property
    def met(self) -> bool:
        return not self.complaint


class Complaint(Exception):
    """The runtime does not do what is demanded."""


@dataclass(slots=True)
class Trial:
    """A runtime on trial. `image` is one that is there, with a shell and sleep in it."""

    client: RuntimeClient
    image: str
    folder: Path
    """For logs; the runtime must reach it."""
    cgroup_parent: str = ""
    count: int = 0

    def sandbox_config(self, attempt: int = 0) -> cri.PodSandboxConfig:
        """Of a pod that was not there before."""
        self.count += 1
        name = f"judged-{self.count}"
        logs = self.folder / name
        logs.mkdir(exist_ok=True)
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=name, namespace="judge", uid=f"{os.getpid()}-{name}", attempt=attempt),
            hostname=name,
            log_directory=str(logs),
            labels={"judged": name},
            annotations={"note": 'kept "as it is"'},
        )
        config.linux.cgroup_parent = self.cgroup_parent
        return config

    def container_config(self, *command: str, name: str = "app", attempt: int = 0) -> cri.ContainerConfig:
        return cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name, attempt=attempt),
            image=cri.ImageSpec(image=self.image),
            command=command or ("sleep", "1000"),
            log_path=f"{name}-{attempt}.log",
            labels={"container": name},
            annotations={"attempt": str(attempt)},
        )

    async def running(self, *command: str) -> tuple[cri.PodSandboxConfig, str, str]:
        """A sandbox and a container that was started in it."""
        config = self.sandbox_config()
        sandbox = await self.client.run_pod_sandbox(config)
        container = await self.client.create_container(sandbox, self.container_config(*command), config)
        await self.client.start_container(container)
        return config, sandbox, container

    async def status(self, container: str) -> cri.ContainerStatus:
        return (await self.client.container_status(container)).status

    async def ended(self, container: str) -> cri.ContainerStatus:
        """The status once the container has ended by itself."""
        async with asyncio.timeout(DEADLINE):
            while True:
                status = await self.status(container)
                if status.state == cri.CONTAINER_EXITED:
                    return status
                await self.client.clock.sleep(_LOOK)

    async def clean(self) -> None:
        """Removes what is left of the trial."""
        for sandbox in await self.client.list_pod_sandbox():
            if sandbox.labels.get("judged"):
                await self.client.stop_pod_sandbox(sandbox.id)
                await self.client.remove_pod_sandbox(sandbox.id)


def demand(fulfilled: bool, otherwise: str) -> None:
    """Raises Complaint when a demand is not fulfilled."""
    if not fulfilled:
        raise Complaint(otherwise)


async def judge(trial: Trial, demands: Sequence[Callable[[Trial], Awaitable[None]]]) -> list[Verdict]:
    """Puts every demand to the runtime; one that is not met does not keep the others from being tried."""
    verdicts = []
    for one in demands:
        complaint = ""
        try:
            async with asyncio.timeout(2 * DEADLINE):
                await one(trial)
        except (Complaint, CriError, OSError) as error:
            complaint = str(error) or type(error).__name__
        finally:
            await trial.clean()
        verdicts.append(Verdict(one.__name__.replace("_", " "), complaint))
    return verdicts
