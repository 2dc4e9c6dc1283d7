"""The seam to the kernel's cgroups: a tree of named groups that can be made, set, listed and removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent.resources.settings import Settings


class CgroupTree(Protocol):
    """Paths are below the mount, without a leading slash. Every method may raise OSError with the file it failed on."""

    def ensure(self, path: str, settings: Settings) -> None:
        """Makes the group and those above it if they are missing, and applies the settings."""

    def exists(self, path: str) -> bool: ...

    def children(self, path: str) -> Sequence[str]:
        """Names of the groups directly below, in any hierarchy; none when the group does not exist."""

    def pids(self, path: str) -> set[int]:
        """Processes in the group and below it."""

    def kill(self, path: str) -> None:
        """SIGKILL to every process in the group and below it; returns before they are gone."""

    def remove(self, path: str) -> None:
        """Removes the group and those below it; one that is not there is fine. Raises OSError (EBUSY) while it has
        processes.
        """
