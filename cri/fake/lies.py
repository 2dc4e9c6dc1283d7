"""What the fake runtime can be made to get wrong, each after a report from the field."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Lies:
    keeps_running: set[str] = field(default_factory=set)
    """Containers (ids) that are reported RUNNING for ever although StopContainer was answered with success."""
    forgets_on_stop: set[str] = field(default_factory=set)
    """Containers (ids) whose StopContainer says NotFound while they are still listed."""
    needs_image_for_status: bool = False
    """ContainerStatus fails once the container's image was removed."""
    silent: bool = False
    """Nothing is said on the event stream, though it stays open."""
    ready_without_ip: bool = False
    """Sandboxes are READY and have no address."""
