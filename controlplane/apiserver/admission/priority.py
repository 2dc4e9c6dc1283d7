"""Priority: the class a pod names becomes the number the scheduler goes by."""

from __future__ import annotations

from api import core_v1 as core
from api import scheduling_v1 as scheduling
from api.errors import GroupName
from api.scheme import SCHEME
from controlplane.apiserver.admission.attributes import CREATE, UPDATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.request import ObjectReader

_PODS = GroupName("", "pods")
_CLASSES = GroupName("scheduling.k8s.io", "priorityclasses")


class Priority(Plugin):
    """Sets priority and preemption policy of pods, and allows one default class only."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._resource = SCHEME.of(scheduling.PriorityClass)

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation in (CREATE, UPDATE) and resource in (_PODS, _CLASSES) and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        if not isinstance(attributes.new, core.Pod):
            return
        spec = attributes.new.spec
        if attributes.operation == UPDATE:
            # Clients that do not know the fields would drop them, and both are immutable.
            old = attributes.old.spec
            spec.priority = old.priority if spec.priority is None else spec.priority
            spec.preemption_policy = spec.preemption_policy or old.preemption_policy
            return
        value, policy = self._of_class(attributes, spec)
        if spec.priority is not None and spec.priority != value:
            raise attributes.forbidden(
                f"the integer value of priority ({spec.priority}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
        spec.priority = value
        if policy is None:
            return
        if spec.preemption_policy is not None and spec.preemption_policy != policy:
            raise attributes.forbidden(
                f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        spec.preemption_policy = policy

    async def validate(self, attributes: Attributes) -> None:
        item = attributes.new
        if not isinstance(item, scheduling.PriorityClass) or not item.global_default:
            return
        default = self._default()
        if default is not None and (attributes.operation == CREATE or default.metadata.name != item.metadata.name):
            raise attributes.forbidden(
                f"PriorityClass {default.metadata.name} is already marked as default. Only one default can exist"
            )

    def _of_class(self, attributes: Attributes, spec: core.PodSpec) -> tuple[int, str | None]:
        if spec.priority_class_name:
            found = self._reader.get(self._resource, "", spec.priority_class_name)
            if not isinstance(found, scheduling.PriorityClass):
                raise attributes.forbidden(f"no PriorityClass with name {spec.priority_class_name} was found")
            return found.value, found.preemption_policy
        default = self._default()
        if default is None:
            return 0, "PreemptLowerPriority"
        spec.priority_class_name = default.metadata.name
        return default.value, default.preemption_policy

    def _default(self) -> scheduling.PriorityClass | None:
        """The default class; the lowest, should there be several."""
        marked = [
            item
            for item in self._reader.list(self._resource)
            if isinstance(item, scheduling.PriorityClass) and item.global_default
        ]
        return min(marked, key=lambda item: item.value, default=None)
