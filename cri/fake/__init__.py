"""A container runtime in this process, for tests and simulations.

`FakeRuntime` is a `RuntimeClient` like any other to those who call it; the test at the other end decides what
containers do (`service.programs`), which calls go wrong (`faults`), what the runtime lies about (`lies`) and when it
dies (`crash`). With a fake clock and a seed the same test takes the same course each time.
"""

from __future__ import annotations

from cri.client import Deadlines, RuntimeClient
from cri.clock import Clock, MachineClock
from cri.fake.faults import Fault, Faults
from cri.fake.images import FakeImages, RemoteImage
from cri.fake.lies import Lies
from cri.fake.programs import Program
from cri.fake.records import ContainerRecord, SandboxRecord
from cri.fake.service import FakeRuntimeService
from cri.fake.transport import InProcessTransport

__all__ = [
    "ContainerRecord",
    "FakeImages",
    "FakeRuntime",
    "FakeRuntimeService",
    "Fault",
    "Faults",
    "Lies",
    "Program",
    "RemoteImage",
    "SandboxRecord",
]


class FakeRuntime(RuntimeClient):
    """A client of a runtime that lives in this object."""

    def __init__(self, clock: Clock | None = None, *, seed: int = 0, deadlines: Deadlines | None = None) -> None:
        clock = clock or MachineClock()
        self.service = FakeRuntimeService(clock, seed=seed)
        self.faults = Faults(seed)
        self.way = InProcessTransport(self.service, self.faults)
        super().__init__(self.way, deadlines, clock)

    @property
    def images(self) -> FakeImages:
        return self.service.images

    @property
    def lies(self) -> Lies:
        return self.service.lies

    @property
    def containers(self) -> dict[str, ContainerRecord]:
        """By id, in order of creation."""
        return self.service.containers

    @property
    def sandboxes(self) -> dict[str, SandboxRecord]:
        """By id, in order of creation."""
        return self.service.sandboxes

    @property
    def calls(self) -> list[str]:
        """Names of the RPCs that were called, in order."""
        return [method for method, _ in self.way.calls]

    def exit(self, container_id: str, code: int, reason: str = "") -> None:
        """Lets a container's process end now, as if by itself."""
        self.service.exit(container_id, code, reason)

    def crash(self) -> None:
        """The runtime dies: calls under way and streams fail until `restart`. Containers run on."""
        self.way.crash()

    def restart(self) -> None:
        """The runtime is back."""
        self.way.restart()
