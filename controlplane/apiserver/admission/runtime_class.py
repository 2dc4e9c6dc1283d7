"""RuntimeClass: what the runtime itself costs, and where it is to be found, is added to the pod (KEP-688)."""

from __future__ import annotations

from api import core_v1 as core
from api import node_v1 as node
from api.errors import GroupName
from api.rendering import quote
from api.scheme import SCHEME
from controlplane.apiserver.admission.attributes import CREATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.request import ObjectReader

_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(Plugin):
    """Sets overhead, node selector and tolerations of pods with a runtime class."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._resource = SCHEME.of(node.RuntimeClass)

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == CREATE and resource == ("", "pods") and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        spec: core.PodSpec = attributes.new.spec
        chosen = self._find(attributes)
        if chosen is None:
            return
        if chosen.overhead is not None:
            if spec.overhead and spec.overhead != chosen.overhead.pod_fixed:
                raise attributes.forbidden(_MISMATCH)
            spec.overhead = dict(chosen.overhead.pod_fixed)
        if chosen.scheduling is not None:
            self._schedule(attributes, spec, chosen.scheduling)

    async def validate(self, attributes: Attributes) -> None:
        spec: core.PodSpec = attributes.new.spec
        if not spec.overhead:
            return
        chosen = self._find(attributes)
        if chosen is None or chosen.overhead is None:
            raise attributes.forbidden(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
        if spec.overhead != chosen.overhead.pod_fixed:
            raise attributes.forbidden(_MISMATCH)

    def _find(self, attributes: Attributes) -> node.RuntimeClass | None:
        name = attributes.new.spec.runtime_class_name
        if not name:
            return None
        found = self._reader.get(self._resource, "", name)
        if not isinstance(found, node.RuntimeClass):
            raise attributes.forbidden(f"pod rejected: RuntimeClass {quote(name)} not found")
        return found

    def _schedule(self, attributes: Attributes, spec: core.PodSpec, scheduling: node.Scheduling) -> None:
        for key, value in sorted(scheduling.node_selector.items()):
            own = spec.node_selector.get(key, value)
            if own != value:
                raise attributes.forbidden(
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                    f"pod.spec.nodeSelector[{key}] = {own}"
                )
        spec.node_selector = {**spec.node_selector, **scheduling.node_selector}
        added = [item for item in scheduling.tolerations if item not in spec.tolerations]
        spec.tolerations = [*spec.tolerations, *added]
