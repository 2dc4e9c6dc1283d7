"""What the agent's API needs of the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from api import core_v1 as core


class Host(Protocol):
    """The pods of this node and the way to their containers. Calls to the runtime raise cri.errors.CriError."""

    def pod(self, namespace: str, name: str) -> core.Pod | None:
        """The pod with its latest status, static pods included; None when there is no such pod here."""

    def pods(self) -> list[core.Pod]:
        """All pods with their latest status."""

    async def log_path(self, container_id: str) -> str:
        """Where the runtime writes the log of a container; "" when it keeps none."""

    async def container_running(self, container_id: str) -> bool:
        """Whether it runs, as far as is known; asked for every second by each follower of its log."""

    async def exec_url(
        self, container_id: str, command: Sequence[str], *, stdin: bool, stdout: bool, stderr: bool, tty: bool
    ) -> str:
        """Where the runtime streams the command."""

    async def attach_url(self, container_id: str, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> str: ...

    async def port_forward_url(self, pod: core.Pod, ports: Sequence[int]) -> str:
        """Where the runtime forwards ports of the pod. Raises LookupError when the pod has no sandbox that runs."""

    def health(self) -> Mapping[str, str]:
        """Named checks; a complaint, or "" for a check that is passed."""

    def configuration(self) -> Mapping[str, Any]:
        """The agent's configuration in the words of kubelet.config.k8s.io/v1beta1."""

    def metrics(self) -> str:
        """Prometheus text."""

    def debug(self) -> object:
        """The record of plans and how they went, pod by pod."""
