"""What runs in the fake runtime's containers.

A program says when its process ends by itself and what it does when told to; the runtime asks a `Programs` function for
one each time a container starts. The default is a well-behaved server: it runs until it is stopped and obeys at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proto import cri_pb2 as cri

SIGKILL_CODE = 137
SIGTERM_CODE = 143


@dataclass(frozen=True, slots=True)
class Program:
    runs_for: float | None = None
    """Seconds until it exits by itself; None runs until it is stopped."""
    exit_code: int = 0
    """Of the exit by itself."""
    reason: str = ""
    """What the runtime reports beside the code; "" is Completed or Error by the code."""
    obeys_after: float | None = 0.0
    """Seconds from the stop signal to the exit; None ignores the signal and has to be killed."""
    obeys_with: int = SIGTERM_CODE
    """Exit code after the stop signal."""
    fails_to_start: str = ""
    """The runtime's error on start ("exec: not found"); "" starts."""


Programs = Callable[[cri.ContainerConfig], Program]


def server(config: cri.ContainerConfig) -> Program:
    """Every container runs until it is stopped."""
    return Program()
