"""The pods of each node, by an index over the informer of all pods."""

from __future__ import annotations

from collections.abc import Iterator

from api import core_v1 as core
from client.informer import Informer

_INDEX = "node"


class OnNodes:
    """Pods by node. One per informer, shared by all who need it."""

    def __init__(self, informer: Informer[core.Pod]) -> None:
        self.informer = informer
        informer.add_index(_INDEX, _node)

    def on(self, name: str) -> list[core.Pod]:
        """The pods on a node."""
        return self.informer.by_index(_INDEX, name)


def _node(pod: core.Pod) -> Iterator[str]:
    if pod.spec.node_name:
        yield pod.spec.node_name
