"""What the pods of each node refer to, brought up to date only when somebody asks.

Kubelets ask seldom, and pods change all the time: a change costs no more than taking note of the pod's name, so that
writes of pods need not be decoded for this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from api import core_v1 as core
from api.meta_v1 import Object
from api.scheme import SCHEME
from controlplane.apiserver.authorization.references import Reference, references_of
from controlplane.apiserver.request import ObjectReader

_Pod = tuple[str, str]
_NONE: Mapping[Reference, int] = {}


class NodeReferences:
    """Counts the references that the pods bound to a node make."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._pods = SCHEME.of(core.Pod)
        self._by_node: dict[str, Counter[Reference]] = {}
        self._by_pod: dict[_Pod, tuple[str, frozenset[Reference]]] = {}
        #: Pods that may have changed since the last question.
        self._touched: dict[_Pod, None] = {}
        for pod in reader.list(self._pods):
            self._count((pod.metadata.namespace, pod.metadata.name), pod)
        reader.on_touch(self._pods, self._touch)

    def of(self, node: str) -> Mapping[Reference, int]:
        """The references that pods of the node make, as of now, and how many pods make each."""
        while self._touched:
            place, _ = self._touched.popitem()
            self._count(place, self._reader.get(self._pods, *place))
        return self._by_node.get(node, _NONE)

    def _touch(self, namespace: str, name: str) -> None:
        self._touched[namespace, name] = None

    def _count(self, place: _Pod, pod: Object | None) -> None:
        now: tuple[str, frozenset[Reference]] | None = None
        if isinstance(pod, core.Pod) and pod.spec.node_name:
            now = pod.spec.node_name, frozenset(references_of(pod))
        before = self._by_pod.get(place)
        if now == before:
            return
        if before is not None:
            node, references = before
            del self._by_pod[place]
            counts = self._by_node[node]
            counts.subtract(references)
            left = +counts  # unary plus drops what has fallen to zero
            if left:
                self._by_node[node] = left
            else:
                del self._by_node[node]
        if now is not None and now[1]:
            self._by_pod[place] = now
            self._by_node.setdefault(now[0], Counter()).update(now[1])
