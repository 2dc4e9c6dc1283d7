"""Runtime classes: which handler of the container runtime a pod asks for.

A class is looked up when a pod first names it and kept, since its handler cannot change. A name that is not there is a
failure like one of the runtime: the sandbox cannot be made as asked.
"""

from __future__ import annotations

from api import core_v1 as core
from api import node_v1 as node
from api.errors import StatusError
from client.errors import ClientError
from client.interface import Client
from cri.errors import CriError


class RuntimeClassError(CriError):
    """The pod's runtime class cannot be had; its text is the cause alone, as upstream tells it."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__("look up runtime class", name, cause)

    @property
    def status_text(self) -> str:
        return self.cause


class RuntimeClasses:
    """Handlers by class."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._handlers: dict[str, str] = {}

    async def handler(self, pod: core.Pod) -> str:
        """The handler for a pod, "" for the runtime's default. Raises RuntimeClassError."""
        name = pod.spec.runtime_class_name or ""
        if not name:
            return ""
        if name not in self._handlers:
            try:
                self._handlers[name] = (await self._client.get(node.RuntimeClass, name)).handler
            except (StatusError, ClientError) as error:
                raise RuntimeClassError(name, str(error)) from error
        return self._handlers[name]
