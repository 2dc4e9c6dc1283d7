"""What keeps a sandbox or a container from being described to the runtime.

The message is what users see in events and in the waiting state, so it is upstream's to the letter, without our usual
step and object; whoever raises has put those into words already.
"""

from __future__ import annotations

from cri.errors import CriError


class ConfigError(Exception):
    """A container's configuration cannot be made as the pod stands (waiting reason CreateContainerConfigError)."""


class SandboxConfigError(CriError):
    """A sandbox's configuration cannot be made as the pod stands; told like a failure of the runtime."""

    def __init__(self, pod: str, cause: str) -> None:
        super().__init__("describe sandbox", f"pod {pod}", cause)

    @property
    def status_text(self) -> str:
        return self.cause
